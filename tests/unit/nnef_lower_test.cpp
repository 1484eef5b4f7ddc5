// NNEF documents run: what differs from the engine's own conventions is converted on the way in.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "nnex/model.h"
#include "run/compile.h"
#include "standards/nnef/import.h"
#include "standards/nnef/model.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {
namespace {

struct Case {
  const char* name;
  std::vector<std::pair<const char*, Tensor>> inputs;
  const char* body;
  Tensor y;
};

Tensor reals(std::initializer_list<int64_t> shape, const std::vector<float>& values) {
  return Tensor::of(Shape(std::vector<int64_t>(shape)), values);
}
Tensor integers(std::initializer_list<int64_t> shape, const std::vector<int64_t>& values) {
  return Tensor::of(Shape(std::vector<int64_t>(shape)), values);
}

std::string extents_text(const Shape& s) {
  return fmt::format("[{}]", fmt::join(std::vector<int64_t>(s.begin(), s.end()), ","));
}

/// The document of a case: its inputs are externals.
std::string document(const Case& c) {
  std::string names, externals;
  for (const auto& [name, t] : c.inputs) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    externals += fmt::format("  {} = external<{}>(shape = {});\n", name,
                             t.dtype() == DType::f32   ? "scalar"
                             : t.dtype() == DType::i64 ? "integer"
                                                       : "logical",
                             extents_text(t.shape()));
  }
  return fmt::format("version 1.0;\ngraph net({}) -> (y) {{\n{}  {}\n}}\n", names, externals, c.body);
}

Result<Value> answer(const Case& c, bool expand, bool optimize) {
  const std::string text = document(c);
  ImportOptions options;
  options.expand_compounds = expand;
  NNEX_ASSIGN(ir::Graph graph, import_document(text, "graph.nnef", options));
  LoadOptions load;
  load.optimize = optimize;
  NNEX_ASSIGN(Model model, compile(std::move(graph), load));
  Session session = model.session();
  std::vector<Value> inputs;
  for (const auto& [name, t] : c.inputs) inputs.emplace_back(t);
  NNEX_ASSIGN(std::vector<Value> out, session.run(inputs));
  return std::move(out[0]);
}

void expect_near(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape()) << got.shape().text();
  for (int64_t i = 0; i < want.count(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (want.dtype() == DType::f32) {
      const float w = want.as<float>()[at];
      EXPECT_NEAR(got.as<float>()[at], w, 1e-5 * (1 + std::fabs(w))) << "element " << i;
    } else if (want.dtype() == DType::i64) {
      EXPECT_EQ(got.as<int64_t>()[at], want.as<int64_t>()[at]) << "element " << i;
    } else {
      EXPECT_EQ(got.as<bool>()[at], want.as<bool>()[at]) << "element " << i;
    }
  }
}

void check(const Case& c) {
  SCOPED_TRACE(c.name);
  for (bool optimize : {true, false}) {
    auto got = answer(c, false, optimize);
    ASSERT_TRUE(got.ok()) << got.error().text();
    expect_near(*got->tensor(), c.y);
  }
}

const Tensor kSix = reals({2, 3}, {1, 2, 3, 4, 5, 6});

std::vector<Case> arithmetic() {
  return {
      {"extents_meet_from_axis_0",
       {{"x", kSix}, {"z", reals({2}, {10, 20})}},
       "y = add(x, z);",
       reals({2, 3}, {11, 12, 13, 24, 25, 26})},
      {"a_number_stands_for_a_tensor", {{"x", kSix}}, "y = sub(1.0, x);", reals({2, 3}, {0, -1, -2, -3, -4, -5})},
      {"clamp_of_lower_rank",
       {{"x", kSix}, {"a", reals({2}, {2, 4.5})}},
       "y = clamp(x, a, 5.0);",
       reals({2, 3}, {2, 2, 3, 4.5, 5, 5})},
      {"crossed_limits_give_the_lower_one",
       {{"x", kSix}},
       "y = clamp(x, 4.0, 3.0);",
       reals({2, 3}, {4, 4, 4, 4, 4, 4})},
      {"select_over_three_ranks",
       {{"c", Tensor::of(Shape{2}, std::vector<bool>{true, false})}, {"x", kSix}},
       "y = select(c, x, 0.0);",
       reals({2, 3}, {1, 2, 3, 0, 0, 0})},
      {"round_is_half_up", {{"x", reals({4}, {-1.5, -0.5, 0.5, 2.5})}}, "y = round(x);", reals({4}, {-1, 0, 1, 3})},
      {"cast_goes_down",
       {{"x", reals({4}, {-1.5, -0.5, 0.5, 2.5})}},
       "y = cast<integer>(x);",
       integers({4}, {-2, -1, 0, 2})},
      {"sum_of_different_ranks",
       {{"x", kSix}, {"z", reals({2}, {10, 20})}},
       "y = add_n([x, z, 0.5]);",
       reals({2, 3}, {11.5, 12.5, 13.5, 24.5, 25.5, 26.5})},
      {"a_sum_of_one", {{"x", kSix}}, "y = add_n([x]);", kSix},
      {"normalized_sum", {{"x", kSix}}, "y = sum_reduce(x, axes = [1], normalize = true);", reals({2, 1}, {2, 5})},
      {"argmax_over_two_axes", {{"x", kSix}}, "y = argmax_reduce(x, axes = [0,1]);", integers({1, 1}, {5})},
      {"linear_bias_number",
       {{"x", kSix}, {"f", reals({1, 3}, {1, 1, 1})}},
       "y = linear(x, f, 0.5);",
       reals({2, 1}, {6.5, 15.5})},
      {"batch_normalization_by_channel",
       {{"x", kSix}, {"m", reals({1, 3}, {1, 2, 3})}},
       "y = batch_normalization(x, m, 3.0, 1.0, 2.0, epsilon = 1.0);",
       reals({2, 3}, {1, 1, 1, 4, 4, 4})},
      {"batch_normalization_by_item",
       {{"x", kSix}, {"m", reals({2}, {1, 4})}},
       "y = batch_normalization(x, m, 3.0, 1.0, 2.0, epsilon = 1.0);",
       reals({2, 3}, {1, 2, 3, 1, 2, 3})},
  };
}

std::vector<Case> moves() {
  return {
      {"transpose_of_a_prefix",
       {{"x", reals({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}},
       "y = transpose(x, axes = [1,0]);",
       reals({2, 2, 2}, {1, 2, 5, 6, 3, 4, 7, 8})},
      {"slice_to_the_end",
       {{"x", kSix}},
       "y = slice(x, axes = [1], begin = [1], end = [0]);",
       reals({2, 2}, {2, 3, 5, 6})},
      {"slice_backwards",
       {{"x", kSix}},
       "y = slice(x, axes = [1], begin = [-1], end = [-4], stride = [-1]);",
       reals({2, 3}, {3, 2, 1, 6, 5, 4})},
      {"slice_backwards_to_an_ordinary_zero",
       {{"x", kSix}},
       "y = slice(x, axes = [1], begin = [2], end = [0], stride = [-1]);",
       reals({2, 2}, {3, 2, 6, 5})},
      {"copies", {{"x", kSix}}, "[a, b] = copy_n(x, times = 2); y = add(a, b);", reals({2, 3}, {2, 4, 6, 8, 10, 12})},
      {"split_and_stack",
       {{"x", kSix}},
       "[a, b] = split(x, axis = 1, ratios = [1,2]); c = tile(a, repeats = [1,2]); y = stack([b, c], axis = 0);",
       reals({2, 2, 2}, {2, 3, 5, 6, 1, 1, 4, 4})},
      {"pad_and_crop",
       {{"x", kSix}},
       "y = pad(x, padding = [(0,0),(1,-1)], border = 'reflect-even');",
       reals({2, 3}, {1, 1, 2, 4, 4, 5})},
      {"partial_reshape",
       {{"x", kSix}},
       "y = reshape(x, shape = [3,1], axis_start = 1);",
       reals({2, 3, 1}, {1, 2, 3, 4, 5, 6})},
      {"gather_has_no_negative_indices",
       {{"x", kSix}, {"i", integers({2}, {2, 0})}},
       "y = gather(x, i, axis = 1);",
       reals({2, 2}, {3, 1, 6, 4})},
      {"a_parameter_as_result_by_another_name", {{"x", kSix}}, "y = copy(x);", kSix},
      {"a_constant_as_result", {{"x", kSix}}, "y = constant(shape = [2], value = [0.5, 2.0]);", reals({2}, {0.5, 2})},
  };
}

const Tensor kLine = reals({1, 1, 4}, {1, 2, 3, 4});

std::vector<Case> windows() {
  return {
      {"conv_bias_of_one_number_for_two_channels",
       {{"x", kLine}, {"f", reals({2, 1, 1}, {1, 10})}, {"b", reals({1, 1}, {0.5})}},
       "y = conv(x, f, b);",
       reals({1, 2, 4}, {1.5, 2.5, 3.5, 4.5, 10.5, 20.5, 30.5, 40.5})},
      {"conv_pads_the_longer_side_after",
       {{"x", kLine}, {"f", reals({1, 1, 2}, {1, 10})}},
       "y = conv(x, f, 0.0);",
       reals({1, 1, 4}, {21, 32, 43, 4})},
      {"conv_border",
       {{"x", kLine}, {"f", reals({1, 1, 2}, {1, 10})}},
       "y = conv(x, f, border = 'replicate');",
       reals({1, 1, 4}, {21, 32, 43, 44})},
      {"deconv_to_an_asked_extent_with_padding",
       {{"x", reals({1, 1, 2}, {1, 2})}, {"f", reals({1, 1, 2}, {1, 10})}},
       "y = deconv(x, f, stride = [3], padding = [(0,0)], output_shape = [1,1,6]);",
       reals({1, 1, 6}, {1, 10, 0, 2, 20, 0})},
      {"deconv_automatic",
       {{"x", reals({1, 1, 2}, {1, 2})}, {"f", reals({1, 1, 3}, {1, 10, 100})}},
       "y = deconv(x, f, stride = [2]);",
       reals({1, 1, 4}, {1, 10, 102, 20})},
      {"max_pool_sees_zeros",
       {{"x", reals({1, 1, 3}, {-1, -2, -3})}},
       "y = max_pool(x, size = [1,1,3]);",
       reals({1, 1, 3}, {0, -1, 0})},
      {"max_pool_ignores",
       {{"x", reals({1, 1, 3}, {-1, -2, -3})}},
       "y = max_pool(x, size = [1,1,3], border = 'ignore');",
       reals({1, 1, 3}, {-1, -1, -2})},
      {"max_pool_replicates",
       {{"x", reals({1, 1, 3}, {-3, -2, -1})}},
       "y = max_pool(x, size = [1,1,3], border = 'replicate', padding = [(0,0),(0,0),(2,0)]);",
       reals({1, 1, 3}, {-3, -2, -1})},
      {"avg_pool_reflects",
       {{"x", kLine}},
       "y = avg_pool(x, size = [1,1,2], border = 'reflect', padding = [(0,0),(0,0),(1,0)]);",
       reals({1, 1, 4}, {1.5, 1.5, 2.5, 3.5})},
      {"avg_pool_ignores",
       {{"x", kLine}},
       "y = avg_pool(x, size = [1,1,3], border = 'ignore');",
       reals({1, 1, 4}, {1.5, 2, 3, 3.5})},
      {"argmax_pool",
       {{"x", kLine}},
       "y = argmax_pool(x, size = [1,1,2], stride = [1,1,2]);",
       integers({1, 1, 2}, {1, 1})},
      {"sample_takes_back_what_argmax_found",
       {{"x", reals({1, 1, 4}, {5, 2, 3, 4})}},
       "(m, i) = max_pool_with_index(x, size = [1,1,2], stride = [1,1,2], border = 'ignore'); "
       "y = sample(x, i, size = [1,1,2], stride = [1,1,2]);",
       reals({1, 1, 2}, {5, 4})},
      {"desample_to_an_asked_extent",
       {{"x", reals({1, 1, 2}, {7, 8})}, {"i", integers({1, 1, 2}, {1, 0})}},
       "y = desample(x, i, size = [1,1,2], stride = [1,1,2], padding = [(0,0),(0,0),(0,0)], output_shape = [1,1,5]);",
       reals({1, 1, 5}, {0, 7, 8, 0, 0})},
      {"debox_normalizes",
       {{"x", reals({1, 1, 2}, {2, 4})}},
       "y = debox(x, size = [1,1,2], stride = [1,1,2], padding = [(0,0),(0,0),(0,0)], normalize = true);",
       reals({1, 1, 4}, {1, 1, 2, 2})},
      {"nearest_downsample", {{"x", kLine}}, "y = nearest_downsample(x, factor = [2]);", reals({1, 1, 2}, {1, 3})},
      {"area_downsample", {{"x", kLine}}, "y = area_downsample(x, factor = [2]);", reals({1, 1, 2}, {1.5, 3.5})},
      {"nearest_upsample",
       {{"x", reals({1, 1, 2}, {1, 2})}},
       "y = nearest_upsample(x, factor = [3]);",
       reals({1, 1, 6}, {1, 1, 1, 2, 2, 2})},
      {"aligned_upsample_of_one_element",
       {{"x", reals({1, 1, 1}, {3})}},
       "y = multilinear_upsample(x, factor = [3], method = 'aligned', border = 'constant');",
       reals({1, 1, 3}, {3, 3, 3})},
      {"max_roi_pool",
       {{"x", reals({1, 1, 2, 2}, {1, 2, 3, 4})}, {"r", reals({1, 4}, {0, 0, 2, 2})}, {"b", integers({1, 1}, {0})}},
       "y = max_roi_pool(x, r, b, output_size = [1,2]);",
       reals({1, 1, 1, 2}, {3, 4})},
  };
}

TEST(NnefLower, Arithmetic) {
  for (const Case& c : arithmetic()) check(c);
}
TEST(NnefLower, Moves) {
  for (const Case& c : moves()) check(c);
}
TEST(NnefLower, Windows) {
  for (const Case& c : windows()) check(c);
}

/// What the standard's bodies compute is what one row of the table computes.
TEST(NnefLower, CompoundsAreTheirBodies) {
  const Tensor x = reals({1, 2, 3}, {-2, -0.5, 0, 0.25, 1, 3});
  const Tensor square = reals({1, 2, 2, 2}, {-2, -0.5, 0.125, 0.25, 1, 3, -1, 4});
  const Tensor plane = reals({2, 1, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), point = reals({2, 2, 1, 1}, {1, -1, 2, 0.5});
  const Tensor rois = reals({1, 4}, {0, 0, 2, 2}), index = integers({1, 1}, {0});
  const std::vector<Case> cases = {
      {"sigmoid", {{"x", x}}, "y = sigmoid(x);", {}},
      {"relu", {{"x", x}}, "y = relu(x);", {}},
      {"softplus", {{"x", x}}, "y = softplus(x);", {}},
      {"silu", {{"x", x}}, "y = silu(x);", {}},
      {"gelu", {{"x", x}}, "y = gelu(x);", {}},
      {"elu", {{"x", x}}, "y = elu(x, alpha = 0.5);", {}},
      {"selu", {{"x", x}}, "y = selu(x);", {}},
      {"prelu", {{"x", x}, {"a", reals({1, 2}, {0.5, 0.25})}}, "y = prelu(x, a);", {}},
      {"leaky_relu", {{"x", x}}, "y = leaky_relu(x, alpha = 0.125);", {}},
      {"sqr", {{"x", x}}, "y = sqr(x);", {}},
      {"rsqrt", {{"x", reals({3}, {1, 4, 9})}}, "y = rsqrt(x);", {}},
      {"min", {{"x", x}}, "y = min(x, 0.5);", {}},
      {"clamp", {{"x", x}}, "y = clamp(x, -1.0, 1.0);", {}},
      {"softmax", {{"x", x}}, "y = softmax(x, axes = [1,2]);", {}},
      {"moments", {{"x", x}}, "(m, v) = moments(x, axes = [2]); y = add(m, v);", {}},
      {"mean_reduce", {{"x", x}}, "y = mean_reduce(x, axes = [2]);", {}},
      {"avg_pool", {{"x", x}}, "y = avg_pool(x, size = [1,1,2]);", {}},
      {"rms_pool", {{"x", x}}, "y = rms_pool(x, size = [1,1,2]);", {}},
      {"max_pool", {{"x", x}}, "y = max_pool(x, size = [1,1,2]);", {}},
      {"nearest_downsample", {{"x", square}}, "y = nearest_downsample(x, factor = [2,1]);", {}},
      {"area_downsample", {{"x", square}}, "y = area_downsample(x, factor = [2,1]);", {}},
      {"nearest_upsample", {{"x", square}}, "y = nearest_upsample(x, factor = [2,3]);", {}},
      {"linear", {{"x", kSix}, {"f", reals({1, 3}, {1, 2, 3})}}, "y = linear(x, f, 0.5);", {}},
      {"local_response", {{"x", x}}, "y = local_response_normalization(x, size = [1,2,1], alpha = 0.5);", {}},
      {"local_mean", {{"x", x}}, "y = local_mean_normalization(x, size = [1,1,3]);", {}},
      {"local_variance", {{"x", x}}, "y = local_variance_normalization(x, size = [1,1,3], bias = 0.5);", {}},
      {"local_contrast", {{"x", x}}, "y = local_contrast_normalization(x, size = [1,1,3], bias = 0.5);", {}},
      {"l1", {{"x", x}}, "y = l1_normalization(x, axes = [2], bias = 0.5);", {}},
      {"l2", {{"x", x}}, "y = l2_normalization(x, axes = [1], epsilon = 0.25);", {}},
      {"batch_normalization",
       {{"x", x}, {"m", reals({1, 2}, {0.5, 1})}},
       "y = batch_normalization(x, m, 2.0, 0.25, 1.5, epsilon = 0.001);",
       {}},
      {"separable_conv",
       {{"x", square}, {"p", plane}, {"q", point}},
       "y = separable_conv(x, p, q, 0.5, stride = [2,1]);",
       {}},
      {"separable_deconv",
       {{"x", square}, {"p", plane}, {"q", point}},
       "y = separable_deconv(x, p, q, 0.5, stride = [2,1]);",
       {}},
      {"min_max_linear_quantize",
       {{"x", x}},
       "y = min_max_linear_quantize(x, -1.0, 1.0, bits = 3, signed = true, symmetric = true);",
       {}},
      {"linear_quantize", {{"x", x}}, "y = linear_quantize(x, -1.0, 1.0, bits = 3);", {}},
      {"zero_point_linear_quantize",
       {{"x", x}},
       "y = zero_point_linear_quantize(x, 1, 0.25, bits = 4, signed = true, symmetric = false);",
       {}},
      {"logarithmic_quantize", {{"x", x}}, "y = logarithmic_quantize(x, 3.0, bits = 3);", {}},
      {"avg_roi_align",
       {{"x", square}, {"r", rois}, {"b", index}},
       "y = avg_roi_align(x, r, b, output_size = [2,1], sampling_rate = [1,2]);",
       {}},
      {"add_n", {{"x", x}}, "y = add_n([x, x, 1.0]);", {}},
      {"copy_n", {{"x", x}}, "[a, b] = copy_n(x, times = 2); y = sub(a, b);", {}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    auto whole = answer(c, false, true), parts = answer(c, true, true);
    ASSERT_TRUE(whole.ok()) << whole.error().text();
    ASSERT_TRUE(parts.ok()) << parts.error().text();
    expect_near(*parts->tensor(), *whole->tensor());
  }
}

TEST(NnefLower, InputsAreInTheHeadersOrder) {
  const std::string text =
      "version 1.0;\ngraph net(a, b) -> (y, a2) { b = external(shape = [1]); a = external(shape = [2]); "
      "y = add(a, b); a2 = copy(a); }";
  auto graph = import_document(text, "graph.nnef");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  auto model = compile(std::move(graph).value());
  ASSERT_TRUE(model.ok()) << model.error().text();
  ASSERT_EQ(model->inputs().size(), 2u);
  EXPECT_EQ(model->inputs()[0].name, "a");
  EXPECT_EQ(model->outputs()[1].name, "a2");
}

TEST(NnefLower, CustomOperationsAreNamed) {
  const std::string text =
      "version 1.0;\nextension KHR_enable_fragment_definitions;\n"
      "fragment mystery(x: tensor<scalar>, k: integer) -> (y: tensor<scalar>);\n"
      "graph net(x) -> (y) { x = external(shape = [2,3]); y = mystery(x, k = 3); }";
  auto graph = import_document(text, "graph.nnef");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  auto model = compile(std::move(graph).value());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code(), Code::unsupported);
  EXPECT_NE(model.error().text().find("mystery"), std::string::npos) << model.error().text();
}

TEST(NnefLower, MissingWeightsAreSaidOrSeeded) {
  const std::string text =
      "version 1.0;\ngraph net(x) -> (y) { x = external(shape = [2,3]); w = variable(shape = [4,3], label = 'fc/w'); "
      "y = linear(x, w); }";
  auto graph = import_document(text, "graph.nnef");
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().text().find("fc/w"), std::string::npos) << graph.error().text();
  ImportOptions options;
  options.weight_seed = 1;
  EXPECT_TRUE(import_document(text, "graph.nnef", options).ok());
}

// ---- Integers of 32 bits

/// A document with the extension; `x` is its external, `y` its result.
std::string narrow_document(const std::string& body, const std::string& fragments = "") {
  return "version 1.0;\nextension NNEX_32_bit_integers;\n" +
         (fragments.empty() ? std::string() : "extension KHR_enable_fragment_definitions;\n" + fragments) +
         "graph net(x) -> (y) {\n  " + body + "\n}\n";
}

Result<Value> narrow_answer(const std::string& document, const Tensor& x) {
  NNEX_ASSIGN(ir::Graph graph, import_document(document, "graph.nnef", {}));
  NNEX_ASSIGN(Model model, compile(std::move(graph)));
  const Value in(x);
  NNEX_ASSIGN(std::vector<Value> out, model.session().run(std::span<const Value>(&in, 1)));
  return std::move(out[0]);
}

/// Externals, constants, literals, casts, rows that make 64 bits elsewhere, and operations of the engine's own.
TEST(NnefIntegers32, EveryIntegerHas32Bits) {
  const Tensor x = Tensor::of<int32_t>(Shape{2}, {3, -7});
  auto y =
      narrow_answer(narrow_document("x = external<integer>(shape = [2]); c = constant<integer>(shape = [1], value = "
                                    "[-2147483648]); y = concat([c, x], axis = 0);"),
                    x);
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_EQ(y->text(), Value(Tensor::of<int32_t>(Shape{3}, {INT32_MIN, 3, -7})).text());
  EXPECT_EQ(ints_of(*y->tensor()), (Ints{INT32_MIN, 3, -7}));

  y = narrow_answer(narrow_document("x = external(shape = [1, 3]); y = argmax_reduce(x, axes = [1]);"),
                    Tensor::of<float>(Shape{1, 3}, {1, 5, 2}));
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_EQ(y->tensor()->dtype(), DType::i32);
  EXPECT_EQ(ints_of(*y->tensor()), Ints{1});

  y = narrow_answer(narrow_document("x = external<integer>(shape = [2]); y = nnex_add(x, 5);",
                                    "fragment nnex_add(a: tensor<integer>, b: tensor<integer>) -> (y: "
                                    "tensor<integer>);\n"),
                    x);
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_EQ(y->tensor()->dtype(), DType::i32);
  EXPECT_EQ(ints_of(*y->tensor()), (Ints{8, -2}));
}

TEST(NnefIntegers32, WhatNeedsMoreIsRefused) {
  const char* const bodies[] = {
      "x = external<integer>(shape = [1]); c = constant<integer>(shape = [1], value = [2147483648]); y = concat([x, "
      "c], "
      "axis = 0);",
      "x = external<integer>(shape = [1]); y = nnex_add(x, -2147483649);",
  };
  for (const char* body : bodies) {
    const std::string text =
        narrow_document(body, "fragment nnex_add(a: tensor<integer>, b: tensor<integer>) -> (y: tensor<integer>);\n");
    auto graph = import_document(text, "graph.nnef", {});
    ASSERT_FALSE(graph.ok()) << body;
    EXPECT_EQ(graph.error().message().substr(0, 4), "S18:") << graph.error().text();
    Faults faults;
    std::vector<std::string> notes;
    EXPECT_TRUE(check_document(text, "graph.nnef", {}, faults, notes).ok());
    EXPECT_EQ(faults.count(), 1U) << body;
  }
  auto wide = as_integers32(Tensor::of<int64_t>(Shape{2}, {1, int64_t{1} << 31}));
  ASSERT_FALSE(wide.ok());
  EXPECT_NE(wide.error().message().find("item 1 is 2147483648"), std::string::npos);
  auto unknown = import_document(
      "version 1.0;\nextension NNEX_16_bit_integers;\ngraph net(x) -> (y) {\n  x = "
      "external(shape = [1]); y = copy(x);\n}\n",
      "graph.nnef", {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message().find("NNEX_32_bit_integers"), std::string::npos) << unknown.error().text();
}

/// "-" and "i64[0]" in the words of an operation of the engine's own stand for inputs that the call does not have.
TEST(NnefIntegers32, WordsOfCustomOperations) {
  const auto document = [](const std::string& types, const std::string& more = "keepdims = false, ") {
    return narrow_document("x = external<integer>(shape = [2]); y = nnex_sum_reduce(x, " + more +
                               "when_empty = 'none', element_types = '" + types + "');",
                           "fragment nnex_sum_reduce(a: tensor<integer>, keepdims: logical, when_empty: string, "
                           "element_types: string) -> (y: tensor<integer>);\n");
  };
  const Tensor x = Tensor::of<int32_t>(Shape{2}, {3, -7});
  auto y = narrow_answer(document("i32 i64[0] -> i32"), x);
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_EQ(ints_of(*y->tensor()), (Ints{3, -7}));
  y = narrow_answer(document("i32 - -> i32"), x);
  ASSERT_TRUE(y.ok()) << y.error().text();
  for (const char* wrong :
       {"i32 i64 -> i32", "i32", "i32 i64[0 -> i32", "i32 i64[] -> i32", "i32 i64[1] -> i32", "i32 i64[-1,0] -> i32",
        "i32 i64[9999999999,0] -> i32", "i32 i64[0,] -> i32", "i32 -> i32[0]", "- -> i32", "i32 -> i32 -> i32",
        "i32 x[0] -> i32", "i32 none[0] -> i32", "i32 -> i64"}) {
    auto graph = import_document(document(wrong), "graph.nnef", {});
    EXPECT_FALSE(graph.ok()) << wrong;
  }
}

}  // namespace
}  // namespace nnex::nnef_format
