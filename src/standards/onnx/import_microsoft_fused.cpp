// Operators of the domain com.microsoft that are several of the standard's in one: a bias before, an activation behind.

#include <algorithm>

#include "ops/activation.h"
#include "ops/join.h"
#include "ops/softmax.h"
#include "standards/onnx/import_microsoft.h"

namespace nnex::onnx_format {
namespace microsoft {
namespace {

/// Input + bias + skip.
Result<Quirked> bias_add(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1, 2}));
  n.bind(0, plus(n, plus(n, n.in[0], 1), 2));
  return Quirked::done;
}

/// What training drops stays: input + bias + residual, and a mask of what is kept.
Result<Quirked> bias_dropout(NodeImport& n) {
  enum : size_t { kX, kBias, kResidual, kRatio, kTraining };
  NNEX_TRY(needs(n, {kX, kBias}));
  if (n.has(kTraining)) {
    const Tensor* const training = n.constant(kTraining);
    if (!training || training->dtype() != DType::boolean || training->as<bool>()[0])
      return lacks(n, "a training_mode that is no constant false");
  }
  n.bind(0, plus(n, plus(n, n.in[kX], kBias), kResidual));
  const ValueId kept = n.b.constant(Tensor::of<bool>(Shape{}, {true}));
  if (n.wants(1)) n.bind(1, n.b("expand", {kept, n.b("shape", {n.in[kX]})}));
  return Quirked::done;
}

/// The bias has the axes of x, some of extent 1.
Result<Quirked> bias_softmax(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  SoftmaxAttrs a;
  a.axes = {n.integer("axis", 1)}, a.to_end = true;
  n.bind(0, n.b("softmax", {plus(n, n.in[0], 1)}, a));
  return Quirked::done;
}

/// Of x + bias the left half times the GELU of the right one.
Result<Quirked> bias_split_gelu(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  SplitAttrs a;
  a.axis = -1, a.ratios = {1, 1};
  const NodeId parts = n.b.node(op("split"), {plus(n, n.in[0], 1)}, 2, std::make_shared<SplitAttrs>(a));
  const std::vector<ValueId> half = n.importer.graph()[parts].out;
  n.bind(0, n.b("mul", {half[0], n.b("gelu", {half[1]}, GeluAttrs{GeluForm::erf})}));
  return Quirked::done;
}

Result<Quirked> gemm_fast_gelu(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  const ValueId product = plus(n, n.b("matmul", {n.in[0], n.in[1]}), 2);
  n.bind(0, n.b("gelu", {product}, GeluAttrs{GeluForm::tanh}));
  return Quirked::done;
}

/// alpha A B, then an operator of the standard with its attributes.
Result<Quirked> matmul_activation(NodeImport& n) {
  constexpr std::string_view kActivations[] = {"Elu",      "HardSigmoid", "LeakyRelu", "LogSoftmax",
                                               "Relu",     "Selu",        "Sigmoid",   "Softmax",
                                               "Softplus", "Softsign",    "Tanh",      "ThresholdedRelu"};
  const std::string name = n.word("activation", "");
  if (std::find(std::begin(kActivations), std::end(kActivations), name) == std::end(kActivations))
    return lacks(n, fmt::format("activation '{}'", name));
  NNEX_ASSIGN(const ValueId product, fused_product(n));
  for (std::string_view own : {"activation", "alpha", "transA", "transB", "transBatchA", "transBatchB"}) n.drop(own);
  for (std::string_view own : {"alpha", "axis", "beta", "gamma"}) {
    const std::string theirs = fmt::format("activation_{}", own);
    if (const AttrValue* const value = n.find(theirs)) n.set(own, *value);
    n.drop(theirs);
  }
  NNEX_ASSIGN(const ValueId y, n.importer.standard_result(n, name, {product}));
  n.bind(0, y);
  return Quirked::done;
}

/// x * cos + (x with its halves exchanged, one negated) * sin, of angles; of queries and of keys.
Result<Quirked> gemma_rotary(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1, 2, 3, 4}));
  const DType type = real_type(n, 1);
  const auto of_angles = [&](std::string_view row) {
    const ValueId y = n.b(row, {n.in[0]});
    return n.b("unsqueeze", {real_type(n, 0) == type ? y : cast_to(n, y, type), n.b.ints({1})});
  };
  const ValueId cos = of_angles("cos"), sin = of_angles("sin");
  const auto turned = [&](size_t x) {
    return n.b("add", {n.b("mul", {n.in[x], cos}), n.b("mul", {n.in[x + 1], sin})});
  };
  n.bind(0, turned(1));
  n.bind(1, turned(3));
  return Quirked::done;
}

// Not read: where the bias is stretched (is_inner_broadcast), which its extents say; seeds of what is not drawn.
constexpr QuirkRow kFusedRows[] = {
    {"BiasAdd", bias_add, kDomain, "1 T T T > T"},
    {"BiasDropout", bias_dropout, kDomain, "1 T T T? T1? T2? > T T2? | seed:i"},
    {"BiasSoftmax", bias_softmax, kDomain, "1 T T > T | axis:i is_inner_broadcast:i"},
    {"BiasSplitGelu", bias_split_gelu, kDomain, "1 T T > T"},
    {"FusedMatMulActivation", matmul_activation, kDomain,
     "1 T T > T | activation:s activation_alpha:f activation_axis:i activation_beta:f activation_gamma:f alpha:f "
     "transA:i transB:i transBatchA:i transBatchB:i"},
    {"GemmFastGelu", gemm_fast_gelu, kDomain, "1 T T T? > T"},
    {"GemmaRotaryEmbedding", gemma_rotary, kDomain, "1 U T T T T > T T"},
};

}  // namespace
}  // namespace microsoft

std::span<const QuirkRow> microsoft_fused_quirks() { return read_of<microsoft::kFusedRows>(); }

}  // namespace nnex::onnx_format
