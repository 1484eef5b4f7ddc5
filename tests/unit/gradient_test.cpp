// Derivatives against differences: every rule of passes/derivatives.cpp, the broadcasts and the compound operators.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/text/build.h"
#include "nnex/model.h"
#include "passes/derivatives.h"
#include "run/compile.h"
#include "share.h"

namespace nnex::passes {
namespace {

/// z from x, f64[2,3] with elements in (0.2, 0.9), and w, with elements in (0.3, 1).
struct Function {
  std::string_view body;
  std::string_view w = "f64[2,3]";
  std::string_view x = "f64[2,3]";
};

constexpr Function kFunctions[] = {
    {"z = x + w;"},
    {"z = x - w;", "f64[3]"},
    {"z = x * w;", "f64[2,1]"},
    {"z = x / w;", "f64[1,3]"},
    {"z = w / x;", "f64[]"},
    {"z = min(x, w);"},
    {"z = max(x, w);", "f64[4,1,1]"},
    {"z = pow(x, w);", "f64[3]"},
    {"z = pow(x, 3.0) * w;"},
    {"z = add_n(x, w, x);"},
    {"z = clamp(x, 0.4, 0.6) * w;"},
    {"z = select(x < w, x * x, w);"},
    {"z = copy(x) * neg(w);"},
    {"z = abs(x - 0.5) * w;"},
    {"z = x * sign(w) + x * floor(w) + x * ceil(w) + x * round(w);"},
    {"z = sqr(x) + rcp(w);"},
    {"z = sqrt(x) + rsqr(w) + rsqrt(x);"},
    {"z = exp(x) + log(w) + log2(x);"},
    {"z = sin(x) * cos(w) + tan(x);"},
    {"z = asin(x) + acos(x) + atan(w);"},
    {"z = sinh(x) * cosh(w) * tanh(x);"},
    {"z = asinh(x) + acosh(w + 1.0) + atanh(x);"},
    {"z = erf(x) * affine(w, alpha = 2.0, beta = 1.0);"},
    {"z = relu(x - 0.5) * sigmoid(w) + softplus(x);"},
    {"z = thresholded_relu(x, alpha = 0.5) + shrink(w, lambda = 0.5, bias = 0.1);"},
    {"z = gelu(x) + silu(w) + elu(x - 0.5) + selu(x - 0.5) + mish(w);"},
    {"z = gelu(x, form = 'tanh') + leaky_relu(w - 0.5, alpha = 0.1) + hard_swish(x) + celu(x - 0.5, alpha = 0.7);"},
    {"z = prelu(x - 0.5, w) + softsign(x) + hard_sigmoid(w, alpha = 0.3, beta = 0.5);"},
    {"z = matmul(x, w);", "f64[3,4]"},
    {"z = matmul(x, w, transposeB = true);", "f64[5,4,3]"},
    {"z = matmul(x, w, transposeA = true);", "f64[2,2]"},
    {"z = matmul(x, w, transposeA = true, transposeB = true);", "f64[4,2]"},
    {"z = matmul(x, w);", "f64[3]"},
    {"z = matmul(w, x);", "f64[2]"},
    {"z = matmul(w, squeeze(reshape(x, [1, 6]), axes = [0]));", "f64[6]"},
    {"z = linear(x, w, [[0.5, 0.25]], alpha = 2.0);", "f64[2,3]"},
    {"z = linear(w, x, w, transposeB = false, beta = 0.5);", "f64[2,2]", "f64[2,2]"},
    {"z = sum_reduce(x, axes = [0]) * w;", "f64[3]"},
    {"z = sum_reduce(x, axes = [1], keepdims = false) * w;", "f64[2]"},
    {"z = mean_reduce(x * w) + mean_reduce(x, axes = [-1], keepdims = false);", "f64[2,3]"},
    {"z = max_reduce(x, axes = [1], keepdims = false) * w + min_reduce(x);", "f64[2]"},
    {"z = reduce_prod(x, axes = [0], keepdims = false) + reduce_l1(w, axes = [0]);", "f64[2,3]"},
    {"z = reduce_l2(x, axes = [1], keepdims = false) + reduce_sum_square(w);"},
    {"z = reduce_log_sum(x, axes = [1], keepdims = false) + reduce_log_sum_exp(w, axes = [0], keepdims = false);",
     "f64[3,2]"},
    {"z = softmax(x, axes = [1]) * w + log_softmax(w, axes = [0]);"},
    {"z = reshape(x, [3, 2]) * flatten(transpose(w, axes = [1, 0]));"},
    {"z = unsqueeze(x, axes = [1]) * expand(w, [4, 2, 2, 3]);", "f64[2,1]"},
    {"z = concat(x, w, x, axis = -1);", "f64[2,1]"},
    {"(a, b) = split(x, sizes = [1, 2], axis = 1); z = a * b * w;", "f64[2,1]"},
    {"(a, b) = unstack(x, axis = 0); z = stack(a, a, b * w, axis = 1);", "f64[3]"},
    {"z = slice(x, [0, 0], [2, 3], [0, 1], [1, 2]) * slice(w, [1], [2], [1]);", "f64[1,2]"},
    {"z = gather(x, i64[4](2, 0, 0, -1), axis = 1) * w;", "f64[2,4]"},
    {"z = gather_elements(x, i64[1,3](1, 0, 1), axis = 0) * tile(w, [2, 3]);", "f64[1,1]"},
    {"z = reverse(x, axes = [1]) * transpose(w);", "f64[3,2]"},
    {"z = depth_to_space(x, block = 2) * w;", "f64[1,1,2,4]", "f64[1,4,1,2]"},
    {"z = space_to_depth(x, block = 2) + w;", "f64[1,4,1,1]", "f64[1,1,2,4]"},
    {"z = conv(x, w, [[0.5, 0.25]]);", "f64[2,2,3]", "f64[2,2,5]"},
    {"z = conv(x, w, padding = [(1, 0), (0, 2)], stride = [2, 1], dilation = [1, 2]);", "f64[2,1,2,3]", "f64[1,1,6,5]"},
    {"z = swiglu(x, w) + mean_variance_normalization(x, axes = [1]);"},
    {"z = cast(x, to = 'f64') * w;"},
};

Tensor numbers(const Type& t, double low, double high, uint32_t seed) {
  std::vector<int64_t> extents;
  for (const Dim& d : *t.dims) extents.push_back(d.value());
  Tensor out = std::move(Tensor::make(DType::f64, Shape(extents))).value();
  for (double& v : out.mutable_as<double>()) {
    seed = seed * 1664525U + 1013904223U;
    v = low + (high - low) * static_cast<double>(seed >> 8) / (1 << 24);
  }
  return out;
}

Result<std::vector<Value>> run(const std::string& text, const Tensor& x, const Tensor& w) {
  NNEX_ASSIGN(ir::Graph graph, graph_text::read_graph(text, "test"));
  NNEX_ASSIGN(Model model, compile(std::move(graph), {}));
  const std::vector<Value> inputs = {Value(x), Value(w)};
  return model.session().run(inputs);
}

/// The sum of squares of z, and perhaps its derivatives by x and w.
std::string graph_of(const Function& f, bool derived) {
  return fmt::format("graph g(x: {}, w: {}) -> (l{}) {{ {} l = sum_reduce(z * z, keepdims = false);{} }}", f.x, f.w,
                     derived ? ", dx, dw" : "", f.body,
                     derived ? " (dx, dw) = gradient(x, w, xs = ['x', 'w'], y = 'l');" : "");
}

double loss(const std::string& text, const Tensor& x, const Tensor& w) {
  auto out = run(text, x, w);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().text());
  return out.ok() ? (*out)[0].tensor()->as<double>()[0] : NAN;
}

/// Each derivative against (l(x + h) - l(x - h)) / 2 h.
void compare(const Function& f, const Tensor& x, const Tensor& w, bool by_x, const Tensor& derivative) {
  constexpr double h = 1e-5;
  const std::string plain = graph_of(f, false);
  const Tensor& of = by_x ? x : w;
  ASSERT_EQ(derivative.shape(), of.shape()) << f.body;
  for (int64_t i = 0; i < of.count(); i += test::share()) {
    double at[2];
    for (int side = 0; side < 2; ++side) {
      Tensor moved = std::move(of.clone()).value();
      moved.mutable_as<double>()[static_cast<size_t>(i)] += side ? h : -h;
      at[side] = by_x ? loss(plain, moved, w) : loss(plain, x, moved);
    }
    const double want = (at[1] - at[0]) / (2 * h);
    EXPECT_NEAR(derivative.as<double>()[static_cast<size_t>(i)], want, 1e-6 + 1e-6 * std::fabs(want))
        << f.body << " by " << (by_x ? "x" : "w") << ", element " << i;
  }
}

TEST(Gradient, AgreesWithDifferences) {
  uint32_t seed = 7;
  for (const Function& f : kFunctions) {
    auto x_type = graph_text::parse_type(f.x, "x"), w_type = graph_text::parse_type(f.w, "w");
    ASSERT_TRUE(x_type.ok() && w_type.ok());
    const Tensor x = numbers(*x_type, 0.2, 0.9, ++seed), w = numbers(*w_type, 0.3, 1, ++seed);
    auto out = run(graph_of(f, true), x, w);
    ASSERT_TRUE(out.ok()) << f.body << "\n" << out.error().text();
    compare(f, x, w, true, *(*out)[1].tensor());
    compare(f, x, w, false, *(*out)[2].tensor());
  }
}

TEST(Gradient, EveryRuleHasAFunction) {
  for (const OpDef* op : all_ops()) {
    if (!find_derivative(op->name)) continue;
    static constexpr std::string_view kSigns[][2] = {{"add", "+"}, {"sub", "-"}, {"mul", "*"}, {"div", "/"}};
    bool found = false;
    for (const Function& f : kFunctions) {
      found |= f.body.find(fmt::format("{}(", op->name)) != std::string_view::npos;
      for (const auto& [name, sign] : kSigns) found |= op->name == name && f.body.find(sign) != std::string_view::npos;
    }
    EXPECT_TRUE(found) << op->name;
  }
}

/// z's derivative by x at another point than z's own, with w held.
TEST(Gradient, TakesTheValuesItIsGiven) {
  const Function f{"z = x * x * w;", "f64[2,3]"};
  const Tensor x = numbers(*graph_text::parse_type(f.x, "x"), 0.2, 0.9, 3),
               w = numbers(*graph_text::parse_type(f.w, "w"), 0.3, 1, 4);
  auto out =
      run("graph g(x: f64[2,3], w: f64[2,3]) -> (z, d) { z = x * x * w; t = x + 1.0; "
          "d = gradient(t, w, xs = ['x'], zs = ['w'], y = 'z'); }",
          x, w);
  ASSERT_TRUE(out.ok()) << out.error().text();
  for (size_t i = 0; i < 6; ++i)
    EXPECT_DOUBLE_EQ((*out)[1].tensor()->as<double>()[i], 2 * (x.as<double>()[i] + 1) * w.as<double>()[i]);
}

TEST(Gradient, OfWhatDoesNotDependIsZero) {
  const Tensor x = numbers(*graph_text::parse_type("f64[2,3]", "x"), 0.2, 0.9, 3);
  auto out = run("graph g(x: f64[2,3], w: f64[2,3]) -> (d) { z = w * w; d = gradient(x, xs = ['x'], y = 'z'); }", x, x);
  ASSERT_TRUE(out.ok()) << out.error().text();
  for (double v : (*out)[0].tensor()->as<double>()) EXPECT_EQ(v, 0);
}

std::string fails(const std::string& text) {
  const Tensor x = numbers(*graph_text::parse_type("f64[2,3]", "x"), 0.2, 0.9, 3);
  auto out = run(text, x, x);
  return out.ok() ? "" : out.error().message();
}

TEST(Gradient, NamesWhatHasNoRule) {
  EXPECT_EQ(fails("graph g(x: f64[2,3], w: f64[2,3]) -> (d) { a = cum_sum(x, 1); z = l1_normalization(det(matmul(a, w, "
                  "transposeB = true)), axes = [0]); d = gradient(x, xs = ['x'], y = 'z'); }")
                .substr(0, 29),
            "no derivative of cum_sum, det");
  EXPECT_EQ(fails("graph g(x: f64[2,3], w: f64[2,3]) -> (d) { z = x + w; d = gradient(x, xs = ['x'], y = 'q'); }"),
            "gradient: no value is called 'q'");
}

}  // namespace
}  // namespace nnex::passes
