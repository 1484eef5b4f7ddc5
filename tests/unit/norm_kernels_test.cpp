// Every kernel of normalisation against the operator's reference kernel, on small random shapes.

#include "node_run.h"

namespace nnex {
namespace {

using test::absent;
using test::Bound;
using test::Dice;
using test::expect_same;

// Values of size 2 give results of size 10 at most; a few roundings of the largest term.

constexpr Bound kNormBound = {1e-5, 1e-5};

TEST(NormKernels, LayerAndRms) {
  Dice dice(1);
  for (int i = 0; i < 30; ++i) {
    const Shape x = dice.shape(dice.roll(1, 4));
    const int64_t axis = dice.roll(0, x.rank() - 1);
    const Shape rest(std::vector<int64_t>(x.begin() + axis, x.end()));
    const AttrMap attrs = {{"axes", Ints{axis - (i % 2 ? x.rank() : 0)}}, {"to_end", true}, {"epsilon", 1e-3}};
    expect_same({"layer_normalization", {dice.floats(x), dice.floats(rest), dice.floats(rest)}, attrs, {1, 2}, 3},
                "layer_norm_f32", kNormBound);
    expect_same({"layer_normalization", {dice.floats(x), absent(), dice.floats(rest)}, attrs}, "layer_norm_f32",
                kNormBound);
    expect_same({"rms_normalization", {dice.floats(x), dice.floats(rest)}, attrs, {1}}, "rms_norm_f32", kNormBound);
  }
}

TEST(NormKernels, LayerLeavesOtherCasesAlone) {
  Dice dice(2);
  const Tensor x = dice.floats({3, 4, 3});
  const AttrMap to_end = {{"axes", Ints{1}}, {"to_end", true}}, middle = {{"axes", Ints{1}}};
  expect_same({"layer_normalization", {x, dice.floats({3, 1, 3})}, {{"axes", Ints{0, 1}}}}, "reference");
  expect_same({"layer_normalization", {x, dice.floats({3})}, to_end}, "reference");
  expect_same({"layer_normalization", {x}, middle}, "reference");
  expect_same({"layer_normalization", {x}, {{"stash", DType::f16}}}, "reference");
  expect_same({"layer_normalization", {dice.floats({2, 0})}}, "reference");
}

TEST(NormKernels, InstanceAndGroup) {
  Dice dice(3);
  for (int i = 0; i < 30; ++i) {
    const Shape x = dice.shape(dice.roll(2, 4));
    const Tensor scale = dice.floats({x[1]}), offset = dice.floats({x[1]});
    const AttrMap epsilon = {{"epsilon", 1e-2}};
    expect_same({"instance_normalization", {dice.floats(x), scale, offset}, epsilon, {1}}, "instance_norm_f32",
                kNormBound);
    expect_same({"instance_normalization", {dice.floats(x)}, epsilon}, "instance_norm_f32", kNormBound);
    int64_t groups = dice.roll(1, x[1]);
    while (x[1] % groups != 0) --groups;
    expect_same({"group_normalization", {dice.floats(x), scale, offset}, {{"groups", groups}, {"epsilon", 1e-2}}},
                "group_norm_f32", kNormBound);
  }
}

TEST(NormKernels, Batch) {
  Dice dice(4);
  for (int i = 0; i < 40; ++i) {
    const Shape x = dice.shape(dice.roll(1, 4));
    const int64_t axis = dice.roll(-x.rank(), x.rank() - 1);
    const Shape c{x[axis < 0 ? axis + x.rank() : axis]};
    const Tensor mean = dice.floats(c), variance = dice.floats(c, 0.5F, 2), offset = dice.floats(c),
                 scale = dice.floats(c);
    const AttrMap attrs = {{"axis", axis}};
    expect_same({"batch_normalization", {dice.floats(x), mean, variance, offset, scale}, attrs, {1, 2, 3, 4}},
                "batch_norm_f32", kNormBound);
    expect_same({"batch_normalization", {dice.floats(x), mean, variance, absent(), scale}, attrs, {1, 2}},
                "batch_norm_f32", kNormBound);
    expect_same({"batch_normalization", {dice.floats(x), mean, variance}, attrs}, "batch_norm_f32", kNormBound);
  }
}

TEST(NormKernels, LocalResponse) {
  Dice dice(5);
  for (int i = 0; i < 40; ++i) {
    const Shape x = dice.shape(dice.roll(1, 4));
    Ints size(static_cast<size_t>(dice.roll(1, x.rank())), 1);
    size[static_cast<size_t>(dice.roll(0, static_cast<int64_t>(size.size()) - 1))] = dice.roll(1, 12);
    static constexpr double kBetas[] = {0.5, 0.75, 0.6};
    expect_same({"local_response_normalization",
                 {dice.floats(x)},
                 {{"size", size}, {"alpha", 0.3}, {"beta", kBetas[i % 3]}, {"bias", 1.5}}},
                "local_response_f32", {1e-6, 1e-7});
  }
  expect_same({"local_response_normalization", {dice.floats({3, 5})}, {{"size", Ints{2, 2}}}}, "reference");
}

TEST(NormKernels, Norms) {
  Dice dice(6);
  for (int i = 0; i < 40; ++i) {
    const Shape s = dice.shape(dice.roll(1, 4));
    const int64_t axis = dice.roll(-s.rank(), s.rank() - 1);
    AttrMap attrs = {{"axes", Ints{axis}}, {"epsilon", i % 3 ? 0.0 : 1.5}, {"bias", i % 2 ? 0.0 : 0.25}};
    Tensor x = dice.floats(s);
    if (i % 4 == 1) {
      attrs.emplace_back("at_zero", std::string("zero"));
      for (float& v : x.mutable_as<float>()) v = 0;
    }
    expect_same({i % 2 ? "l2_normalization" : "l1_normalization", {x}, attrs}, "lp_norm_f32", {1e-5, 0});
  }
  expect_same({"l2_normalization", {dice.floats({2, 3, 4})}, {{"axes", Ints{0, 2}}}}, "reference");
}

}  // namespace
}  // namespace nnex
