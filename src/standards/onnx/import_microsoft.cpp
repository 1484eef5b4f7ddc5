// Operators of the domain com.microsoft, which tools of ONNX Runtime write into models that they optimise or quantise,
// and the two that they write into the standard domain. Each becomes rows that the table has. Source: ONNX Runtime's
// list of its contributed operators, version 1 of the domain. Attention stands in import_microsoft_attention.cpp,
// weights of few bits and numbers of 8 in import_microsoft_codes.cpp.

#include "standards/onnx/import_microsoft.h"

#include "base/function_ref.h"
#include "ops/activation.h"
#include "ops/codecs.h"
#include "ops/gather.h"
#include "ops/join.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/quantize.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/slice.h"

namespace nnex::onnx_format {
namespace microsoft {

Result<ValueId> activated(NodeImport& n, ValueId x, const std::string& name, const Reals& params) {
  const auto param = [&](size_t i, double otherwise) { return i < params.size() ? params[i] : otherwise; };
  if (name.empty()) return x;
  if (name == "Relu") return n.b("relu", {x});
  if (name == "Tanh") return n.b("tanh", {x});
  if (name == "Sigmoid") return n.b("sigmoid", {x});
  if (name == "LeakyRelu") return n.b("leaky_relu", {x}, LeakyReluAttrs{param(0, 0.01)});
  if (name == "HardSigmoid") return n.b("hard_sigmoid", {x}, HardSigmoidAttrs{param(0, 0.2), param(1, 0.5)});
  if (name == "Clip" && params.size() == 2) {
    const DType type = real_type(n, 0);
    return n.b("clamp", {x, n.b.number(type, params[0]), n.b.number(type, params[1])});
  }
  return lacks(n, fmt::format("activation '{}'", name));
}

Result<ValueId> fused_product(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  const auto operand = [&](size_t i, std::string_view first_behind) -> Result<ValueId> {
    if (!n.integer(first_behind, 0)) return n.in[i];
    const auto rank = n.rank(i);
    if (!rank || *rank < 2) return lacks(n, fmt::format("{} of an operand whose axes are not known", first_behind));
    TransposeAttrs a;  // the first axis goes behind those of the batch
    for (int64_t axis = 1; axis + 1 < *rank; ++axis) a.axes.push_back(axis);
    a.axes.insert(a.axes.end(), {0, *rank - 1});
    return n.b("transpose", {n.in[i]}, a);
  };
  NNEX_ASSIGN(const ValueId left, operand(0, "transBatchA"));
  NNEX_ASSIGN(const ValueId right, operand(1, "transBatchB"));
  MatmulAttrs a;
  a.transpose_a = n.integer("transA", 0) != 0, a.transpose_b = n.integer("transB", 0) != 0;
  ValueId y = n.b("matmul", {left, right}, a);
  if (const double alpha = n.real("alpha", 1); alpha != 1) y = n.b("mul", {y, n.b.number(real_type(n, 0), alpha)});
  return y;
}

namespace {

// ---- Activations

ValueId gelu(NodeImport& n, ValueId x, GeluForm form) { return n.b("gelu", {x}, GeluAttrs{form}); }

Result<Quirked> exact_gelu(NodeImport& n) {
  NNEX_TRY(needs(n, {0}));
  n.bind(0, gelu(n, plus(n, n.in[0], 1), GeluForm::erf));
  return Quirked::done;
}

Result<Quirked> fast_gelu(NodeImport& n) {
  NNEX_TRY(needs(n, {0}));
  n.bind(0, gelu(n, plus(n, n.in[0], 1), GeluForm::tanh));
  return Quirked::done;
}

Result<Quirked> quick_gelu(NodeImport& n) {
  NNEX_TRY(needs(n, {0}));
  n.bind(0, n.b("silu", {n.in[0]}, AlphaAttrs{n.real("alpha", 1.702)}));
  return Quirked::done;
}

// ---- Norms

LayerNormAttrs norm_attrs(const NodeImport& n, int64_t axis, double epsilon) {
  LayerNormAttrs a;
  a.axes = {axis}, a.to_end = true, a.epsilon = n.real("epsilon", epsilon);
  return a;
}

/// Mean and deviation are outputs for training alone.
Status no_statistics(const NodeImport& n, std::initializer_list<size_t> outputs) {
  for (size_t o : outputs)
    if (n.wants(o)) return lacks(n, fmt::format("output {}", o));
  return {};
}

/// LayerNormalization before opset 17, where the standard did not have it.
Result<Quirked> early_layer_norm(NodeImport& n) {
  if (n.version < 17) n.version = 17;
  return Quirked::no;
}

Result<Quirked> simplified_layer_norm(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  NNEX_TRY(no_statistics(n, {1}));
  n.bind(0, n.b("rms_normalization", {n.in[0], n.in[1]}, norm_attrs(n, n.integer("axis", -1), 1e-5)));
  return Quirked::done;
}

/// The norm of input + skip + bias; output 3 is the sum.
Result<Quirked> skip_norm(NodeImport& n, std::string_view row, size_t bias) {
  NNEX_TRY(needs(n, {0, 1, 2}));
  NNEX_TRY(no_statistics(n, {1, 2}));
  const ValueId sum = plus(n, n.b("add", {n.in[0], n.in[1]}), bias);
  std::vector<ValueId> in = {sum, n.in[2]};
  if (bias == 4 && n.has(3)) in.push_back(n.in[3]);
  n.bind(0, n.b(row, std::move(in), norm_attrs(n, -1, 1e-12)));
  n.bind(3, sum);
  return Quirked::done;
}
Result<Quirked> skip_layer_norm(NodeImport& n) { return skip_norm(n, "layer_normalization", 4); }
Result<Quirked> skip_simplified_norm(NodeImport& n) { return skip_norm(n, "rms_normalization", 3); }

/// Rows of up to three tables at inputs 2 to 4, added and normalised by inputs 5 and 6. real(i, v): v of input i, or
/// rows of it, as reals; `positions`: the input that says which rows of the second table, where there is one.
Result<Quirked> embed_layer_norm(NodeImport& n, FunctionRef<ValueId(size_t, ValueId)> real, size_t positions) {
  enum : size_t { kIds, kSegments, kWords, kPositions, kSegmentRows, kGamma, kBeta, kMask };
  NNEX_TRY(needs(n, {kIds, kWords, kPositions, kGamma, kBeta}));
  const auto rows = [&](size_t table, ValueId ids) {
    return real(table, n.b("gather", {n.in[table], ids}, GatherAttrs{}));
  };
  ValueId sum = rows(kWords, n.in[kIds]);
  if (n.has(positions)) {
    sum = n.b("add", {sum, rows(kPositions, n.in[positions])});
  } else {  // the first ones, one for each word
    ShapeAttrs length;
    length.start = 1, length.end = 2;
    const ValueId end = n.b("shape", {n.in[kIds]}, length);
    const ValueId first = n.b("slice", {n.in[kPositions], n.b.ints({0}), end, n.b.ints({0})});
    sum = n.b("add", {sum, real(kPositions, first)});
  }
  if (n.has(kSegments) && n.has(kSegmentRows)) sum = n.b("add", {sum, rows(kSegmentRows, n.in[kSegments])});
  const ValueId gamma = real(kGamma, n.in[kGamma]), beta = real(kBeta, n.in[kBeta]);
  n.bind(0, n.b("layer_normalization", {sum, gamma, beta}, norm_attrs(n, -1, 1e-12)));
  if (n.wants(1)) {  // how many words of each row are none of padding
    if (n.has(kMask)) {
      ReduceAttrs words;
      words.keepdims = false;
      n.bind(1, n.b("sum_reduce", {n.in[kMask], n.b.ints({1})}, words));
    } else {
      ShapeAttrs batch;
      batch.start = 0, batch.end = 1;
      const ValueId zero = cast_to(n, n.b.integer(0), DType::i32);
      n.bind(1, n.b("expand", {zero, n.b("shape", {n.in[kIds]}, batch)}));
    }
  }
  n.bind(2, sum);
  return Quirked::done;
}

Result<Quirked> plain_embed_norm(NodeImport& n) {
  return embed_layer_norm(
      n, [](size_t, ValueId v) { return v; }, 8);
}

/// The same of bytes: scales of inputs 2 to 6 are 8 to 12, zero points 13 to 17. Rows become reals when they are
/// picked.
Result<Quirked> byte_embed_norm(NodeImport& n) {
  NNEX_TRY(needs(n, {8, 9, 11, 12, 13, 14, 16, 17}));
  if (n.has(4)) NNEX_TRY(needs(n, {10, 15}));
  const auto real = [&](size_t i, ValueId v) {
    return n.b("dequantize_linear", {v, n.in[i + 6], n.in[i + 11]}, DequantizeAttrs{});
  };
  return embed_layer_norm(n, real, kNoInput);
}

// ---- Products

Result<Quirked> fused_matmul(NodeImport& n) {
  NNEX_ASSIGN(const ValueId y, fused_product(n));
  n.bind(0, y);
  return Quirked::done;
}

Result<Quirked> fused_gemm(NodeImport& n) {
  const std::string activation = n.word("activation", "");
  const Reals params = {n.real("activation_alpha", 0), n.real("activation_beta", 0)};
  for (std::string_view own : {"activation", "activation_alpha", "activation_beta", "activation_gamma"}) n.drop(own);
  NNEX_ASSIGN(ValueId y, n.importer.standard_result(n, "Gemm", n.in));
  NNEX_ASSIGN(y, activated(n, y, activation, params));
  n.bind(0, y);
  return Quirked::done;
}

/// Z is added before the activation.
Result<Quirked> fused_conv(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  const std::string activation = n.word("activation", "");
  const Reals params = n.reals("activation_params");
  for (std::string_view own : {"activation", "activation_params"}) n.drop(own);
  Inputs in = n.in;
  if (in.size() > 3) in.resize(3);
  NNEX_ASSIGN(ValueId y, n.importer.standard_result(n, "Conv", std::move(in)));
  NNEX_ASSIGN(y, activated(n, plus(n, y, 3), activation, params));
  n.bind(0, y);
  return Quirked::done;
}

/// Distances of each row of a from each of b: |a|^2 + |b|^2 - 2 a b, which rounding may leave below 0.
Result<Quirked> distances(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  const std::string metric = n.word("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    return lacks(n, fmt::format("metric '{}'; needed euclidean or sqeuclidean", metric));
  const DType type = real_type(n, 0);
  const auto squares = [&](size_t i) {
    ReduceAttrs rows;
    rows.keepdims = true;
    return n.b("sum_reduce", {n.b("mul", {n.in[i], n.in[i]}), n.b.ints({1})}, rows);
  };
  MatmulAttrs by_rows;
  by_rows.transpose_b = true;
  const ValueId product = n.b("mul", {n.b("matmul", {n.in[0], n.in[1]}, by_rows), n.b.number(type, 2)});
  const ValueId sum = n.b("add", {squares(0), n.b("transpose", {squares(1)}, TransposeAttrs{{1, 0}})});
  const ValueId squared = n.b("max", {n.b("sub", {sum, product}), n.b.number(type, 0)});
  n.bind(0, metric == "euclidean" ? n.b("sqrt", {squared}) : squared);
  return Quirked::done;
}

// ---- What has the standard's meaning

Result<Quirked> standard_name(NodeImport& n) { return as_standard(n, n.op); }

/// The step may be absent: 1.
Result<Quirked> range(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  if (!n.has(2)) {
    if (n.type(0).dtype == DType::none) return lacks(n, "no step, of an unknown type");
    n.in.resize(2);
    n.in.push_back(n.b.number(n.type(0).dtype, 1));
  }
  return as_standard(n, "Range");
}

Result<Quirked> linear_name(NodeImport& n) {
  if (n.word("mode", "bilinear") == "bilinear") n.set("mode", std::string("linear"));
  if (n.word("mode", "") == "bicubic") n.set("mode", std::string("cubic"));
  return as_standard(n, n.op);
}

Result<Quirked> expand_dims(NodeImport& n) { return as_standard(n, "Unsqueeze"); }

constexpr QuirkRow kMicrosoftRows[] = {
    {"LayerNormalization", early_layer_norm},
    // The type in which ONNX Runtime sums (stash_type); the row sums in the widest.
    {"SimplifiedLayerNormalization", simplified_layer_norm, "", "1 T T > T T? | axis:i epsilon:f stash_type:i"},
    {"BiasGelu", exact_gelu, kDomain, "1 T T > T"},
    {"CDist", distances, kDomain, "1 T T > T | metric:s"},
    {"DequantizeLinear", standard_name, kDomain, "1 T1 T2 T1? > T2 | axis:i"},
    // mask_index_type: for the shape inference of tools.
    {"EmbedLayerNormalization", plain_embed_norm, kDomain,
     "1 T1 T1? T T T? T T T1? T1? > T T1? T? | epsilon:f mask_index_type:i"},
    {"ExpandDims", expand_dims, kDomain, "1 T T1 > T", "Unsqueeze"},
    {"FastGelu", fast_gelu, kDomain, "1 T T? > T"},
    {"FusedConv", fused_conv, kDomain,
     "1 T T T? T? > T | activation:s activation_params:F auto_pad:s dilations:I group:i kernel_shape:I pads:I "
     "strides:I",
     "Conv"},
    {"FusedGemm", fused_gemm, kDomain,
     "1 T T T? > T | activation:s activation_alpha:f activation_beta:f activation_gamma:f alpha:f beta:f transA:i "
     "transB:i",
     "Gemm"},
    {"FusedMatMul", fused_matmul, kDomain, "1 T T > T | alpha:f transA:i transB:i transBatchA:i transBatchB:i"},
    {"GatherND", standard_name, kDomain, "1 T T1 > T"},
    {"Gelu", exact_gelu, kDomain, "1 T > T"},
    {"GridSample", linear_name, kDomain, "1 T1 T1 > T2 | align_corners:i mode:s padding_mode:s"},
    // mask_index_type: the quantiser copies it.
    {"QEmbedLayerNormalization", byte_embed_norm, kDomain,
     "1 T1 T1? T2 T2 T2? T2 T2 T1? T T T? T T T2 T2 T2? T2 T2 > T T1? T? | epsilon:f mask_index_type:i"},
    {"QuantizeLinear", standard_name, kDomain, "1 T1 T1 T2? > T2 | axis:i"},
    {"QuickGelu", quick_gelu, kDomain, "1 T > T | alpha:f"},
    {"Range", range, kDomain, "1 T T T? > T"},
    {"SimplifiedLayerNormalization", simplified_layer_norm, kDomain, "1 T T > T T? | axis:i epsilon:f stash_type:i"},
    {"SkipLayerNormalization", skip_layer_norm, kDomain, "1 T T T T? T? > T T1? T1? T? | epsilon:f"},
    {"SkipSimplifiedLayerNormalization", skip_simplified_norm, kDomain, "1 T T T T? > T T1? T1? T? | epsilon:f"},
    // A sparse initializer is the dense constant that it stands for.
    {"SparseToDenseMatMul", fused_matmul, kDomain, "1 T T1 > T1 | alpha:f transA:i transB:i"},
    {"TransposeMatMul", fused_matmul, kDomain, "1 T T > T | alpha:f transA:i transB:i"},
    {"Trilu", standard_name, kDomain, "1 T T1? > T | upper:i"},
};

}  // namespace
}  // namespace microsoft

std::span<const QuirkRow> microsoft_quirks() { return read_of<microsoft::kMicrosoftRows>(); }

}  // namespace nnex::onnx_format
