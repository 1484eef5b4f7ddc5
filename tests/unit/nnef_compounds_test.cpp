// Compound operations give the same whole and lowered to the bodies by which the standard defines them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "nnex/model.h"
#include "run/compile.h"
#include "standards/nnef/import.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {
namespace {

/// Externals that every case may read: names, data-types, shapes, and the range of their numbers.
const struct {
  const char *name, *type;
  std::vector<int64_t> shape;
  double low, high;
} kInputs[] = {
    {"x", "scalar", {1, 4, 6, 6}, -2, 2},     {"p", "scalar", {1, 4, 6, 6}, 0.25, 2},
    {"a", "scalar", {1, 4}, 0.25, 1.5},       {"m", "scalar", {3, 4}, -1, 1},
    {"w", "scalar", {5, 4}, -1, 1},           {"b", "scalar", {1, 5}, -1, 1},
    {"plane", "scalar", {4, 1, 3, 3}, -1, 1}, {"point", "scalar", {6, 4, 1, 1}, -1, 1},
    {"six", "scalar", {1, 6}, -1, 1},         {"back", "scalar", {4, 5, 1, 1}, -1, 1},
    {"over", "scalar", {5, 1, 3, 3}, -1, 1},  {"regions", "scalar", {2, 4}, 0, 5},
    {"whose", "integer", {2, 1}, 0, 0},       {"zero", "integer", {1, 4}, 0, 3},
};

/// One call of each compound operation or more; `y`, and of those with two results `z`.
const struct {
  const char *operation, *call;
} kCalls[] = {
    {"sqr", "y = sqr(x);"},
    {"sqrt", "y = sqrt(p);"},
    {"rsqr", "y = rsqr(p);"},
    {"rsqrt", "y = rsqrt(p);"},
    {"log2", "y = log2(p);"},
    {"min", "y = min(x, a);"},
    {"max", "y = max(x, a);"},
    {"clamp", "y = clamp(x, -0.5, a);"},
    {"nearest_downsample", "y = nearest_downsample(x, factor = [2, 3]);"},
    {"area_downsample", "y = area_downsample(x, factor = [2, 3]);"},
    {"nearest_upsample", "y = nearest_upsample(x, factor = [2, 3]);"},
    {"mean_reduce", "y = mean_reduce(x, axes = [2, 3]);"},
    {"moments", "y, z = moments(x, axes = [0, 2, 3]);"},
    {"avg_roi_align", "y = avg_roi_align(x, regions, whose, output_size = [2, 3], sampling_rate = [2, 1]);"},
    {"max_roi_align",
     "y = max_roi_align(x, regions, whose, output_size = [2, 2], sampling_rate = [2, 2], resize_method = "
     "'asymmetric');"},
    {"linear", "y = linear(m, w, b);"},
    {"linear", "y = linear(m, w);"},
    {"separable_conv", "y = separable_conv(x, plane, point, six);"},
    {"separable_conv", "y = separable_conv(x, plane, point, padding = [(1, 0), (0, 2)], stride = [2, 1]);"},
    {"separable_deconv", "y = separable_deconv(x, over, back, b, stride = [2, 2]);"},
    {"sigmoid", "y = sigmoid(x);"},
    {"relu", "y = relu(x);"},
    {"prelu", "y = prelu(x, a);"},
    {"leaky_relu", "y = leaky_relu(x, alpha = 0.1);"},
    {"elu", "y = elu(x);"},
    {"elu", "y = elu(x, alpha = 0.5);"},
    {"selu", "y = selu(x);"},
    {"gelu", "y = gelu(x);"},
    {"silu", "y = silu(x);"},
    {"softmax", "y = softmax(x);"},
    {"softmax", "y = softmax(x, axes = [1, 3]);"},
    {"softplus", "y = softplus(x);"},
    {"softplus", "large = mul(x, 1000.0); y = softplus(large);"},
    {"max_pool_with_index", "y, z = max_pool_with_index(x, size = [1, 1, 3, 2], stride = [1, 1, 2, 2]);"},
    {"max_pool", "y = max_pool(x, size = [1, 1, 3, 3], border = 'replicate', dilation = [1, 1, 2, 1]);"},
    {"avg_pool", "y = avg_pool(x, size = [1, 1, 3, 3], border = 'ignore');"},
    {"avg_pool", "y = avg_pool(x, size = [1, 2, 3, 3], padding = [(0, 0), (0, 0), (1, 0), (0, 2)]);"},
    {"rms_pool", "y = rms_pool(x, size = [1, 1, 2, 3], border = 'reflect');"},
    {"local_response_normalization",
     "y = local_response_normalization(x, size = [1, 3, 1, 1], alpha = 0.5, beta = 0.75, bias = 1.5);"},
    {"local_mean_normalization", "y = local_mean_normalization(x, size = [1, 1, 3, 3]);"},
    {"local_variance_normalization",
     "y = local_variance_normalization(x, size = [1, 1, 3, 3], bias = 0.1, epsilon = 0.5);"},
    {"local_contrast_normalization", "y = local_contrast_normalization(x, size = [1, 3, 3, 1], bias = 0.5);"},
    {"l1_normalization", "y = l1_normalization(x, axes = [1], bias = 0.5);"},
    {"l2_normalization", "y = l2_normalization(x, axes = [1, 2], epsilon = 2.0);"},
    {"batch_normalization", "y = batch_normalization(x, a, a, 0.5, a, epsilon = 0.01);"},
    {"batch_normalization", "y = batch_normalization(x, p, p, a, p, epsilon = 0.01);"},
    {"min_max_linear_quantize", "y = min_max_linear_quantize(x, -1.0, a, bits = 4, signed = true, symmetric = true);"},
    {"min_max_linear_quantize",
     "y = min_max_linear_quantize(x, -1.5, 1.25, bits = 5, signed = true, symmetric = false);"},
    {"zero_point_linear_quantize",
     "y = zero_point_linear_quantize(x, zero, 0.25, bits = 3, signed = true, symmetric = false);"},
    {"zero_point_linear_quantize",
     "y = zero_point_linear_quantize(x, 1, a, bits = 4, signed = false, symmetric = false);"},
    {"linear_quantize", "y = linear_quantize(x, -1.0, 1.0, bits = 3);"},
    {"logarithmic_quantize", "y = logarithmic_quantize(x, a, bits = 3);"},
    {"copy_n", "[y, z] = copy_n(x, times = 2);"},
    {"add_n", "y = add_n([x, p, a]);"},
};

/// Numbers of the input's range, the same each time, with no number twice.
Tensor numbers(size_t input) {
  const auto& in = kInputs[input];
  const bool whole = std::string_view(in.type) == "integer";
  Tensor t = *Tensor::make(whole ? DType::i64 : DType::f32, Shape(in.shape));
  uint64_t state = input * 977 + 1;
  for (int64_t i = 0; i < t.count(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double unit = static_cast<double>(state >> 11) * 0x1p-53;
    if (whole)
      set_int(t, i, static_cast<int64_t>(in.low + unit * (in.high - in.low)));
    else
      set_real(t, i, in.low + unit * (in.high - in.low));
  }
  return t;
}

/// Regions: y0, x0 and what lies beyond them.
Tensor regions() { return Tensor::of(Shape{2, 4}, std::vector<float>{0.5f, 1, 4.25f, 5, 1, 0, 5, 3.5f}); }

std::vector<Value> run(const std::string& call, const EvaluateOptions& language) {
  const bool two = call.find('z') < call.find('=');
  std::string externals, names;
  std::vector<Value> inputs;
  for (size_t i = 0; i < std::size(kInputs); ++i) {
    const auto& in = kInputs[i];
    names += fmt::format("{}{}", i ? ", " : "", in.name);
    externals += fmt::format("{} = external<{}>(shape = [{}]);\n", in.name, in.type, fmt::join(in.shape, ", "));
    inputs.emplace_back(std::string_view(in.name) == "regions" ? regions() : numbers(i));
  }
  ImportOptions options;
  options.language = language;
  auto graph = import_document(
      fmt::format("version 1.0;\ngraph net({}) -> (y{}) {{\n{}{}\n}}\n", names, two ? ", z" : "", externals, call),
      "graph.nnef", options);
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  if (!graph.ok()) return {};
  auto model = compile(std::move(graph).value());
  EXPECT_TRUE(model.ok()) << model.error().text();
  if (!model.ok()) return {};
  Session session = model->session();
  auto out = session.run(inputs);
  EXPECT_TRUE(out.ok()) << out.error().text();
  return out.ok() ? std::move(out).value() : std::vector<Value>();
}

void expect_same(const std::vector<Value>& got, const std::vector<Value>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t o = 0; o < want.size(); ++o) {
    const Tensor &x = *got[o].tensor(), &y = *want[o].tensor();
    ASSERT_EQ(x.dtype(), y.dtype());
    ASSERT_EQ(x.shape().text(), y.shape().text());
    for (int64_t i = 0; i < y.count(); ++i)
      ASSERT_NEAR(real_at(x, i), real_at(y, i), is_real(y.dtype()) ? 2e-5 * (1 + std::fabs(real_at(y, i))) : 0)
          << "output " << o << ", element " << i;
  }
}

TEST(NnefCompounds, OneBodyAndAllBodiesGiveWhatTheWholeGives) {
  for (const auto& c : kCalls) {
    SCOPED_TRACE(c.call);
    const std::vector<Value> whole = run(c.call, {});
    ASSERT_FALSE(whole.empty());
    EvaluateOptions one, all;
    one.expanded = [&](const Declaration& d) { return d.name == c.operation; };
    all.expanded = [](const Declaration&) { return true; };
    expect_same(run(c.call, one), whole);
    expect_same(run(c.call, all), whole);
  }
}

TEST(NnefCompounds, EveryCompoundOfTheStandardIsThere) {
  std::set<std::string_view> called;
  for (const auto& c : kCalls) called.insert(c.operation);
  int compounds = 0;
  for (const Declaration& d : standard_operations()) {
    if (!d.body) continue;
    ++compounds;
    EXPECT_TRUE(called.count(d.name)) << d.name;
  }
  EXPECT_EQ(called.size(), static_cast<size_t>(compounds));
}

}  // namespace
}  // namespace nnex::nnef_format
