// Patterns as src/fusion finds them: which nodes, and what kernels are told. What becomes of whole networks stands in
// passes_test.

#include "fusion/fusion.h"

#include <gtest/gtest.h>

#include "base/faults.h"
#include "graph/infer.h"
#include "ops/matmul.h"
#include "ops/quantize.h"
#include "passes/pipeline.h"
#include "run/compile.h"

namespace nnex::fusion {
namespace {

struct Net {
  ir::Graph g;
  Builder b{g, kMain};

  ValueId input(Dims dims) { return g.add_param(kMain, "x", Type::tensor(DType::f32, std::move(dims))); }
  ValueId numbers(const Shape& shape, float first = 1) {
    Tensor t = std::move(Tensor::make(DType::f32, shape)).value();
    for (float& v : t.mutable_as<float>()) v = first, first = -first * 0.875F;
    return b.constant(std::move(t));
  }
  NodeId node_of(ValueId v) { return g[v].producer; }
  void infer(ValueId result) {
    g.set_results(kMain, {result});
    Faults faults;
    infer_types(g, faults);
    EXPECT_TRUE(faults.none());
  }
};

TEST(Fusion, AProductAndWhatEndsIt) {
  Net n;
  const ValueId x = n.input({2, 5, 8}), row = n.numbers({8});
  const ValueId product = n.b("matmul", {x, n.numbers({8, 8})});
  const ValueId sum = n.b("add", {n.b("add", {row, product}), x});
  const ValueId y = n.b("leaky_relu", {sum});
  n.infer(n.b("neg", {y}));
  const auto found = find_product(n.g, n.node_of(product));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->region.nodes.size(), 4U);
  EXPECT_EQ(found->region.nodes.back(), n.node_of(y));
  const auto* form = std::get_if<kernels::FusedProduct>(&found->form.form);
  ASSERT_TRUE(form);
  EXPECT_TRUE(form->product.as<MatmulAttrs>());
  EXPECT_FALSE(form->product.as<LinearAttrs>());
  EXPECT_EQ(form->end.x, found->region.input(x));
  EXPECT_EQ(form->end.residual, found->region.input(x));
  EXPECT_EQ(form->end.bias, found->region.input(row));
  EXPECT_EQ(form->end.activation.kind, kernels::UnaryKind::leaky_relu);
  EXPECT_FALSE(find_product(n.g, n.node_of(sum)));
}

TEST(Fusion, AChainCountsInputsBeforeSteps) {
  Net n;
  const ValueId x = n.input({4}), low = n.b.number(DType::f32, -1), other = n.numbers({4});
  const ValueId a = n.b("clamp", {x, low, n.b.number(DType::f32, 2)});
  const ValueId y = n.b("sub", {other, n.b("mul", {a, a})});
  n.infer(y);
  const auto found = find_chain(n.g, n.node_of(y));
  ASSERT_TRUE(found);
  const auto* form = std::get_if<kernels::FusedChain>(&found->form.form);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->inputs, (std::vector<int>{found->region.input(x), found->region.input(other)}));
  ASSERT_EQ(form->steps.size(), 3U);
  EXPECT_EQ(form->steps[0].unary.alpha, -1);
  EXPECT_EQ(form->steps[0].unary.beta, 2);
  EXPECT_EQ(std::pair(form->steps[1].a, form->steps[1].b), std::pair(int8_t{2}, int8_t{2}));
  EXPECT_EQ(std::pair(form->steps[2].a, form->steps[2].b), std::pair(int8_t{1}, int8_t{3}));
  EXPECT_EQ(form->steps[2].binary, kernels::BinaryKind::sub);
}

std::vector<float> answers(const ir::Graph& g, bool optimized) {
  LoadOptions options;
  options.optimize = optimized;
  auto model = compile(ir::Graph(g), options);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().text());
  auto session = model->session({});
  Tensor x = std::move(Tensor::make(DType::f32, Shape{3, 8})).value();
  float v = -2;
  for (float& to : x.mutable_as<float>()) to = v, v += 0.171F;
  std::vector<Value> in = {Value(x)};
  auto out = session.run(in);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().text());
  const auto y = (*out)[0].tensor()->as<float>();
  return {y.begin(), y.end()};
}

TEST(Fusion, ARegionWithoutAFormRunsNodeByNode) {
  Net n;
  const ValueId x = n.input({3, 8});
  const ValueId product = n.b("matmul", {x, n.numbers({8, 8}, 0.5)});
  n.g.set_results(kMain, {n.b("sigmoid", {n.b("add", {product, n.numbers({8})})})});
  ir::Graph g(n.g);
  ASSERT_TRUE(passes::prepare(g).ok());
  ASSERT_TRUE(passes::optimize(g, {}).ok());
  int regions = 0;
  for (NodeId id : g.order()) {
    if (!is_fused(*g[id].op)) continue;
    ASSERT_TRUE(g.attrs<FusedAttrs>(id).form);
    g.set_attrs(id, FusedAttrs{});
    ++regions;
  }
  EXPECT_EQ(regions, 1);
  const auto whole = answers(n.g, true), apart = answers(g, false);
  ASSERT_EQ(whole.size(), apart.size());
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], apart[i], 1e-6F) << i;
}

/// quantize(linear(dequantize(quantize(x)), dequantize(codes of w))); the columns of the product lie along axis 0 of w.
struct CodeNet : Net {
  explicit CodeNet(const LinearAttrs& a, int64_t scale_axis) {
    const ValueId zero = b.constant(Tensor::scalar<uint8_t>(120)), step = b.number(DType::f32, 0.05);
    Tensor codes = std::move(Tensor::make(DType::i8, Shape{8, 8})).value();
    for (int64_t i = 0; i < codes.count(); ++i) codes.mutable_data()[i] = static_cast<std::byte>(i * 37 % 101);
    DequantizeAttrs along;
    along.axis = scale_axis;
    const ValueId w = b("dequantize_linear", {b.constant(std::move(codes)), numbers_up({8})}, along);
    const ValueId x = b("quantize_linear", {input({3, 8}), step, zero}, QuantizeAttrs{});
    y = b("linear", {b("dequantize_linear", {x, step, zero}, DequantizeAttrs{}), w}, a);
    quantize = b("quantize_linear", {y, step, zero}, QuantizeAttrs{});
    infer(b("dequantize_linear", {quantize, step, zero}, DequantizeAttrs{}));
  }
  /// Each an eighth more than the one before.
  ValueId numbers_up(const Shape& shape) {
    Tensor t = std::move(Tensor::make(DType::f32, shape)).value();
    float v = 0.001F;
    for (float& to : t.mutable_as<float>()) to = v, v *= 1.125F;
    return b.constant(std::move(t));
  }
  ValueId y, quantize;
};

TEST(Fusion, ProductsOfCodes) {
  CodeNet n({}, 0);
  const auto found = find_bytes(n.g, n.node_of(n.quantize));
  ASSERT_TRUE(found);
  const auto* form = std::get_if<kernels::FusedByteProduct>(&found->form.form);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->x.zero, 120);
  EXPECT_EQ(form->scale.size(), 8U);
  EXPECT_EQ(std::pair(form->low, form->high), std::pair(0, 255));
}

/// No kernel has a factor: the product stays one of floats.
TEST(Fusion, ProductsThatNoKernelOfCodesHasAreNoRegion) {
  LinearAttrs a;
  a.alpha = 2;
  CodeNet n(a, 0);
  EXPECT_FALSE(find_bytes(n.g, n.node_of(n.quantize)));
}

/// A scale for each of what is summed, not for each column of the result.
TEST(Fusion, ScalesAlongAnotherAxisAreNoColumns) {
  CodeNet n({}, 1);
  EXPECT_FALSE(find_bytes(n.g, n.node_of(n.quantize)));
  const auto plain = answers(n.g, false), better = answers(n.g, true);
  ASSERT_EQ(plain.size(), better.size());
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(plain[i], better[i], 0.051F) << i;
}

}  // namespace
}  // namespace nnex::fusion
