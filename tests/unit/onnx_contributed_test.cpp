// Operators that ONNX Runtime has beside the standard's: early experiments, which converters of 2017 to 2019 wrote into
// the standard's domain, and those of com.microsoft over images, tokens and whole numbers. The numbers are those of
// their formulas, worked out beside the program.

#include <gtest/gtest.h>

#include "microsoft_node.h"
#include "nnex/check.h"
#include "tensor_of.h"

namespace {

using namespace nnex;
using nnex::test::expect_near;
using nnex::test::f;
using nnex::test::i32;
using nnex::test::i64;
using nnex::test::run;
using nnex::test::Tensors;
using nnex::test::text;
using nnex::test::u8;

/// The outputs of a node of x, and perhaps other inputs.
Tensors answers(std::string_view inputs, std::string_view outputs, std::string_view held, std::string_view node,
                const Tensors& given) {
  return run(text(inputs, outputs, held, node), given);
}
std::string refusal(std::string_view inputs, std::string_view held, std::string_view node, const Tensors& given) {
  std::string error;
  run(text(inputs, "float[N] y", held, node), given, &error);
  return error;
}

// ---- Early experiments

TEST(OnnxExperiments, ScaledFunctions) {
  const Tensor x = f({3}, {-1, 0, 2});
  const auto one = [&](std::string_view node) { return answers("float[3] x", "float[3] y", "", node, {x}).at(0); };
  expect_near(one("y = Affine<alpha: float = 2.0, beta: float = -1.0>(x)"), {3}, {-3, -1, 3});
  expect_near(one("y = Affine(x)"), {3}, {-1, 0, 2});
  expect_near(one("y = Scale<scale: float = 0.5>(x)"), {3}, {-0.5, 0, 1});
  expect_near(one("y = ScaledTanh<alpha: float = 2.0, beta: float = 0.5>(x)"), {3}, {-0.9242343, 0, 1.5231883});
  expect_near(one("y = ParametricSoftplus<alpha: float = 2.0, beta: float = 0.5>(x)"), {3},
              {0.9481540, 1.3862944, 2.6265234});
  EXPECT_EQ(refusal("float[3] x", "", "y = ScaledTanh<alpha: float = 2.0>(x)", {x}),
            "ScaledTanh: attribute 'beta' is required");
  EXPECT_EQ(refusal("float[3] x", "", "y = Affine<gamma: float = 2.0>(x)", {x}),
            "Affine: it has no attribute 'gamma' in its form of opset 1");
}

TEST(OnnxExperiments, Images) {
  const Tensor x = f({1, 2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const auto one = [&](std::string_view node, std::string_view extents = "1,2,2,3") {
    return answers(fmt::format("float[{}] x", extents), "float[A,B,C,D] y", "", node, {x}).at(0);
  };
  expect_near(one("y = ImageScaler<bias: floats = [0.5, -1.0], scale: float = 2.0>(x)"), {1, 2, 2, 3},
              {2.5, 4.5, 6.5, 8.5, 10.5, 12.5, 13, 15, 17, 19, 21, 23});
  for (std::string_view extents : {"1,2,2,3", "N,C,H,W"}) {
    SCOPED_TRACE(extents);
    expect_near(one("y = Crop<border: ints = [1, 0, 1, 1]>(x)", extents), {1, 2, 1, 1}, {2, 8});
    expect_near(one("y = Crop<border: ints = [1, 1, 0, 0], scale: ints = [1, 2]>(x)", extents), {1, 2, 1, 2},
                {5, 6, 11, 12});
    EXPECT_NE(refusal(fmt::format("float[{}] x", extents), "", "y = Crop<border: ints = [2, 0, 2, 0]>(x)", {x}), "");
    EXPECT_NE(refusal(fmt::format("float[{}] x", extents), "",
                      "y = Crop<border: ints = [1, 1, 0, 0], scale: ints = [2, 2]>(x)", {x}),
              "");
  }
  const auto wrong = [&](std::string_view node) { return refusal("float[1,2,2,3] x", "", node, {x}); };
  EXPECT_EQ(wrong("y = ImageScaler<bias: floats = [1.0, 2.0, 3.0]>(x)"),
            "ImageScaler: bias has 3 numbers; the input has 2 channels");
  EXPECT_EQ(wrong("y = Crop<border: ints = [1, 0]>(x)"), "Crop: border has 2 numbers; needed 4");
  EXPECT_EQ(wrong("y = Crop<border: ints = [2, 0, 2, 0]>(x)"), "Crop: 2 + 2 columns of 3");
  EXPECT_EQ(wrong("y = Crop<border: ints = [0, 1, 0, -1]>(x)"), "Crop: -1 is no count of rows or columns");
  EXPECT_EQ(refusal("float[2] x", "", "y = Crop<border: ints = [0, 0, 0, 0]>(x)", {f({2}, {1, 2})}),
            "Crop: the input has 1 axes; needed 4");
}

TEST(OnnxExperiments, SlicesAndFillings) {
  const Tensor x = f({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto one = [&](std::string_view held, std::string_view node) {
    return answers("float[2,3] x", "float[A,B] y", held, node, {x}).at(0);
  };
  expect_near(
      one("int64[1] from = {1}, int64[1] to = {-1}, int64[1] axes = {1}", "y = DynamicSlice(x, from, to, axes)"),
      {2, 1}, {2, 5});
  expect_near(one("", "y = GivenTensorFill<values: floats = [1.0, 2.0], shape: ints = [2, 1]>()"), {2, 1}, {1, 2});
  expect_near(one("", "y = ConstantFill<value: float = 3.0>(x)"), {2, 3}, {3, 3, 3, 3, 3, 3});
  expect_near(one("int64[1] n = {2}", "y = ConstantFill<input_as_shape: int = 1, extra_shape: ints = [1]>(n)"), {2, 1},
              {0, 0});
  EXPECT_EQ(refusal("float[2,3] x", "", "y = ConstantFill<value: float = 3.0>()", {x}),
            "ConstantFill: neither an input nor the attribute 'shape' says a shape");
}

/// Operators of an opset that was to come.
TEST(OnnxExperiments, BeforeTheirOpset) {
  const auto one = [](std::string_view node) {
    const std::string model = fmt::format(
        "<ir_version: 3, opset_import: [\"\" : 8]>\ng (float[1,2,1,2] x) => (float[1,2,1,2] y) {{ {} }}", node);
    return run(model, {f({1, 2, 1, 2}, {1, 3, 6, 10})}).at(0);
  };
  const Shape shape = {1, 2, 1, 2};
  expect_near(one("y = ThresholdedRelu<alpha: float = 3.0>(x)"), shape, {0, 0, 6, 10});
  expect_near(one("y = MeanVarianceNormalization(x)"), shape, {-1, 1, -1, 1});
  expect_near(one("y = MeanVarianceNormalization<normalize_variance: int = 0>(x)"), shape, {-1, 1, -2, 2});
  expect_near(one("y = MeanVarianceNormalization<across_channels: int = 1>(x)"), shape,  // of mean 5, variance 11.5
              {-1.1795356, -0.5897678, 0.2948839, 1.4744196});
}

/// A check warns of them, and tells what they do not take.
TEST(OnnxExperiments, AreChecked) {
  const auto rules = [](std::string_view node) {
    const auto report = check(ModelSource::memory(text("float[3] x", "float[3] y", "", node)));
    EXPECT_TRUE(report.ok());
    std::vector<std::string> out;
    for (const Fault& fault : report->faults) out.push_back(fault.rule);
    return out;
  };
  using Rules = std::vector<std::string>;
  EXPECT_EQ(rules("y = Affine<alpha: float = 2.0>(x)"), (Rules{"onnx/operator-experimental"}));
  EXPECT_EQ(rules("y = Affine<gamma: float = 2.0>(x)"),
            (Rules{"onnx/operator-experimental", "onnx/attribute-unknown"}));
}

// ---- A bias before, an activation behind

TEST(OnnxContributed, FusedMaps) {
  const Tensor x = f({1, 1, 2}, {1, 2});
  const auto of = [&](std::string_view held, std::string_view node) {
    return answers("float[1,1,2] x", "float[A,B,C] y", held, node, {x}).at(0);
  };
  const std::string_view two = "float[2] b = {0.5, -1}, float[1,1,2] s = {10, 20}";
  expect_near(of(two, "y = com.microsoft.BiasAdd(x, b, s)"), {1, 1, 2}, {11.5, 21});
  const Tensors dropped = answers("float[1,1,2] x", "float[1,1,2] y, bool[1,1,2] mask", two,
                                  "y, mask = com.microsoft.BiasDropout(x, b, s)", {x});
  expect_near(dropped.at(0), {1, 1, 2}, {11.5, 21});
  expect_near(dropped.at(1), {1, 1, 2}, {1, 1});
  expect_near(
      of("float[1,1,2] b = {2, 1}", "y = com.microsoft.BiasSoftmax<axis: int = 2, is_inner_broadcast: int = 1>(x, b)"),
      {1, 1, 2}, {0.5, 0.5});
  expect_near(answers("float[1,1,4] x", "float[1,1,2] y", "float[4] b = {0.5, -1, 0, 2}",
                      "y = com.microsoft.BiasSplitGelu(x, b)", {f({1, 1, 4}, {1, 2, 3, -1})})
                  .at(0),
              {1, 1, 2}, {4.4939255, 0.8413447});
  expect_near(of("float[2,2] w = {1, 0, 0.5, -1}, float[2] b = {0.5, 0.25}", "y = com.microsoft.GemmFastGelu(x, w, b)"),
              {1, 1, 2}, {2.4849157, -0.0702046});
  EXPECT_EQ(refusal("float[1,1,2] x", "float[2] b = {0, 0}, float r = {0.5}, bool t = {1}",
                    "y = com.microsoft.BiasDropout(x, b, , r, t)", {x}),
            "BiasDropout with a training_mode that is no constant false");
}

TEST(OnnxContributed, FusedProducts) {
  const std::string_view held = "float[2,2] w = {1, 2, 1, 0.5}";
  const Tensor x = f({1, 2}, {1, -2});
  const auto of = [&](std::string_view attributes) {
    return fmt::format("y = com.microsoft.FusedMatMulActivation<{}>(x, w)", attributes);
  };
  expect_near(answers("float[1,2] x", "float[1,2] y", held,
                      of("activation: string = \"Elu\", activation_alpha: float = 0.5, alpha: float = 2.0"), {x})
                  .at(0),
              {1, 2}, {-0.4323324, 2});
  EXPECT_EQ(refusal("float[1,2] x", held, of("activation: string = \"Cos\""), {x}),
            "FusedMatMulActivation with activation 'Cos'");
  expect_near(answers("float[1,2] x", "float[2,1] y", held,
                      "y = com.microsoft.SparseToDenseMatMul<alpha: float = 2.0, transB: int = 1>(w, x)", {x})
                  .at(0),
              {2, 1}, {-6, 0});
  // [2, 1, 2] as [1, 2, 2]: its first axis goes behind the batch.
  expect_near(answers("float[2,1,2] x", "float[1,2,2] y", held,
                      "y = com.microsoft.FusedMatMul<transBatchA: int = 1>(x, w)", {f({2, 1, 2}, {1, -2, 0, 2})})
                  .at(0),
              {1, 2, 2}, {-1, 1, 2, 1});
}

TEST(OnnxContributed, RotaryOfAngles) {
  const Tensors y = answers("float[1,1,1] e, float[1,1,1,1] q, float[1,1,1,1] k", "float[1,1,1,1] a, float[1,1,1,1] b",
                            "float[1,1,1,1] qr = {2}, float[1,1,1,1] kr = {-1}",
                            "a, b = com.microsoft.GemmaRotaryEmbedding(e, q, qr, k, kr)",
                            {f({1, 1, 1}, {0.5}), f({1, 1, 1, 1}, {1}), f({1, 1, 1, 1}, {3})});
  expect_near(y.at(0), {1, 1, 1, 1}, {1.8364336});
  expect_near(y.at(1), {1, 1, 1, 1}, {2.1533221});
}

// ---- Images

TEST(OnnxContributed, ConvolutionsWithChannelsLast) {
  const Tensor x = f({1, 1, 2, 2}, {1, 2, 3, 4});
  const std::string_view filters =
      "float[1,1,2,2] last = {1, 10, 100, 1000}, float[1,2,1,2] first = {1, 100, 10, 1000}";
  const std::string held = fmt::format("{}, float[1] b = {{0.5}}, float[1,1,1,1] z = {{-5000}}", filters);
  const auto of = [&](std::string_view node) {
    return answers("float[1,1,2,2] x", "float[1,1,1,1] y", held, node, {x}).at(0);
  };
  expect_near(of("y = com.microsoft.NhwcConv(x, last, b)"), {1, 1, 1, 1}, {4321.5});
  expect_near(of("y = com.microsoft.NhwcFusedConv(x, first, b)"), {1, 1, 1, 1}, {4321.5});
  expect_near(of("y = com.microsoft.NhwcFusedConv<activation: string = \"Relu\">(x, first, b, z)"), {1, 1, 1, 1}, {0});
}

TEST(OnnxContributed, NormsOfGroups) {
  const Tensor x = f({1, 1, 2, 4}, {1, 2, 3, 4, 3, 6, 5, 8});
  const std::string_view held =
      "float[4] g = {1, 2, 1, 0.5}, float[4] b = {0, 0, 1, -1}, float[1,4] s = {1, 0, -1, 2}, float[1,1,1,4] s4 = {1, "
      "0, -1, 2}, float[4] more = {0.5, 0.5, 0, 0}";
  const auto of = [&](std::string_view node) {
    return answers("float[1,1,2,4] x", "float[1,1,2,4] y", held, node, {x}).at(0);
  };
  const Shape shape = {1, 1, 2, 4};
  expect_near(of("y = com.microsoft.GroupNorm<groups: int = 2, activation: int = 0>(x, g, b)"), shape,
              {-1.0690434, -1.0690434, -0.0690434, -1.2672609, 0, 3.2071303, 1, -0.1982174});
  expect_near(of("y = com.microsoft.GroupNorm<groups: int = 2, activation: int = 1>(x, g, b)"), shape,
              {-0.2732315, -0.2732315, -0.0333304, -0.2784508, 0, 3.0823785, 0.7310586, -0.0893182});
  for (std::string_view skip : {"s", "s4"}) {
    const Tensors y = answers(
        "float[1,1,2,4] x", "float[1,1,2,4] y, float[1,1,2,4] sum", held,
        fmt::format("y, sum = com.microsoft.SkipGroupNorm<groups: int = 2, activation: int = 0>(x, g, b, {}, more)",
                    skip),
        {x});
    expect_near(y.at(0), shape,
                {-0.9045324, -1.8090648, -0.1832153, -0.9154846, 0.3015108, 3.0151080, 0.4929077, -0.2393616});
    expect_near(y.at(1), shape, {2.5, 2.5, 2, 6, 4.5, 6.5, 4, 10});
  }
  // Channels first: two of one pixel each, of mean 2 and deviation 1.
  expect_near(answers("float[1,2,1,1] x", "float[1,2,1,1] y", "float[2] g = {1, 2}, float[2] b = {0, 1}",
                      "y = com.microsoft.GroupNorm<groups: int = 1, activation: int = 0, channels_last: int = 0, "
                      "epsilon: float = 0.0>(x, g, b)",
                      {f({1, 2, 1, 1}, {1, 3})})
                  .at(0),
              {1, 2, 1, 1}, {-1, 3});
  EXPECT_EQ(refusal("float[1,1,2,4] x", held,
                    "y = com.microsoft.GroupNorm<groups: int = 2, activation: int = 2>(x, g, b)", {x}),
            "GroupNorm: activation is 2; needed 0 or 1, SiLU");
}

TEST(OnnxContributed, RegionsOfImages) {
  const auto of = [](std::string_view region, std::string_view size, std::string_view attributes) {
    return answers("float[2,1,2,2] x", "float[A,B,C,D] y",
                   fmt::format("float[1,4] r = {{{}}}, int32[1] i = {{1}}, int32[2] s = {{{}}}", region, size),
                   fmt::format("y = com.microsoft.CropAndResize{}(x, r, i, s)", attributes),
                   {f({2, 1, 2, 2}, {0, 0, 0, 0, 1, 2, 3, 4})})
        .at(0);
  };
  expect_near(of("0, 0, 1, 1", "3, 3", ""), {1, 1, 3, 3}, {1, 1.5, 2, 2, 2.5, 3, 3, 3.5, 4});
  expect_near(of("-0.5, 0, 0.5, 1", "3, 2", "<extrapolation_value: float = 9.0>"), {1, 1, 3, 2}, {9, 9, 1, 2, 2, 3});
  expect_near(of("0, 0, 1, 1", "3, 1", "<mode: string = \"nearest\">"), {1, 1, 3, 1}, {2, 4, 4});
  EXPECT_EQ(refusal("float[1,1,2,2] x, int32[2] s", "float[1,4] r = {0, 0, 1, 1}, int32[1] i = {0}",
                    "y = com.microsoft.CropAndResize(x, r, i, s)", {f({1, 1, 2, 2}, {1, 2, 3, 4}), i32({2}, {1, 1})}),
            "CropAndResize with a crop_size that is no initializer");
}

TEST(OnnxContributed, PaddingThatARunSays) {
  const Tensor x = f({1, 1, 1, 2}, {1, 2});
  const std::string_view held = "float[1,1,1,3] w = {1, 10, 100}, float[1] b = {0.5}, int64[4] pads = {0, 1, 0, 0}";
  const std::vector<double> wanted = {10 + 2 + 0.5, 100 + 20 + 0.5, 200 + 0.5};
  expect_near(answers("float[1,1,1,2] x", "float[A,B,C,D] y", held,
                      "y = com.microsoft.ConvTransposeWithDynamicPads(x, w, pads, b)", {x})
                  .at(0),
              {1, 1, 1, 3}, wanted);
  expect_near(answers("float[1,1,1,2] x, int64[4] p", "float[A,B,C,D] y", held,
                      "y = com.microsoft.ConvTransposeWithDynamicPads(x, w, p, b)", {x, i64({4}, {0, 1, 0, 0})})
                  .at(0),
              {1, 1, 1, 3}, wanted);
}

// ---- Tokens

TEST(OnnxContributed, NgramsAreNotRepeated) {
  const double none = -std::numeric_limits<double>::infinity();
  const auto banned = [&](int size, const Tensor& ids) {
    const Tensor y = answers("int64[1,L] ids, float[1,4] s", "float[1,4] y", "",
                             fmt::format("y = com.microsoft.NGramRepeatBlock<ngram_size: int = {}>(ids, s)", size),
                             {ids, f({1, 4}, {1, 2, 3, 4})})
                         .at(0);
    std::vector<double> out;
    for (int64_t i = 0; i < 4; ++i) out.push_back(real_at(y, i));
    return out;
  };
  const Tensor ids = i64({1, 5}, {0, 1, 2, 0, 1});
  EXPECT_EQ(banned(3, ids), (std::vector<double>{1, 2, none, 4}));  // 0 1 was followed by 2
  EXPECT_EQ(banned(2, ids), (std::vector<double>{1, 2, none, 4}));
  EXPECT_EQ(banned(1, ids), (std::vector<double>{none, none, none, 4}));
  EXPECT_EQ(banned(4, ids), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(banned(9, ids), (std::vector<double>{1, 2, 3, 4}));
}

/// Buckets of T5 for distances from -1 to 5, and from 0 to -5.
TEST(OnnxContributed, BucketsOfDistances) {
  const auto biases = [](std::string_view table, std::string_view attributes, int64_t queries, int64_t keys) {
    return answers("int64[1] q, int64[1] k", "float[A,B,C,D] y", table,
                   fmt::format("y = com.microsoft.RelativePositionBias<{}>(t, q, k)", attributes),
                   {i64({1}, {queries}), i64({1}, {keys})})
        .at(0);
  };
  // The numbers of the second head are 10 more.
  expect_near(biases("float[8,2] t = {0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17}",
                     "max_distance: int = 16, is_bidirectional: int = 1", 2, 6),
              {1, 2, 2, 6}, {0, 5, 6, 6, 6, 6, 1, 0, 5, 6, 6, 6, 10, 15, 16, 16, 16, 16, 11, 10, 15, 16, 16, 16});
  expect_near(biases("float[4,1] t = {0, 1, 2, 3}", "max_distance: int = 8", 6, 2), {1, 1, 6, 2},
              {0, 0, 1, 0, 2, 1, 2, 2, 3, 2, 3, 3});
  EXPECT_EQ(
      refusal("int64[1] q, int64[1] k", "float[8,1] t = {0, 1, 2, 3, 4, 5, 6, 7}",
              "y = com.microsoft.RelativePositionBias<max_distance: int = 4>(t, q, k)", {i64({1}, {1}), i64({1}, {1})}),
      "RelativePositionBias: max_distance is 4 with 8 buckets");
}

TEST(OnnxContributed, GatesOfPositions) {
  expect_near(answers("float[1,1,2] q", "float[1,1,1,1] y",
                      "float[2] qb = {0.1, 0.2}, float[1,1,1,1] p = {3}, float[2,4] w = {1, 0, 0.5, -1, 0, 2, 1, 0.5}, "
                      "float[4] b = {0, 0.1, 0.2, 0.3}, float[1,1,1,1] e = {1.5}",
                      "y = com.microsoft.GatedRelativePositionBias<num_heads: int = 1>(q, qb, p, w, b, e)",
                      {f({1, 1, 2}, {0.5, -1})})
                  .at(0),
              {1, 1, 1, 1}, {5.4826679});
}

TEST(OnnxContributed, BatchesWithoutPadding) {
  const Tensors packed = answers(
      "float[2,3,1] x, int32[2] n", "float[T,1] y, int32[2,3] at, int32[3] before, int32[1] max", "",
      "y, at, before, max = com.microsoft.RemovePadding(x, n)", {f({2, 3, 1}, {1, 2, 3, 4, 5, 6}), i32({2}, {1, 2})});
  ASSERT_EQ(packed.size(), 4U);
  expect_near(packed[0], {3, 1}, {1, 4, 5});
  expect_near(packed[1], {2, 3}, {0, 3, 4, 1, 2, 5});
  expect_near(packed[2], {3}, {0, 1, 3});
  expect_near(packed[3], {1}, {2});
  expect_near(answers("float[T,1] x, int32[2,3] at", "float[2,3,1] y", "", "y = com.microsoft.RestorePadding(x, at)",
                      {packed[0], packed[1]})
                  .at(0),
              {2, 3, 1}, {1, 0, 0, 4, 5, 0});
  // Rows of 1 and of 2 tokens; queries and keys are the tokens, values ten times as much.
  const std::string held =
      "int32[2,2] at = {0, 2, 3, 1}, int32[3] before = {0, 1, 3}, float[1,3] w = {1, 1, 10}, float[3] b = {0, 0, 0}, "
      "float[3] less = {-1, -1, -10}, float[1,1,2,2] more = {0, 0, 1, -1}";
  const std::vector<double> wanted = {10, 28.8079708, 29.5257413};
  const Tensor x = f({3, 1}, {1, 2, 3});
  const auto attention = [&](std::string_view node) {
    return answers("float[T,1] x", "float[T,1] y", held, fmt::format("y = com.microsoft.{}", node), {x}).at(0);
  };
  expect_near(attention("PackedAttention<num_heads: int = 1>(x, w, b, at, before)"), {3, 1}, wanted);
  expect_near(attention("PackedAttention<num_heads: int = 1>(x, w, b, at, before, more)"), {3, 1},
              {10, 28.8079708, 27.3105858});
  const Tensors heads = {f({3, 1}, {2, 3, 4}), f({3, 1}, {2, 3, 4}), f({3, 1}, {20, 30, 40})};
  expect_near(
      answers("float[T,1] q, float[T,1] k, float[T,1] v", "float[T,1] y", held,
              "y = com.microsoft.PackedMultiHeadAttention<num_heads: int = 1>(q, k, v, less, at, before)", heads)
          .at(0),
      {3, 1}, wanted);
  expect_near(answers("float[T,1,3,1] x", "float[T,1] y", held,
                      "y = com.microsoft.PackedMultiHeadAttention<num_heads: int = 1>(x, , , , at, before)",
                      {f({3, 1, 3, 1}, {1, 1, 10, 2, 2, 20, 3, 3, 30})})
                  .at(0),
              {3, 1}, wanted);
}

/// The past has room for three keys, of which one is there.
TEST(OnnxContributed, StepsOfDecoders) {
  const Tensor one = f({1, 1, 1}, {2}), key = f({1, 1, 1}, {3}), value = f({1, 1, 1}, {20});
  const double y = 19.8201379;
  const Tensors shared =
      answers("float[1,1,1] q, float[1,1,1] k, float[1,1,1] v, float[1,1,3,1] pk, float[1,1,3,1] pv, int32[1] n",
              "float[1,1,1] y, float[1,1,3,1] key, float[1,1,3,1] value", "",
              "y, key, value = com.microsoft.DecoderMaskedMultiHeadAttention<num_heads: int = 1, "
              "past_present_share_buffer: int = 1>(q, k, v, , , pk, pv, n)",
              {one, key, value, f({1, 1, 3, 1}, {1, 8, 9}), f({1, 1, 3, 1}, {10, 80, 90}), i32({1}, {1})});
  ASSERT_EQ(shared.size(), 3U);
  expect_near(shared[0], {1, 1, 1}, {y});
  expect_near(shared[1], {1, 1, 3, 1}, {1, 3, 9});
  expect_near(shared[2], {1, 1, 3, 1}, {10, 20, 90});
  const Tensors joined = answers(
      "float[1,1,3] x, float[1,1,1,1] pk, float[1,1,1,1] pv",
      "float[1,1,1] y, float[1,1,2,1] key, float[1,1,2,1] value", "float[3] b = {1, 2, 15}",
      "y, key, value = com.microsoft.DecoderMaskedMultiHeadAttention<num_heads: int = 1>(x, , , , , pk, pv, , , , b)",
      {f({1, 1, 3}, {1, 1, 5}), f({1, 1, 1, 1}, {1}), f({1, 1, 1, 1}, {10})});
  ASSERT_EQ(joined.size(), 3U);
  expect_near(joined[0], {1, 1, 1}, {y});
  expect_near(joined[1], {1, 1, 2, 1}, {1, 3});
  expect_near(answers("float[1,1,1] q, float[1,1,2,1] k, float[1,1,2,1] v", "float[1,1,1] y", "",
                      "y = com.microsoft.DecoderMaskedMultiHeadAttention<num_heads: int = 1>(q, k, v)",
                      {one, f({1, 1, 2, 1}, {1, 3}), f({1, 1, 2, 1}, {10, 20})})
                  .at(0),
              {1, 1, 1}, {y});
}

TEST(OnnxContributed, States) {
  const Tensors y =
      answers("float[1,1,2] q, float[1,1,2] k, float[1,1,1] v", "float[1,1,1] y, float[1,1,2,1] state",
              "float[1,1,2,1] past = {1, 0}",
              "y, state = com.microsoft.LinearAttention<update_rule: string = \"linear\", q_num_heads: int "
              "= 1, kv_num_heads: int = 1, scale: float = 1.0>(q, k, v, past)",
              {f({1, 1, 2}, {1, 2}), f({1, 1, 2}, {1, 0.5}), f({1, 1, 1}, {4})});
  expect_near(y.at(0), {1, 1, 1}, {1 * (1 + 4) + 2 * 2});
  expect_near(y.at(1), {1, 1, 2, 1}, {5, 2});
  const std::string_view held = "float[1,1,2] w = {2, 1}, float[1] b = {0.5}";
  const Tensor x = f({1, 1, 3}, {1, 2, 3});
  const Tensors conv =
      answers("float[1,1,3] x", "float[1,1,3] y, float[1,1,1] state", held,
              "y, state = com.microsoft.CausalConvWithState<activation: string = \"swish\">(x, w, b)", {x});
  expect_near(conv.at(0), {1, 1, 3}, {1.2263617, 4.4505588, 7.4958542});
  expect_near(conv.at(1), {1, 1, 1}, {3});
  EXPECT_EQ(
      refusal("float[1,1,3] x", held, "y, state = com.microsoft.CausalConvWithState<ndim: int = 2>(x, w, b)", {x}),
      "CausalConvWithState with ndim 2; needed 1");
}

/// Blocks of one position: the second query sees itself alone in one layout, all before it in the other.
TEST(OnnxContributed, BlocksOfKeys) {
  const auto attention = [](std::string_view columns, std::string* error = nullptr) {
    return run(
        text("float[1,2,2] q, float[1,2,1] k, float[1,2,1] v, float[1,1,2,1] past",
             "float[1,2,2] y, float[1,1,2,1] key, float[1,1,2,1] value",
             fmt::format("int32[2,3] rows = {{0, 1, 2, 0, 1, 3}}, int32[2,3] columns = {{{}}}, int32 total = {{2}}, "
                         "int32[1] n = {{2}}",
                         columns),
             "y, key, value = com.microsoft.SparseAttention<num_heads: int = 2, kv_num_heads: int = 1, "
             "sparse_block_size: int = 1>(q, k, v, past, past, rows, columns, total, n)"),
        {f({1, 2, 2}, {2, 2, 2, 2}), f({1, 2, 1}, {1, 3}), f({1, 2, 1}, {10, 20}), f({1, 1, 2, 1}, {0, 0})}, error);
  };
  const Tensors y = attention("0, 1, -1, 0, 0, 1");
  ASSERT_EQ(y.size(), 3U);
  expect_near(y[0], {1, 2, 2}, {10, 10, 20, 19.8201379});
  expect_near(y[1], {1, 1, 2, 1}, {1, 3});
  std::string error;
  attention("0, 2, -1, 0, 0, 1", &error);
  EXPECT_EQ(error, "SparseAttention: block 1 sees block 2");
}

// ---- Numbers

TEST(OnnxContributed, Hashes) {
  const Tensor x = i32({3}, {0, 3, -5});
  expect_near(answers("int32[3] x", "uint32[3] y", "", "y = com.microsoft.MurmurHash3(x)", {x}).at(0), {3},
              {593689054, 847579505, 1637461840});
  const Tensor y =
      answers("int32[3] x", "int32[3] y", "", "y = com.microsoft.MurmurHash3<positive: int = 0, seed: int = 7>(x)", {x})
          .at(0);
  EXPECT_EQ(y.dtype(), DType::i32);
  expect_near(y, {3}, {-1729787003, -823678547, -23208913});
}

TEST(OnnxContributed, WholeNumbers) {
  const Tensor a = u8({2}, {10, 200}), b = u8({2}, {3, 5});
  expect_near(answers("uint8[2] a, uint8[2] b", "int32[2] y", "uint8 az = {20}, uint8 bz = {1}",
                      "y = com.microsoft.MulInteger(a, az, b, bz)", {a, b})
                  .at(0),
              {2}, {-20, 720});
  expect_near(answers("uint8[2,2] a", "uint32[2,1] y", "",
                      "y = com.microsoft.ReduceSumInteger<axes: ints = [1], keepdims: int = 1>(a)",
                      {u8({2, 2}, {255, 255, 1, 2})})
                  .at(0),
              {2, 1}, {510, 3});
  expect_near(answers("int16[1,2] a, int16[2,1] b", "int32[1,1] y", "", "y = com.microsoft.MatMulInteger16(a, b)",
                      {Tensor::of<int16_t>(Shape{1, 2}, {30000, -2}), Tensor::of<int16_t>(Shape{2, 1}, {1000, 3})})
                  .at(0),
              {1, 1}, {29999994});
  expect_near(answers("uint16[1,1] a, uint16[1,1] b", "uint32[1,1] y", "", "y = com.microsoft.MatMulInteger16(a, b)",
                      {Tensor::of<uint16_t>(Shape{1, 1}, {60000}), Tensor::of<uint16_t>(Shape{1, 1}, {60000})})
                  .at(0),
              {1, 1}, {3600000000});
}

TEST(OnnxContributed, TransformsOfRealNumbers) {
  expect_near(answers("float[4] x", "float[3,2] y", "", "y = com.microsoft.Rfft<signal_ndim: int = 1>(x)",
                      {f({4}, {1, 2, 3, 4})})
                  .at(0),
              {3, 2}, {10, 0, -2, 2, -2, 0});
  expect_near(answers("float[2,2] x", "float[2,2,2] y", "", "y = com.microsoft.Rfft<signal_ndim: int = 2>(x)",
                      {f({2, 2}, {1, 2, 3, 5})})
                  .at(0),
              {2, 2, 2}, {11, 0, -3, 0, -5, 0, 1, 0});
  EXPECT_EQ(refusal("float[4] x", "", "y = com.microsoft.Rfft<normalized: int = 1>(x)", {f({4}, {1, 2, 3, 4})}),
            "Rfft with normalized");
}

TEST(OnnxContributed, InversesOfMatrices) {
  expect_near(
      answers("float[2,2] x", "float[2,2] y", "", "y = com.microsoft.Inverse(x)", {f({2, 2}, {4, 7, 2, 6})}).at(0),
      {2, 2}, {0.6, -0.7, -0.2, 0.4});
}

}  // namespace
