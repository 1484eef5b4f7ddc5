// Convolutions beyond plain ones, and sampling: values by hand, faults, and every kernel against the reference.

#include <gtest/gtest.h>

#include "node_run.h"

namespace nnex {
namespace {

using test::absent;
using test::Dice;
using test::expect_same;
using test::NodeCase;
using test::run_op;
using test::shown;

template <class T = float>
Tensor tensor(Shape shape, std::vector<T> v) {
  return Tensor::of(shape, v);
}
template <class T = float>
Tensor row(std::vector<T> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Tensor::of(Shape{1, 1, n}, v);
}
template <class T = float>
Tensor vec(std::vector<T> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Tensor::of(Shape{n}, v);
}
std::string word(const char* w) { return w; }

// ---- conv

TEST(Conv, Borders) {
  const Tensor x = row({1, 2, 4}), w = row({1, 1, 1});
  const auto with = [](const char* border, Pairs padding = {{1, 1}}) {
    return AttrMap{{"border", word(border)}, {"padding", std::move(padding)}};
  };
  EXPECT_EQ(shown(run_op("conv", {x, w}, with("constant"))), "f32[1,1,3] 3 7 6");
  EXPECT_EQ(shown(run_op("conv", {x, w}, with("replicate"))), "f32[1,1,3] 4 7 10");
  EXPECT_EQ(shown(run_op("conv", {x, w}, with("reflect"))), "f32[1,1,3] 5 7 8");
  EXPECT_EQ(shown(run_op("conv", {x, w}, with("reflect_even"))), "f32[1,1,3] 4 7 10");
  // Nothing to continue: zeros.
  for (const char* border : {"constant", "replicate", "reflect", "reflect_even"})
    EXPECT_EQ(shown(run_op("conv", {row({}), w, vec({5})}, with(border, {{2, 2}}))), "f32[1,1,2] 5 5");
  // A negative padding crops.
  EXPECT_EQ(shown(run_op("conv", {x, row({1})}, with("constant", {{-1, 0}}))), "f32[1,1,2] 2 4");
  // i32 wraps.
  EXPECT_EQ(shown(run_op("conv", {row<int32_t>({1 << 30, 1 << 30}), row<int32_t>({2, 3})})), "i32[1,1,1] 1073741824");
  EXPECT_EQ(shown(run_op("conv", {x, w}, {{"groups", int64_t{2}}})),
            "conv: input has 1 channels; filter takes 1 in each of 2 groups");
}

TEST(SeparableConv, Values) {
  const Tensor x = tensor({1, 2, 2}, {1, 2, 3, 4}), plane = tensor({2, 1, 1}, {10, 100}),
               point = tensor({1, 2, 1}, {1, 1});
  EXPECT_EQ(shown(run_op("separable_conv", {x, plane, point})), "f32[1,1,2] 310 420");
  EXPECT_EQ(shown(run_op("separable_conv", {x, plane, point, vec({5})})), "f32[1,1,2] 315 425");
  EXPECT_EQ(shown(run_op("separable_conv", {x, tensor({2, 2, 1}, {1, 1, 1, 1}), point})),
            "separable_conv: plane_filter takes 2 channels; needed 1");
  EXPECT_EQ(
      shown(run_op("separable_deconv", {row({1, 2}), tensor({2, 1, 2}, {1, 1, 1, 0}), tensor({1, 2, 1}, {1, 10})})),
      "f32[1,2,3] 1 3 2 10 20 0");
}

// ---- conv_integer, qlinear_conv

TEST(ConvInteger, Values) {
  const Tensor x = row<uint8_t>({2, 3, 4, 5}), w = row<uint8_t>({1, 2}), one = vec<uint8_t>({1});
  EXPECT_EQ(shown(run_op("conv_integer", {x, w})), "i32[1,1,3] 8 11 14");
  EXPECT_EQ(shown(run_op("conv_integer", {x, w, one})), "i32[1,1,3] 5 8 11");
  // Padding is the zero point.
  EXPECT_EQ(shown(run_op("conv_integer", {x, w, one}, {{"padding", Pairs{{1, 1}}}})), "i32[1,1,5] 2 5 8 11 4");
  EXPECT_EQ(shown(run_op("conv_integer", {x, w, absent(), one})), "i32[1,1,3] 3 4 5");
  // One zero point an output channel.
  const Tensor two = tensor<uint8_t>({2, 1, 2}, {1, 2, 3, 5});
  EXPECT_EQ(shown(run_op("conv_integer", {x, two, one, vec<uint8_t>({1, 3})})), "i32[1,2,3] 2 3 4 4 6 8");
  // Signs mix; nothing saturates.
  EXPECT_EQ(shown(run_op("conv_integer", {row<int8_t>({-128, 127}), row<uint8_t>({255, 255}), vec<int8_t>({-1})})),
            "i32[1,1,1] 255");
  EXPECT_EQ(shown(run_op("conv_integer", {row<int8_t>({-128}), row<int8_t>({-128}), vec<int8_t>({127})})),
            "i32[1,1,1] 32640");
  EXPECT_EQ(shown(run_op("conv_integer", {x, w, vec<uint8_t>({1, 2})})),
            "conv_integer: x_zero has 2 elements; needed 1");
  EXPECT_EQ(shown(run_op("conv_integer", {x, two, one, vec<uint8_t>({1, 2, 3})})),
            "conv_integer: filter_zero has 3 elements; needed 1 or 2, one for each output channel");
}

TEST(QlinearConv, Values) {
  const auto run = [](std::vector<int8_t> w, std::vector<float> w_scale, float y_scale, std::vector<int32_t> bias) {
    const auto channels = static_cast<int64_t>(w.size());
    std::vector<Tensor> in = {
        row<uint8_t>({10, 20}), vec({0.5F}),      vec<uint8_t>({4}), tensor<int8_t>({channels, 1, 1}, w),
        vec(w_scale),           vec<int8_t>({1}), vec({y_scale}),    vec<uint8_t>({5})};
    if (!bias.empty()) in.push_back(vec(bias));
    return shown(run_op("qlinear_conv", in));
  };
  EXPECT_EQ(run({3}, {0.25F}, 0.0625F, {}), "u8[1,1,2] 29 69");
  EXPECT_EQ(run({3}, {0.25F}, 0.25F, {1}), "u8[1,1,2] 11 21");  // 6.5 and 16.5: ties to even
  EXPECT_EQ(run({3}, {0.25F}, 0.001F, {}), "u8[1,1,2] 255 255");
  EXPECT_EQ(run({-3}, {0.25F}, 0.0625F, {}), "u8[1,1,2] 0 0");
  EXPECT_EQ(run({3, 3}, {0.25F, 0.125F}, 0.0625F, {}), "u8[1,2,2] 29 69 17 37");
  EXPECT_EQ(run({3, 3}, {0.25F, 0.125F, 1}, 0.0625F, {}),
            "qlinear_conv: filter_scale has 3 elements; needed 1 or 2, one for each output channel");
}

/// Random bytes of either sign.
Tensor bytes(Dice& dice, const Shape& s) { return dice.bytes(dice.roll(0, 1) ? DType::u8 : DType::i8, s); }
Tensor zeros_like(Dice& dice, const Tensor& t, int64_t n) { return dice.bytes(t.dtype(), Shape{n}); }

TEST(ConvInteger, Kernels) {
  Dice dice(3);
  for (int i = 0; i < 80; ++i) {
    const int64_t spatial = dice.roll(1, 3), groups = i % 3 == 0 ? dice.roll(2, 5) : 1;
    std::vector<int64_t> x = {dice.roll(1, 2), groups * dice.roll(1, 9)},
                         w = {groups * dice.roll(1, 20), x[1] / groups};
    if (i % 9 == 0) w[0] = groups, x[1] = groups, w[1] = 1;
    Ints stride, dilation;
    Pairs padding;
    for (int64_t k = 0; k < spatial; ++k) {
      w.push_back(dice.roll(1, 3));
      stride.push_back(dice.roll(1, 2)), dilation.push_back(dice.roll(1, 2));
      padding.emplace_back(dice.roll(0, 2), dice.roll(0, 2));
      x.push_back(dice.roll(5, spatial == 1 ? 60 : 12));
    }
    const AttrMap attrs = {{"groups", groups}, {"stride", stride}, {"dilation", dilation}, {"padding", padding}};
    const Tensor data = bytes(dice, Shape(x)), filter = bytes(dice, Shape(w));
    const Tensor x_zero = zeros_like(dice, data, 1), w_zero = zeros_like(dice, filter, i % 2 ? 1 : w[0]);
    NodeCase c = {"conv_integer", {data, filter, x_zero, w_zero}, attrs, {1, 3}};
    if (i % 5 == 0) c.inputs[2] = absent();
    if (i % 7 == 0) c.inputs[3] = absent();
    expect_same(c, "conv_i8");
    const Tensor w_scale = dice.floats({i % 4 ? w[0] : 1}, 0.01F, 0.1F), y_zero = bytes(dice, Shape{1});
    NodeCase q = {"qlinear_conv",
                  {data, vec({0.07F}), x_zero, filter, w_scale, w_zero, vec({1.3F}), y_zero},
                  attrs,
                  {1, 3, 4, 5, 6}};
    if (i % 2) q.inputs.push_back(dice.ints<int32_t>({w[0]}, -3000, 3000));
    expect_same(q, "conv_i8");
  }
  const Tensor x = dice.bytes(DType::u8, {1, 2, 5}), w = dice.bytes(DType::u8, {3, 2, 2});
  expect_same({"conv_integer", {x, w}}, "reference");
}

TEST(MatmulInteger, Kernels) {
  Dice dice(4);
  for (int i = 0; i < 60; ++i) {
    const int64_t m = dice.extent(), k = dice.extent(), n = dice.extent();
    const Tensor x = bytes(dice, i % 3 ? Shape{m, k} : Shape{2, m, k}), y = bytes(dice, {k, n});
    const Tensor x_zero = zeros_like(dice, x, 1), y_zero = zeros_like(dice, y, i % 2 ? 1 : n);
    NodeCase c = {"matmul_integer", {x, y, x_zero, y_zero}, {}, {1, 3}};
    if (i % 5 == 0) c.inputs[2] = absent();
    if (i % 7 == 0) c.inputs[3] = absent();
    expect_same(c, "gemm_i8");
    expect_same({"qlinear_matmul",
                 {x, vec({0.03F}), x_zero, y, dice.floats({i % 4 ? n : 1}, 0.01F, 0.1F), y_zero, vec({0.9F}),
                  bytes(dice, Shape{1})},
                 {},
                 {1, 3, 4, 5, 6}},
                "gemm_i8");
  }
}

TEST(MatmulInteger, KernelsOfTwoMatricesThatARunMakes) {
  Dice dice(5);
  for (int i = 0; i < 60; ++i) {
    const int64_t m = dice.extent(), k = dice.extent(), n = dice.extent(), heads = dice.roll(1, 3);
    const Shape left[] = {{m, k}, {2, 1, m, k}, {heads, m, k}, {k}},
                right[] = {{k, n}, {heads, k, n}, {2, 1, k, n}, {k}};
    const Tensor x = bytes(dice, left[i % 4]), y = bytes(dice, right[i / 4 % 4]);
    const Tensor x_zero = zeros_like(dice, x, 1), y_zero = zeros_like(dice, y, 1);
    NodeCase c = {"matmul_integer", {x, y, x_zero, y_zero}};
    if (i % 5 == 0) c.inputs[2] = absent();
    if (i % 7 == 0) c.inputs[3] = absent();
    expect_same(c, "gemm_i8");
    const Tensor scales = dice.floats({3}, 0.01F, 0.1F);
    const auto scale = [&](size_t j) { return vec({scales.as<float>()[j]}); };
    expect_same(
        {"qlinear_matmul", {x, scale(0), x_zero, y, scale(1), y_zero, scale(2), bytes(dice, Shape{1})}, {}, {1, 4, 6}},
        "gemm_i8");
  }
  // Zero points by column of what no one packed.
  const Tensor x = bytes(dice, {3, 4}), y = bytes(dice, {4, 5});
  expect_same({"matmul_integer", {x, y, zeros_like(dice, x, 1), zeros_like(dice, y, 5)}}, "reference");
}

// ---- deform_conv

TEST(DeformConv, Values) {
  const Tensor x = row({10, 20, 30, 40}), w = row({1}), moves = row({0.5F, 1, -2, 0.5F});
  EXPECT_EQ(shown(run_op("deform_conv", {x, w, moves})), "f32[1,1,4] 15 30 10 20");
  EXPECT_EQ(shown(run_op("deform_conv", {x, w, moves, vec({1})})), "f32[1,1,4] 16 31 11 21");
  EXPECT_EQ(shown(run_op("deform_conv", {x, w, moves, absent(), row({1, 2, 1, 0.5F})})), "f32[1,1,4] 15 60 10 10");
  // Far away and nowhere read zero.
  EXPECT_EQ(shown(run_op("deform_conv", {x, w, row({NAN, HUGE_VALF, -1e30F, -4})})), "f32[1,1,4] 0 0 0 0");
  EXPECT_EQ(shown(run_op("deform_conv", {x, row({1, 10}), tensor({1, 2, 3}, {0, 0, 0, 0, 0, 1})})),
            "f32[1,1,3] 210 320 30");
  // Each group of channels moves by itself.
  EXPECT_EQ(
      shown(run_op("deform_conv",
                   {tensor({1, 2, 2}, {1, 2, 3, 4}), tensor({1, 2, 1}, {1, 10}), tensor({1, 2, 2}, {0, 0, 1, -1})},
                   {{"offset_groups", int64_t{2}}})),
      "f32[1,1,2] 41 32");
  // Two axes: the first coordinate moves along the first.
  EXPECT_EQ(shown(run_op("deform_conv", {tensor({1, 1, 2, 2}, {1, 2, 3, 4}), tensor({1, 1, 1, 1}, {1}),
                                         tensor({1, 2, 2, 2}, {1, 0.5F, 0, -1, 0, 0, 1, 0})})),
            "f32[1,1,2,2] 3 3 4 2");
  EXPECT_EQ(shown(run_op("deform_conv", {x, row({1, 10}), row({0, 0, 0})})),
            "deform_conv: channels of offset: found 1, needed 2");
  EXPECT_EQ(shown(run_op("deform_conv", {x, w, moves}, {{"offset_groups", int64_t{2}}})),
            "deform_conv: 1 channels cannot be split into 2 groups of offsets");
}

// ---- causal_conv_with_state

TEST(CausalConv, Values) {
  const Tensor x = row({1, 2, 3}), w = row({1, 10, 100});
  const auto both = [&](const std::vector<Tensor>& in, AttrMap attrs = {}) {
    auto r = run_op("causal_conv_with_state", in, attrs, 2);
    return r.ok() ? shown(r) + " | " + shown(r, 1) : r.error().message();
  };
  EXPECT_EQ(both({x, w}), "f32[1,1,3] 100 210 321 | f32[1,1,2] 2 3");
  EXPECT_EQ(both({x, w, vec({1})}), "f32[1,1,3] 101 211 322 | f32[1,1,2] 2 3");
  EXPECT_EQ(both({x, w, absent(), row({7, 8})}), "f32[1,1,3] 187 218 321 | f32[1,1,2] 2 3");
  EXPECT_EQ(both({row({5}), w, absent(), row({7, 8})}), "f32[1,1,1] 587 | f32[1,1,2] 8 5");
  EXPECT_EQ(both({row({5}), w}), "f32[1,1,1] 500 | f32[1,1,2] 0 5");
  EXPECT_EQ(both({row({}), w, absent(), row({7, 8})}), "f32[1,1,0] | f32[1,1,2] 7 8");
  EXPECT_EQ(both({row({-200, 0, 100}), row({1})}, {{"activation", word("silu")}}), "f32[1,1,3] -0 0 100 | f32[1,1,0]");
  EXPECT_EQ(both({x, w, absent(), row({7})}), "causal_conv_with_state: elements of past: found 1, needed 2");
  EXPECT_EQ(both({x, w, vec({1, 2})}), "causal_conv_with_state: elements of bias: found 2, needed 1");
}

// ---- grid_sample, affine_grid

TEST(GridSample, ModesAndBorders) {
  // Centres of the four elements stand at -0.75, -0.25, 0.25, 0.75; 1 is the outer edge.
  const Tensor x = row({10, 20, 30, 40});
  const auto at = [&](const char* mode, const char* border, std::vector<float> grid, bool corners = false) {
    const auto n = static_cast<int64_t>(grid.size());
    return shown(run_op("grid_sample", {x, tensor({1, n, 1}, grid)},
                        {{"mode", word(mode)}, {"border", word(border)}, {"align_corners", corners}}));
  };
  EXPECT_EQ(at("linear", "constant", {-0.75F, 0, 1, -1, 1.25F, 1.5F, NAN}), "f32[1,1,7] 10 25 20 5 0 0 0");
  EXPECT_EQ(at("linear", "replicate", {0, 1, -1, 1.5F, NAN, HUGE_VALF}), "f32[1,1,6] 25 40 10 40 10 40");
  EXPECT_EQ(at("linear", "reflect", {0, 1, 1.25F, 1.5F, -1.25F, -1.75F}), "f32[1,1,6] 25 40 40 35 10 20");
  EXPECT_EQ(at("nearest", "constant", {0, -0.5F, 1, -1, 0.3F}), "f32[1,1,5] 30 10 0 10 30");
  EXPECT_EQ(at("nearest", "replicate", {1, 9, -9}), "f32[1,1,3] 40 40 10");
  EXPECT_EQ(at("nearest", "reflect", {1, 1.75F}), "f32[1,1,2] 40 30");
  EXPECT_EQ(at("cubic", "constant", {-0.75F, 0, -0.5F, 1}), "f32[1,1,4] 10 25 15 20.9375");
  EXPECT_EQ(at("cubic", "replicate", {0, -0.5F}), "f32[1,1,2] 25 14.0625");
  EXPECT_EQ(at("cubic", "reflect", {0, -0.5F}), "f32[1,1,2] 25 14.0625");
  EXPECT_EQ(at("linear", "constant", {-1, 0, 1}, true), "f32[1,1,3] 10 25 40");
  EXPECT_EQ(at("linear", "replicate", {-3, 3}, true), "f32[1,1,2] 10 40");
  EXPECT_EQ(at("linear", "reflect", {2, 3, 5}, true), "f32[1,1,3] 25 10 40");
  EXPECT_EQ(at("nearest", "reflect", {3}, true), "f32[1,1,1] 10");
}

TEST(GridSample, ShapesAndFaults) {
  const Tensor image = tensor({1, 2, 2, 2}, {1, 2, 3, 4, 10, 20, 30, 40});
  // The last axis comes first in a place.
  EXPECT_EQ(shown(run_op("grid_sample", {image, tensor({1, 1, 2, 2}, {1, -1, 0, 1})}, {{"align_corners", true}})),
            "f32[1,2,1,2] 2 3.5 20 35");
  // Integers round to even.
  EXPECT_EQ(shown(run_op("grid_sample", {row<uint8_t>({1, 2}), tensor({1, 2, 1}, {0, 0.25F})})), "u8[1,1,2] 2 2");
  EXPECT_EQ(shown(run_op("grid_sample", {row<uint8_t>({2, 3}), tensor({1, 1, 1}, {0})})), "u8[1,1,1] 2");
  // Elements of 64 bits move whole.
  EXPECT_EQ(shown(run_op("grid_sample", {row<int64_t>({INT64_MAX, INT64_MIN}), tensor({1, 2, 1}, {-0.5F, 0.5F})},
                         {{"mode", word("nearest")}})),
            "i64[1,1,2] 9223372036854775807 -9223372036854775808");
  EXPECT_EQ(shown(run_op("grid_sample", {row({1}), tensor({1, 1, 2}, {0, 0})})),
            "grid_sample: grid has 2 coordinates a place; x has 1 spatial axes");
  EXPECT_EQ(shown(run_op("grid_sample", {row({}), tensor({1, 1, 1}, {0})})),
            "grid_sample: x has no elements along axis 2");
  EXPECT_EQ(shown(run_op("grid_sample", {row({1}), tensor({2, 1, 1}, {0, 0})})),
            "grid_sample: items of grid and x: found 2, needed 1");
}

TEST(GridSample, Kernels) {
  Dice dice(5);
  static const char* const kModes[] = {"linear", "nearest", "cubic"};
  static const char* const kBorders[] = {"constant", "replicate", "reflect"};
  for (int i = 0; i < 54; ++i) {
    const int64_t spatial = 1 + i / 18, n = dice.roll(1, 2);
    std::vector<int64_t> x = {n, dice.roll(1, 4)}, grid = {n};
    for (int64_t k = 0; k < spatial; ++k)
      x.push_back(dice.roll(1, 7)), grid.push_back(dice.roll(1, spatial == 1 ? 150 : 9));
    grid.push_back(spatial);
    const NodeCase c = {
        "grid_sample",
        {dice.floats(Shape(x)), i % 7 ? dice.floats(Shape(grid)) : dice.wild_floats(Shape(grid))},
        {{"mode", word(kModes[i % 3])}, {"border", word(kBorders[i / 3 % 3])}, {"align_corners", i / 9 % 2 == 1}}};
    expect_same(c, "grid_sample_f32");
    auto one = test::run_node(c, 1), four = test::run_node(c, 4);
    ASSERT_TRUE(one.ok() && four.ok());
    EXPECT_EQ(std::memcmp(one->out[0].data(), four->out[0].data(), static_cast<size_t>(one->out[0].bytes())), 0);
  }
  expect_same({"grid_sample", {dice.ints<int32_t>({1, 1, 5}, -9, 9), dice.floats({1, 4, 1})}}, "reference");
}

TEST(AffineGrid, Values) {
  const Tensor still = tensor({1, 2, 3}, {1, 0, 0, 0, 1, 0}), size = vec<int64_t>({1, 1, 2, 2});
  EXPECT_EQ(shown(run_op("affine_grid", {still, size}, {{"align_corners", true}})), "f32[1,2,2,2] -1 -1 1 -1 -1 1 1 1");
  EXPECT_EQ(shown(run_op("affine_grid", {still, size})), "f32[1,2,2,2] -0.5 -0.5 0.5 -0.5 -0.5 0.5 0.5 0.5");
  EXPECT_EQ(shown(run_op("affine_grid", {tensor({1, 2, 3}, {2, 0, 1, 0, 1, 0}), vec<int64_t>({1, 3, 1, 2})})),
            "f32[1,1,2,2] 0 0 2 0");
  EXPECT_EQ(shown(run_op("affine_grid", {still, vec<int64_t>({1, 1, 2, 2, 2})})),
            "affine_grid: theta has extent 2 at axis 1; needed 3");
}

}  // namespace
}  // namespace nnex
