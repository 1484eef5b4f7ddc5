// Reductions of other types than float32, and kernels beside them, against the operators' reference kernels.

#include <cmath>

#include "node_run.h"

namespace nnex {
namespace {

using test::Dice;
using test::expect_same;

Tensor doubles(const Shape& s, Dice& dice, bool wild) {
  const Tensor narrow = wild ? dice.wild_floats(s) : dice.floats(s, 0.5F, 1.5F);
  std::vector<double> v(narrow.as<float>().begin(), narrow.as<float>().end());
  for (double& x : v) x *= 1.0000000001;
  return Tensor::of(s, v);
}

TEST(ReduceKernels, OtherTypes) {
  Dice dice(12);
  const auto random_axes = [&](const Shape& s) {
    Ints axes;
    for (int64_t a = 0; a < s.rank(); ++a)
      if (dice.roll(0, 1)) axes.push_back(a);
    const auto n = static_cast<int64_t>(axes.size());
    return Tensor::of<int64_t>(Shape{n}, axes);
  };
  const int64_t wide = int64_t{1} << 62;
  for (int i = 0; i < 60; ++i) {
    const Shape s = dice.shape(dice.roll(0, 5));
    const Tensor axes = random_axes(s);
    for (const char* op : {"max_reduce", "min_reduce"}) {
      expect_same({op, {doubles(s, dice, true), axes}, {}, {1}}, "reduce");
      expect_same({op, {dice.bytes(DType::i32, s), axes}, {}, {1}}, "reduce");
      expect_same({op, {dice.ints<int64_t>(s, -wide, wide), axes}, {}, {1}}, "reduce");
      expect_same({op, {dice.bytes(DType::u8, s), axes}, {}, {1}}, "reduce");
      expect_same({op, {dice.bytes(DType::i8, s), axes}, {}, {1}}, "reduce");
    }
    for (const char* op : {"sum_reduce", "mean_reduce", "reduce_prod", "reduce_l1", "reduce_l2", "reduce_sum_square"})
      expect_same({op, {doubles(s, dice, false), axes}, {}, {1}}, "reduce", {1e-13, 1e-12});
    expect_same({"sum_reduce", {dice.bytes(DType::i32, s), axes}, {}, {1}}, "reduce");
    expect_same({"sum_reduce", {dice.ints<int64_t>(s, -wide, wide), axes}, {}, {1}}, "reduce");
    expect_same({"mean_reduce", {dice.ints<int64_t>(s, -wide, wide), axes}, {}, {1}}, "reduce");
  }
}

TEST(ReduceKernels, ShortRows) {
  Dice dice(13);
  for (int64_t n = 1; n <= 17; ++n)
    for (int64_t rows : {1, 5, 64, 130}) {
      const Shape s = {rows, n};
      const Tensor axes = Tensor::of<int64_t>(Shape{1}, {1});
      for (const char* op : {"sum_reduce", "reduce_l2"})
        expect_same({op, {dice.floats(s, 0.5F, 2), axes}, {}, {1}}, "reduce", {1e-6, 1e-6});
      expect_same({"max_reduce", {dice.wild_floats(s), axes}, {}, {1}}, "reduce");
      expect_same({"sum_reduce", {dice.bytes(DType::i32, s), axes}, {}, {1}}, "reduce");
    }
}

TEST(ReduceKernels, SoftmaxOfShortRowsAndOfColumns) {
  Dice dice(14);
  const auto expect = [&](const Shape& s) {
    for (const char* op : {"softmax", "log_softmax"})
      expect_same({op, {dice.floats(s)}, {{"axes", Ints{1}}}}, "softmax_f32", {1e-5, 1e-6});
  };
  for (int64_t n = 1; n <= 41; ++n)
    for (int64_t rows : {1, 5, 64, 130}) expect({rows, n});
  // Lines of 1 KiB start in the same sets of the caches.
  for (int64_t n : {4, 5, 21, 150, 512, 513})
    for (int64_t inner : {250, 256, 512}) expect({2, n, inner});
}

TEST(ReduceKernels, LogSumExp) {
  Dice dice(15);
  const auto over = [](Ints axes) { return Tensor::of<int64_t>(Shape{static_cast<int64_t>(axes.size())}, axes); };
  const Tensor x = dice.floats({4, 3, 37}, -9, 9);
  for (bool keeps : {false, true}) {
    const AttrMap attrs = {{"keepdims", keeps}};
    expect_same({"reduce_log_sum_exp", {x, over({-1})}, attrs, {1}}, "log_sum_exp_f32", {1e-5, 1e-6});
    expect_same({"reduce_log_sum_exp", {x, over({1, 2})}, attrs, {1}}, "log_sum_exp_f32", {1e-5, 1e-6});
    expect_same({"reduce_log_sum_exp", {x}, attrs}, "log_sum_exp_f32", {1e-5, 1e-6});
    expect_same({"reduce_log_sum_exp", {x, over({1})}, attrs, {1}}, "reference");  // not along rows
    expect_same({"reduce_log_sum_exp", {x, over({0, 2})}, attrs, {1}}, "reference");
  }
  expect_same({"reduce_log_sum_exp", {dice.floats({3, 0}), over({1})}, {}, {1}}, "reference");
  expect_same({"reduce_log_sum_exp", {dice.ints<int64_t>({3, 4}, -9, 9), over({1})}, {}, {1}}, "reference");
}

TEST(ReduceKernels, Hardmax) {
  Dice dice(14);
  for (int i = 0; i < 40; ++i) {
    const Shape s = dice.shape(dice.roll(1, 4));
    const AttrMap attrs = {{"axes", Ints{dice.roll(-s.rank(), s.rank() - 1)}}, {"to_end", i % 3 == 0}};
    expect_same({"hardmax", {i % 2 ? dice.wild_floats(s) : dice.floats(s)}, attrs}, "hardmax_f32");
  }
}

TEST(ReduceKernels, SumsByEinsum) {
  Dice dice(15);
  for (const char* equation : {"bij->bi", "bij->bj", "bij->b", "bij->", "bij->ij", "bij->i", "bij->ib", "bij->ji"})
    expect_same({"einsum", {dice.floats({5, 33, 40}, 0.5F, 2)}, {{"equation", std::string(equation)}}}, "einsum_f32",
                {1e-5, 1e-5});
  expect_same({"einsum", {dice.floats({33, 33})}, {{"equation", std::string("ii->")}}}, "einsum_f32", {1e-5, 1e-5});
}

TEST(ReduceKernels, MeansAndDeviations) {
  Dice dice(19);
  const Ints all[] = {{0, 2, 3}, {2, 3}, {3}, {0, 1, 2, 3}, {0}, {-1, -2}};
  for (int i = 0; i < 30; ++i)
    expect_same(
        {"mean_variance_normalization", {dice.floats(dice.shape(4))}, {{"axes", all[i % 6]}, {"epsilon", 1e-2}}},
        "mean_variance_f32", {1e-4, 1e-4});
  expect_same({"mean_variance_normalization", {dice.floats({3, 2, 4, 5})}, {{"axes", Ints{1, 3}}}}, "reference");
}

TEST(ElementKernels, KindsOfNumbers) {
  Dice dice(16);
  for (int i = 0; i < 20; ++i) {
    const Tensor x = dice.wild_floats(dice.shape(dice.roll(0, 4)));
    expect_same({"is_nan", {x}}, "number_kind");
    expect_same({"is_inf", {x}, {{"negative", i % 2 == 0}, {"positive", i % 3 == 0}}}, "number_kind");
  }
}

TEST(ElementKernels, FunctionsOfDoubles) {
  Dice dice(18);
  constexpr double kUlps = 3 * 0x1p-52;
  std::vector<double> special = {0,   -0.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 1e-310, 709.7,
                                 710, -708, -744,     -746,      22,           1e-9};
  for (double v = -40; v < 40; v += 0.0173) special.push_back(v), special.push_back(v * v * v / 100);
  const Tensor wide = Tensor::of(Shape{static_cast<int64_t>(special.size())}, special);
  for (const char* op : {"exp", "tanh", "sigmoid"}) {
    expect_same({op, {wide}}, "map_f64", {kUlps, 5e-324});
    expect_same({op, {doubles({3, 7}, dice, true)}}, "map_f64", {kUlps, 5e-324});
  }
  expect_same({"sqrt", {wide}}, "map_f64");
}

TEST(ElementKernels, RemaindersOfFloats) {
  Dice dice(17);
  for (int i = 0; i < 40; ++i) {
    const Shape s = dice.shape(dice.roll(0, 4));
    const AttrMap attrs = {{"division", std::string(i % 2 ? "floor" : "truncate")}};
    const Tensor whole = i % 4 < 2 ? dice.floats(s, -90, 90) : dice.wild_floats(s);
    expect_same({"mod", {whole, dice.floats(dice.stretched(s), -9, 9)}, attrs}, "mod_f32");
    expect_same({"mod", {dice.wild_floats(s), dice.wild_floats(s)}, attrs}, "mod_f32");
    // Multiples and their neighbours: where a quotient rounds to a whole number.
    Tensor x = dice.floats(s, 0.1F, 9);
    const Tensor y = x.clone().value();
    for (float& v : x.mutable_as<float>())
      v = std::nextafter(v * static_cast<float>(dice.roll(1, 1 << 20)), dice.roll(0, 1) ? 0.0F : 1e30F);
    expect_same({"mod", {x, y}, attrs}, "mod_f32");
  }
}

}  // namespace
}  // namespace nnex
