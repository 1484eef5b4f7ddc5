// Pools of channels-first tensors by their kernels against the operators' reference kernels.

#include "node_run.h"

namespace nnex {
namespace {

using test::Dice;
using test::expect_same;
using test::NodeCase;

struct Window {
  Shape x;
  AttrMap attrs;
};

/// A window of random size, stride, dilation and padding over some axes.
Window window(Dice& dice, int64_t spatial) {
  Ints size = {1, 1}, stride = {1, 1}, dilation = {1, 1};
  Pairs padding = {{0, 0}, {0, 0}};
  std::vector<int64_t> extents = {dice.roll(1, 2), dice.roll(1, 5)};
  for (int64_t i = 0; i < spatial; ++i) {
    size.push_back(dice.roll(1, 5)), stride.push_back(dice.roll(1, 3)), dilation.push_back(dice.roll(1, 2));
    const int64_t reach = (size.back() - 1) * dilation.back() + 1;
    padding.emplace_back(dice.roll(0, reach - 1), dice.roll(0, reach - 1));
    extents.push_back(reach + dice.roll(0, 20));
  }
  return {Shape(extents),
          {{"size", size},
           {"stride", stride},
           {"dilation", dilation},
           {"padding", padding},
           {"border", std::string("ignore")},
           {"ceil", dice.roll(0, 1) == 1}}};
}

/// Whether loops take the steps along lines.
bool fast(const Window& w) {
  const auto last = [&](size_t i) { return std::get<Ints>(w.attrs[i].second).back(); };
  return last(1) == 1 || (last(1) == 2 && last(2) == 1 && last(0) > 1);
}

TEST(PoolKernels, MaximaWherePlanesLie) {
  Dice dice(60);
  for (int i = 0; i < 80; ++i) {
    const Window w = window(dice, 1 + i % 2);
    expect_same({"max_pool", {i % 3 ? dice.wild_floats(w.x) : dice.floats(w.x)}, w.attrs}, "max_pool_f32");
  }
}

TEST(PoolKernels, MaximaOfVolumes) {
  Dice dice(66);
  for (int i = 0; i < 60; ++i) {
    const Window w = window(dice, 3);
    expect_same({"max_pool", {i % 3 ? dice.wild_floats(w.x) : dice.floats(w.x)}, w.attrs}, "max_pool_f32");
  }
}

TEST(PoolKernels, MaximaAndPlaces) {
  Dice dice(61);
  static constexpr const char* kIndices[] = {"window", "tensor", "tensor_column_major"};
  for (int i = 0; i < 80; ++i) {
    Window w = window(dice, 1 + i % 2);
    w.attrs.emplace_back("index_as", std::string(kIndices[i % 3]));
    const Tensor x = i % 4 ? dice.wild_floats(w.x) : dice.floats(w.x);
    expect_same({"max_pool", {x}, w.attrs, {}, 2}, "max_pool_index_f32");
  }
}

TEST(PoolKernels, AveragesWherePlanesLie) {
  Dice dice(62);
  static constexpr const char* kDivisors[] = {"one", "window", "padded", "inside"};
  for (int i = 0; i < 80; ++i) {
    Window w = window(dice, 1 + i % 2);
    w.attrs.emplace_back("divisor", std::string(kDivisors[i % 4]));
    if (i % 3 == 0) w.attrs[4].second = std::string("constant");
    expect_same({"box", {dice.floats(w.x)}, w.attrs}, "box_f32", {1e-5, 1e-5});
  }
}

TEST(PoolKernels, NormsOfWindows) {
  Dice dice(65);
  for (int i = 0; i < 40; ++i) {
    Window w = window(dice, 1 + i % 2);
    w.attrs.emplace_back("p", i % 2 ? 2.0 : 1.0);
    expect_same({"lp_pool", {dice.floats(w.x)}, w.attrs}, fast(w) ? "lp_pool_f32" : "reference", {1e-5, 1e-5});
  }
}

TEST(DeformKernels, EqualsTheReference) {
  Dice dice(64);
  for (int i = 0; i < 30; ++i) {
    const int64_t groups = dice.roll(1, 3), offset_groups = dice.roll(1, 3), channels = i % 5 ? 12 : 6, filters = 6;
    const int64_t height = dice.roll(6, 20), width = dice.roll(6, 30), k1 = dice.roll(1, 3), k2 = dice.roll(1, 3);
    const int64_t out1 = height + 2 - k1 + 1, out2 = (width + 1 - k2) / 2 + 1, taps = k1 * k2;
    const AttrMap attrs = {{"stride", Ints{1, 2}},
                           {"padding", Pairs{{1, 1}, {0, 1}}},
                           {"groups", groups},
                           {"offset_groups", offset_groups}};
    NodeCase c = {"deform_conv",
                  {dice.floats({2, channels, height, width}), dice.floats({filters, channels / groups, k1, k2}),
                   dice.floats({2, offset_groups * taps * 2, out1, out2}, -3, 3)},
                  attrs};
    if (i % 2) c.inputs.push_back(dice.floats({filters}));
    if (i % 4 == 3) c.inputs.push_back(dice.floats({2, offset_groups * taps, out1, out2}, 0, 1));
    expect_same(c, "deform_conv_f32", {1e-4, 1e-4});
  }
}

/// Two threads give the bytes of one, on planes enough to be split.
TEST(PoolKernels, ThreadsDoNotMatter) {
  Dice dice(63);
  const Tensor x = dice.floats({2, 40, 33, 31});
  const AttrMap attrs = {{"size", Ints{1, 1, 3, 3}},
                         {"stride", Ints{1, 1, 2, 2}},
                         {"padding", Pairs{{0, 0}, {0, 0}, {1, 1}, {1, 1}}},
                         {"border", std::string("ignore")}};
  for (const NodeCase& c : {NodeCase{"max_pool", {x}, attrs}, NodeCase{"box", {x}, attrs}}) {
    auto alone = test::run_node(c, 1), together = test::run_node(c, 2);
    ASSERT_TRUE(alone.ok() && together.ok());
    const Tensor &a = alone->out[0], &b = together->out[0];
    ASSERT_EQ(a.bytes(), b.bytes());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())), 0);
  }
}

}  // namespace
}  // namespace nnex
