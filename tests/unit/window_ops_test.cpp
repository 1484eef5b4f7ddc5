// Convolutions, deconvolutions and resampling: what no stored vector decides, and every kernel against the reference.

#include <gtest/gtest.h>

#include "node_run.h"
#include "ops/resize.h"
#include "ops/window.h"

namespace nnex {
namespace {

using test::absent;
using test::Bound;
using test::Dice;
using test::expect_same;
using test::NodeCase;
using test::run_node;
using test::run_op;
using test::shown;

Tensor row(std::vector<float> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Tensor::of(Shape{1, 1, n}, v);
}
Tensor numbers(std::vector<float> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Tensor::of(Shape{n}, v);
}
Tensor whole(std::vector<int64_t> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Tensor::of(Shape{n}, v);
}

/// The same bytes on four threads.
void expect_repeatable(const NodeCase& c) {
  auto one = run_node(c, 1), four = run_node(c, 4);
  ASSERT_TRUE(one.ok() && four.ok());
  EXPECT_EQ(std::memcmp(one->out[0].data(), four->out[0].data(), static_cast<size_t>(one->out[0].bytes())), 0);
}

TEST(Windows, FormulasCountThem) {
  const Dim h = Dim::symbol("H");
  int compared = 0;
  for (const int64_t size : {1, 2, 3})
    for (const int64_t stride : {1, 2, 3})
      for (const int64_t dilation : {1, 2})
        for (const std::pair<int64_t, int64_t> pads : {std::pair(0, 0), std::pair(1, 1), std::pair(0, 2)})
          for (const bool ceil : {false, true}) {
            const Dim extent = window_extent(h, size, stride, dilation, pads, AutoPad::off, ceil);
            for (int64_t n = 1; n < 13; ++n) {
              const auto window = window_of(n, size, stride, dilation, pads, AutoPad::off, ceil);
              if (!window.ok()) continue;
              ++compared;
              EXPECT_EQ(extent.with({{"H", n}}), Dim(window->output))
                  << n << " " << size << " " << stride << " " << dilation << " " << pads.first << " " << ceil;
            }
          }
  EXPECT_GT(compared, 1000);
  EXPECT_EQ(window_extent(h, 3, 1, 1, {1, 1}, AutoPad::off, false), h);
}

// ---- Resize

TEST(Resize, ScalesAreTheSimplestFractions) {
  EXPECT_EQ(simplest_fraction(0.6F), std::pair(3.0, 5.0));
  EXPECT_EQ(simplest_fraction(2.0F), std::pair(2.0, 1.0));
  EXPECT_EQ(simplest_fraction(0.1F), std::pair(1.0, 10.0));
  EXPECT_EQ(simplest_fraction(1.0F / 3.0F), std::pair(1.0, 3.0));
  EXPECT_EQ(simplest_fraction(16.0F / 7.0F), std::pair(16.0, 7.0));
  for (float scale : {0.123456F, 3.1415927F, 1e-8F, 1e9F, 0.99999994F}) {
    const auto [num, den] = simplest_fraction(scale);
    EXPECT_EQ(static_cast<float>(num / den), scale);
  }
}

TEST(Resize, WordsAndFaults) {
  const Tensor x = row({1, 2, 3, 4}), none = absent();
  const AttrMap last = {{"axes", Ints{-1}}};
  auto with = [&](AttrMap more) {
    more.insert(more.begin(), last[0]);
    return more;
  };
  // Halves round down, up; a tie at a whole scale is exact.
  EXPECT_EQ(shown(run_op("resize", {x, none, none, whole({2})}, last)), "f32[1,1,2] 1 3");
  EXPECT_EQ(shown(run_op("resize", {x, none, none, whole({2})}, with({{"nearest_rounding", std::string("half_up")}}))),
            "f32[1,1,2] 2 4");
  EXPECT_EQ(shown(run_op("resize", {x, none, numbers({1.5F})}, last)), "f32[1,1,6] 1 1 2 3 3 4");
  // Sizes beat scales.
  EXPECT_EQ(shown(run_op("resize", {x, none, numbers({2}), whole({1})}, last)), "f32[1,1,1] 2");
  // align_corners to one element takes the first.
  EXPECT_EQ(shown(run_op("resize", {x, none, none, whole({1})},
                         with({{"mode", std::string("linear")}, {"transform", std::string("align_corners")}}))),
            "f32[1,1,1] 1");
  // Beyond the border: zeros, the mirror image.
  EXPECT_EQ(shown(run_op("resize", {row({2, 4}), none, numbers({2})},
                         with({{"mode", std::string("linear")}, {"border", std::string("constant")}}))),
            "f32[1,1,4] 1.5 2.5 3.5 3");
  EXPECT_EQ(shown(run_op("resize", {row({2, 4}), none, numbers({2})},
                         with({{"mode", std::string("linear")}, {"border", std::string("reflect")}}))),
            "f32[1,1,4] 2.5 2.5 3.5 3.5");
  EXPECT_EQ(shown(run_op("resize", {row({2, 4}), none, numbers({2})},
                         with({{"mode", std::string("linear")}, {"border", std::string("ignore")}}))),
            "f32[1,1,4] 2 2.5 3.5 4");
  // Integers round half to even and saturate.
  EXPECT_EQ(shown(run_op("resize", {Tensor::of(Shape{1, 2}, std::vector<uint8_t>{1, 2}), none, none, whole({3})},
                         with({{"mode", std::string("linear")}}))),
            "u8[1,3] 1 2 2");
  EXPECT_EQ(
      shown(run_op("resize", {Tensor::of(Shape{1, 4}, std::vector<uint8_t>{0, 255, 255, 0}), none, none, whole({8})},
                   with({{"mode", std::string("cubic")}}))),
      "u8[1,8] 0 58 197 255 255 197 58 0");
  // Elements of 64 bits move whole.
  EXPECT_EQ(shown(run_op("resize",
                         {Tensor::of(Shape{1, 2}, std::vector<int64_t>{INT64_MAX, INT64_MIN}), none, none, whole({4})},
                         last)),
            "i64[1,4] 9223372036854775807 9223372036854775807 -9223372036854775808 -9223372036854775808");
  // One scale for both axes.
  auto kept = run_op("resize", {Tensor::of(Shape{2, 4}, std::vector<float>(8)), none, none, whole({7, 8})},
                     {{"aspect", std::string("not_larger")}});
  EXPECT_EQ(kept->front().shape().text(), "[4,8]");
  kept = run_op("resize", {Tensor::of(Shape{2, 4}, std::vector<float>(8)), none, none, whole({7, 8})},
                {{"aspect", std::string("not_smaller")}});
  EXPECT_EQ(kept->front().shape().text(), "[7,14]");
  EXPECT_EQ(shown(run_op("resize", {x}, last)), "resize: neither scales nor sizes are given");
  EXPECT_EQ(shown(run_op("resize", {x, none, numbers({1, 2})}, last)), "resize: scales has 2 numbers; needed 1");
  EXPECT_EQ(shown(run_op("resize", {x, none, numbers({-1})}, last)), "resize: scale -1 is not positive");
  EXPECT_EQ(shown(run_op("resize", {x, none, none, whole({-1})}, last)),
            "resize: sizes asks for -1 elements at axis 2");
  EXPECT_EQ(shown(run_op("resize", {row({}), none, none, whole({2})}, last)),
            "resize: axis 2 of 0 elements cannot become 2");
  EXPECT_EQ(shown(run_op("resize", {row({}), none, numbers({2})}, last)), "f32[1,1,0]");
}

TEST(Resize, Kernels) {
  Dice dice(1), others(2);
  static const char* const kModes[] = {"nearest", "linear", "cubic"};
  static const char* const kTransforms[] = {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"};
  for (int i = 0; i < 60; ++i) {
    const Shape x{dice.roll(1, 2), dice.roll(1, 5), dice.roll(1, 6), dice.roll(1, 40)};
    Ints axes = {2, 3};
    if (i % 4 == 1) axes = {1, 2};
    if (i % 4 == 2) axes = {3};
    if (i % 4 == 3) axes = {1, 2, 3};
    std::vector<int64_t> sizes;
    for (size_t k = 0; k < axes.size(); ++k) sizes.push_back(dice.roll(1, 30));
    const AttrMap attrs = {{"axes", axes},
                           {"mode", std::string(kModes[i % 3])},
                           {"transform", std::string(kTransforms[i % 4])},
                           {"antialias", i % 5 == 0 && i % 4 != 3}};
    const Tensor data = dice.floats(x);
    for (bool constant : {true, false}) {
      const NodeCase c = {"resize",
                          {data, absent(), absent(), whole(sizes)},
                          attrs,
                          constant ? std::vector<size_t>{3} : std::vector<size_t>{}};
      if (constant) {
        expect_same(c, i % 3 ? "resize_f32" : "resize_nearest", i % 3 ? Bound{1e-5, 1e-5} : Bound{});
        expect_repeatable(c);
      }
    }
    NodeCase bytes = {"resize", {dice.bytes(DType::u8, x), absent(), absent(), whole(sizes)}, attrs, {3}};
    // A sum whose last bit is another may round to the byte beside.
    expect_same(bytes, i % 3 ? "resize_u8" : "resize_nearest", i % 3 ? Bound{0, 1} : Bound{});
    if (i % 3) continue;
    for (DType type : {DType::f16, DType::boolean, DType::i64, DType::f64, DType::c128}) {
      NodeCase any = bytes;
      any.inputs[0] = others.bytes(type, x);
      expect_same(any, "resize_nearest");
    }
  }
  expect_same({"resize",
               {dice.floats({1, 2, 5, 5}), absent(), numbers({1, 1, 2, 2})},
               {{"mode", std::string("linear")}, {"border", std::string("constant")}},
               {2}},
              "reference");
}

// ---- Deconvolution

TEST(Deconv, ExtentsAndFaults) {
  const Tensor x = row({1, 2, 3}), w = Tensor::of(Shape{1, 1, 3}, std::vector<float>{1, 10, 100});
  EXPECT_EQ(shown(run_op("deconv", {x, w})), "f32[1,1,5] 1 12 123 230 300");
  EXPECT_EQ(shown(run_op("deconv", {x, w}, {{"stride", Ints{2}}})), "f32[1,1,7] 1 10 102 20 203 30 300");
  EXPECT_EQ(shown(run_op("deconv", {x, w}, {{"stride", Ints{2}}, {"padding", Pairs{{1, 2}}}})),
            "f32[1,1,4] 10 102 20 203");
  EXPECT_EQ(shown(run_op("deconv", {x, w}, {{"stride", Ints{2}}, {"output_padding", Ints{1}}})),
            "f32[1,1,8] 1 10 102 20 203 30 300 0");
  // Negative padding grows the result.
  EXPECT_EQ(shown(run_op("deconv", {x, w}, {{"padding", Pairs{{-1, 0}}}})), "f32[1,1,6] 0 1 12 123 230 300");
  // The surplus is split; a lack is added at the end.
  EXPECT_EQ(shown(run_op("deconv", {x, w}, {{"stride", Ints{2}}, {"auto_pad", std::string("same_upper")}})),
            "f32[1,1,6] 1 10 102 20 203 30");
  EXPECT_EQ(shown(run_op("deconv", {x, w}, {{"stride", Ints{2}}, {"auto_pad", std::string("same_lower")}})),
            "f32[1,1,6] 10 102 20 203 30 300");
  EXPECT_EQ(shown(run_op("deconv", {x, w}, {{"auto_pad", std::string("same_upper")}, {"output_shape", Ints{6}}})),
            "f32[1,1,6] 1 12 123 230 300 0");
  // Taps that a dilation and a stride let meet nothing leave the bias alone.
  EXPECT_EQ(shown(run_op("deconv", {x, w, numbers({7})}, {{"stride", Ints{2}}, {"dilation", Ints{2}}})),
            "f32[1,1,9] 8 7 19 7 130 7 237 7 307");
  EXPECT_EQ(shown(run_op("deconv", {x, w}, {{"border", std::string("replicate")}})), "f32[1,1,5] 111 112 123 233 333");
  EXPECT_EQ(shown(run_op("deconv", {x, Tensor::of(Shape{2, 1, 3}, std::vector<float>(6))})),
            "deconv: channels of x and filters: found 1, needed 2");
  EXPECT_EQ(shown(run_op("deconv", {x, w}, {{"output_padding", Ints{1}}})),
            "deconv: spatial axis 0: output_padding 1 is not below stride 1 or dilation 1");
  EXPECT_EQ(shown(run_op("deconv", {x, w}, {{"padding", Pairs{{3, 3}}}})),
            "deconv: spatial axis 0: 5 elements padded by (3, 3) leave nothing");
}

/// Padding whose pixels no number of 64 bits counts.
TEST(Conv, PaddingBeyondMemory) {
  constexpr int64_t kFar = (int64_t{1} << 32) - 1;
  Dice dice(3);
  const AttrMap far = {{"stride", Ints{kFar, kFar}}, {"padding", Pairs{{kFar, kFar}, {kFar, kFar}}}};
  for (int64_t groups : {1, 2}) {
    AttrMap attrs = far;
    attrs.emplace_back("groups", groups);
    for (int64_t channels : {6, 48})
      expect_same({"conv", {dice.floats({1, channels, 4, 4}), dice.floats({6, channels / groups, 2, 2})}, attrs, {1}},
                  "conv_f32", {1e-5, 1e-5});
  }
}

TEST(Deconv, Kernels) {
  Dice dice(2);
  for (int i = 0; i < 120; ++i) {
    const int64_t spatial = dice.roll(1, 3), groups = dice.roll(1, 3);
    std::vector<int64_t> x = {dice.roll(1, 2), groups * dice.roll(1, 4)}, w = {x[1], dice.roll(1, 5)};
    if (i % 5 == 0) w[1] = 1;
    AttrMap attrs = {{"groups", groups}};
    Ints stride, dilation, more;
    Pairs padding;
    for (int64_t k = 0; k < spatial; ++k) {
      x.push_back(dice.roll(1, spatial == 1 ? 40 : 7));
      w.push_back(dice.roll(1, 4));
      stride.push_back(dice.roll(1, 3));
      dilation.push_back(dice.roll(1, 3));
      const int64_t full = (x.back() - 1) * stride.back() + (w.back() - 1) * dilation.back() + 1;
      const int64_t before = dice.roll(0, std::min<int64_t>(3, full - 1));
      padding.emplace_back(before, std::min<int64_t>(dice.roll(-1, 2), full - 1 - before));
      more.push_back(dice.roll(0, std::max(stride.back(), dilation.back()) - 1));
    }
    attrs.emplace_back("stride", stride);
    attrs.emplace_back("dilation", dilation);
    attrs.emplace_back("padding", padding);
    attrs.emplace_back("output_padding", more);
    NodeCase c = {"deconv", {dice.floats(Shape(x)), dice.floats(Shape(w))}, attrs, {1}};
    if (i % 2) c.inputs.push_back(dice.floats({w[1] * groups}));
    const bool few = groups == 1 && w[1] <= 4 && spatial <= 2;
    expect_same(c, few ? "deconv_few_f32" : "deconv_f32", {1e-5, 1e-5});
    expect_repeatable(c);
  }
  const NodeCase big = {"deconv",
                        {dice.floats({1, 24, 20, 21}), dice.floats({24, 17, 4, 4})},
                        {{"stride", Ints{2, 2}}, {"padding", Pairs{{1, 1}, {1, 1}}}},
                        {1}};
  expect_same(big, "deconv_f32", {1e-5, 1e-4});
  expect_repeatable(big);
}

}  // namespace
}  // namespace nnex
