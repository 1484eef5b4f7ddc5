// Mixtures of experts of the domain com.microsoft: of each token a few experts, each two or three products, chosen and
// weighted by a router.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "graph/infer.h"
#include "ops/activation.h"
#include "ops/gather.h"
#include "ops/matmul.h"
#include "ops/quantize.h"
#include "ops/reduce.h"
#include "standards/onnx/import_microsoft.h"

namespace nnex::onnx_format {
namespace microsoft {
namespace {

/// Inputs of one product of all experts; codes have scales.
struct Layer {
  size_t weights, bias, scale = kNoInput, zeros = kNoInput;
};

/// Rows, a matrix [experts, outputs, inputs].
struct Extents {
  int64_t experts = 0, outputs = 0, inputs = 0;
  int64_t count() const { return experts * outputs * inputs; }
};

/// The experts of each token, [tokens, k], and what their results are multiplied by.
struct Routing {
  ValueId index, weight;
};

ValueId over_sum(NodeImport& n, ValueId x) {
  return n.b("div", {x, n.b("sum_reduce", {x, n.b.ints({-1})}, ReduceAttrs{})});
}

/// The k largest of each row, and which they are.
Routing largest(NodeImport& n, ValueId scores, int64_t k) {
  const NodeId top = n.b.node(op("top_k"), {scores, n.b.ints({k})}, 2, nullptr);
  const std::vector<ValueId>& out = n.importer.graph()[top].out;
  return {out[1], out[0]};
}

/// Two experts of scores s [tokens, experts]; a weight is the softmax of those that a score m is not far above, of the
/// second's without the first: m - s at most 2 % of the larger of m and |s| (Phi-3.5-MoE).
Routing sparse_mixer(NodeImport& n, ValueId scores, int64_t experts) {
  const Routing top = largest(n, scores, 2);
  const auto number = [&](double value) { return n.b.number(DType::f32, value); };
  const ValueId s = n.b("unsqueeze", {scores, n.b.ints({1})}), m = n.b("unsqueeze", {top.weight, n.b.ints({2})});
  const ValueId below = n.b("sub", {m, s}), size = n.b("max", {n.b("abs", {s}), m});
  const ValueId near = n.b("le", {below, n.b("mul", {size, number(0.02)})});
  std::vector<int64_t> places(static_cast<size_t>(experts));
  std::iota(places.begin(), places.end(), int64_t{0});
  const ValueId first = n.b("slice", {top.index, n.b.ints({0}), n.b.ints({1}), n.b.ints({1})});
  const ValueId others = n.b("ne", {n.b("unsqueeze", {first, n.b.ints({2})}), n.b.ints(places)});
  const ValueId any = n.b.constant(Tensor::of<bool>(Shape{2, 1}, {true, false}));
  const ValueId counts = n.b("and", {near, n.b("or", {others, any})});
  ReduceAttrs sum;
  sum.keepdims = false;
  const ValueId parts = n.b("select", {counts, n.b("exp", {n.b("neg", {below})}), number(0)});
  return {top.index, n.b("div", {number(1), n.b("sum_reduce", {parts, n.b.ints({2})}, sum)})};
}

bool of_halves(const NodeImport& n, size_t i) {
  const DType type = real_type(n, i);
  return type == DType::f16 || type == DType::bf16;
}

/// Input i, of halves as float32.
ValueId wide(NodeImport& n, size_t i) { return of_halves(n, i) ? cast_to(n, n.in[i], DType::f32) : n.in[i]; }

class Experts {
 public:
  /// `bits`: of codes; of other weights 8, one element each.
  Experts(NodeImport& n, int64_t bits) : n_(n), bits_(bits) {}

  /// Of products whose matrices are at these inputs; the third may be absent.
  Status layers(const Layer& first, const Layer& second, const Layer& gate) {
    first_ = first, second_ = second, gate_ = gate;
    activation_ = n_.word("activation_type", "relu");
    fusion_ = n_.integer("swiglu_fusion", 0);
    const bool gated = activation_ == "swiglu";
    if (fusion_ < 0 || fusion_ > 2) return n_.error(fmt::format("swiglu_fusion is {}; needed 0, 1 or 2", fusion_));
    if (gated && (fusion_ == 0) != n_.has(gate.weights))
      return n_.error(
          fmt::format("swiglu_fusion is {}, and fc3 is {}", fusion_, n_.has(gate.weights) ? "given" : "absent"));
    const auto w = weights(first.weights), v = weights(second.weights);
    if (!w || !v) return lacks(n_, "weights of unknown extents, or of other than 3 axes");
    const MaybeDims& x = n_.type(0).dims;
    const bool known = x && !x->empty() && x->back().is_number();
    hidden_ = known ? x->back().value() : (*v)[1];
    experts_ = (*w)[0];
    if (hidden_ < 1 || experts_ < 1) return n_.error(fmt::format("{} experts of {} channels", experts_, hidden_));
    inner_ = v->count() * (8 / bits_) / (experts_ * hidden_);
    const int64_t both = gated && fusion_ != 0 ? 2 * inner_ : inner_;
    to_inner_ = {experts_, both, hidden_}, to_hidden_ = {experts_, hidden_, inner_};
    NNEX_TRY(fits(*w, to_inner_));
    NNEX_TRY(fits(*v, to_hidden_));
    if (!n_.has(gate.weights)) return {};
    const auto g = weights(gate.weights);
    return g ? fits(*g, {experts_, inner_, hidden_}) : lacks(n_, "weights of unknown extents");
  }

  int64_t count() const { return experts_; }

  /// Halves are rounded once, at the end.
  Result<ValueId> run(const Routing& by) {
    index_ = by.index;
    const auto rank = n_.rank(0).value_or(0);
    if (rank != 2 && rank != 3) return lacks(n_, "an input whose axes are not known to be 2 or 3");
    const ValueId tokens = rank == 2 ? n_.b("unsqueeze", {wide(n_, 0), n_.b.ints({1})})
                                     : n_.b("reshape", {wide(n_, 0), n_.b.ints({-1, 1, hidden_})});
    NNEX_ASSIGN(ValueId x, product(tokens, first_, to_inner_));
    ValueId gate;
    if (n_.has(gate_.weights)) {
      NNEX_ASSIGN(gate, product(tokens, gate_, {experts_, inner_, hidden_}));
    }
    NNEX_ASSIGN(x, activated(x, gate));
    NNEX_ASSIGN(x, product(x, second_, to_hidden_));
    ReduceAttrs sum;
    sum.keepdims = false;
    const ValueId weight = n_.b("unsqueeze", {by.weight, n_.b.ints({2})});
    ValueId y = n_.b("sum_reduce", {n_.b("mul", {x, weight}), n_.b.ints({1})}, sum);
    if (of_halves(n_, 0)) y = cast_to(n_, y, real_type(n_, 0));
    return rank == 2 ? y : n_.b("reshape", {y, n_.b("shape", {n_.in[0]})});
  }

 private:
  std::optional<Shape> weights(size_t i) const {
    const auto shape = concrete(n_.type(i));
    return shape && shape->rank() == 3 ? shape : std::nullopt;
  }
  Status fits(const Shape& w, const Extents& to) const {
    if (w.count() * (8 / bits_) == to.count() && w[0] == to.experts) return {};
    return n_.error(fmt::format("found weights {}; needed {} matrices of {} by {}, {} an element", w.text(), to.experts,
                                to.outputs, to.inputs, 8 / bits_));
  }

  /// Rows [tokens, k or 1, inputs] by the matrix of each expert, + its row of the bias.
  Result<ValueId> product(ValueId x, const Layer& layer, const Extents& e) {
    ValueId w;
    if (layer.scale != kNoInput) {
      NNEX_ASSIGN(w, decoded(layer, e));
    } else {
      w = n_.in[layer.weights];
      const Shape shape = {e.experts, e.outputs, e.inputs};
      if (!(*weights(layer.weights) == shape)) {  // older files name the same numbers by the axes the other way round
        const Tensor* const t = n_.constant(layer.weights);
        w = t ? n_.b.constant(t->reshaped(shape)) : n_.b("reshape", {w, n_.b.ints({e.experts, e.outputs, e.inputs})});
      }
      if (of_halves(n_, layer.weights)) w = cast_to(n_, w, DType::f32);
    }
    GatherMatmulAttrs by_rows;
    by_rows.transpose_b = true;
    const ValueId y = n_.b("gather_matmul", {x, w, index_}, by_rows);
    if (!n_.has(layer.bias)) return y;
    return n_.b("add", {y, n_.b("gather", {wide(n_, layer.bias), index_}, GatherAttrs{})});
  }

  /// (code - zero) * scale; without zero points the middle of the codes is 0, as signed ones have it.
  Result<ValueId> decoded(const Layer& layer, const Extents& e) {
    const bool pointed = n_.has(layer.zeros);
    const Tensor* const packed = n_.constant(layer.weights);
    const Tensor* const points = pointed ? n_.constant(layer.zeros) : nullptr;
    if (!packed || (pointed && !points)) return lacks(n_, "weights or zero points that are no initializer");
    const int64_t rows = e.experts * e.outputs, given = n_.integer("block_size", 0);
    const int64_t block = given > 0 ? given : e.inputs, blocks = ceil_div(e.inputs, block);
    const DType type = bits_ == 4 ? DType::u4 : DType::u8;
    NNEX_ASSIGN(Tensor codes, codes_of(n_, *packed, type, bits_, rows, e.inputs));
    codes = codes.reshaped(Shape{e.experts, e.outputs, e.inputs});
    const Shape scales = {e.experts, e.outputs, blocks};
    std::vector<ValueId> in(2);
    in[1] = n_.b("reshape", {wide(n_, layer.scale), n_.b.ints({e.experts, e.outputs, blocks})});
    if (points) {  // bytes are filled by rows of blocks, or where a row is one block by experts
      const bool by_rows = blocks > 1 || points->shape().rank() == 3;
      NNEX_ASSIGN(const Tensor zeros, by_rows ? codes_of(n_, *points, type, bits_, rows, blocks)
                                              : codes_of(n_, *points, type, bits_, e.experts, e.outputs));
      in.push_back(n_.b.constant(zeros.reshaped(scales)));
    } else {
      NNEX_ASSIGN(codes, from_middle(codes));
    }
    in[0] = n_.b.constant(std::move(codes));
    DequantizeAttrs a;
    a.axis = 2, a.block_size = block;
    return n_.b("dequantize_linear", std::move(in), a);
  }

  /// The codes less the middle of their range, signed.
  Result<Tensor> from_middle(const Tensor& codes) const {
    NNEX_ASSIGN(Tensor out, Tensor::make(bits_ == 4 ? DType::i4 : DType::i8, codes.shape()));
    const auto upper = static_cast<std::byte>(bits_ == 4 ? 0x88 : 0x80);
    std::byte* const to = out.mutable_data();
    std::transform(codes.data(), codes.data() + codes.bytes(), to, [=](std::byte b) { return b ^ upper; });
    if (codes.count() * bits_ % 8) to[out.bytes() - 1] &= std::byte{15};
    return out;
  }

  Result<ValueId> activated(ValueId x, ValueId gate) {
    if (activation_ == "swiglu") return gated(x, gate);
    if (activation_ == "relu")
      x = n_.b("relu", {x});
    else if (activation_ == "gelu")
      x = n_.b("gelu", {x}, GeluAttrs{GeluForm::tanh});
    else if (activation_ == "silu")
      x = n_.b("silu", {x});
    else if (activation_ != "identity")
      return n_.error(fmt::format("activation_type is '{}'; needed relu, gelu, silu, identity or swiglu", activation_));
    return gate.valid() ? n_.b("mul", {x, gate}) : x;
  }

  /// g sigmoid(alpha g) (l + beta), where one product gives g and l: side by side, or g's all before l's; or two do.
  ValueId gated(ValueId x, ValueId l) {
    ValueId g = x;
    const auto part = [&](int64_t begin, int64_t end, int64_t step) {
      return n_.b("slice", {x, n_.b.ints({begin}), n_.b.ints({end}), n_.b.ints({-1}), n_.b.ints({step})});
    };
    if (fusion_ == 1) g = part(0, 2 * inner_, 2), l = part(1, 2 * inner_, 2);
    if (fusion_ == 2) g = part(0, inner_, 1), l = part(inner_, 2 * inner_, 1);
    const DType type = of_halves(n_, 0) ? DType::f32 : real_type(n_, 0);
    if (const double limit = n_.real("swiglu_limit", std::numeric_limits<double>::infinity()); std::isfinite(limit)) {
      const ValueId high = n_.b.number(type, limit);
      g = n_.b("min", {g, high});
      l = n_.b("clamp", {l, n_.b.number(type, -limit), high});
    }
    if (const double beta = n_.real("activation_beta", 0); beta != 0) l = n_.b("add", {l, n_.b.number(type, beta)});
    return n_.b("mul", {n_.b("silu", {g}, AlphaAttrs{n_.real("activation_alpha", 1)}), l});
  }

  NodeImport& n_;
  int64_t bits_;
  Layer first_{}, second_{}, gate_{};
  std::string activation_;
  int64_t fusion_ = 0;
  int64_t experts_ = 0, hidden_ = 0, inner_ = 0;
  Extents to_inner_, to_hidden_;
  ValueId index_;
};

bool mixes_sparsely(const NodeImport& n) { return n.integer("use_sparse_mixer", 0) != 0; }

/// How many experts each token has.
Result<int64_t> chosen(const NodeImport& n, int64_t experts) {
  const int64_t k = n.integer("k", 1);
  if (k < 1 || k > experts) return n.error(fmt::format("k is {}; needed 1 to {}, the number of experts", k, experts));
  if (mixes_sparsely(n) && k != 2) return n.error(fmt::format("k is {}; needed 2 with use_sparse_mixer", k));
  return k;
}

/// Weights are those of a softmax over all experts.
Result<Quirked> mixture(NodeImport& n) {
  enum : size_t { kX, kRouter, kW1, kB1, kW2, kB2, kW3, kB3 };
  NNEX_TRY(needs(n, {kX, kRouter, kW1, kW2}));
  Experts experts(n, 8);
  NNEX_TRY(experts.layers({kW1, kB1}, {kW2, kB2}, {kW3, kB3}));
  NNEX_ASSIGN(const int64_t k, chosen(n, experts.count()));
  const ValueId scores = wide(n, kRouter);
  Routing by = mixes_sparsely(n) ? sparse_mixer(n, scores, experts.count()) : largest(n, n.b("softmax", {scores}), k);
  if (!mixes_sparsely(n) && n.integer("normalize_routing_weights", 0)) by.weight = over_sum(n, by.weight);
  NNEX_ASSIGN(const ValueId y, experts.run(by));
  n.bind(0, y);
  return Quirked::done;
}

/// Weights are those of a softmax over the chosen experts, or given.
Result<Quirked> mixture_of_codes(NodeImport& n) {
  enum : size_t { kX, kRouter, kW1, kS1, kB1, kW2, kS2, kB2, kW3, kS3, kB3, kZ1, kZ2, kZ3, kWeights };
  NNEX_TRY(needs(n, {kX, kRouter, kW1, kS1, kW2, kS2}));
  if (n.has(kW3)) NNEX_TRY(needs(n, {kS3}));
  if (const std::string kind = n.word("quant_type", "int"); kind != "int")
    return lacks(n, fmt::format("quant_type '{}'", kind));
  if (n.integer("weights_prepacked", 0) == 1) return lacks(n, "weights in the order of a graphics card");
  const int64_t bits = n.integer("expert_weight_bits", 4);
  if (bits != 4 && bits != 8) return lacks(n, fmt::format("weights of {} bits", bits));
  Experts experts(n, bits);
  NNEX_TRY(experts.layers({kW1, kB1, kS1, kZ1}, {kW2, kB2, kS2, kZ2}, {kW3, kB3, kS3, kZ3}));
  NNEX_ASSIGN(const int64_t k, chosen(n, experts.count()));
  const ValueId scores = wide(n, kRouter);
  Routing by = mixes_sparsely(n) ? sparse_mixer(n, scores, experts.count()) : largest(n, scores, k);
  if (n.has(kWeights)) {
    by.weight = n.b("gather_elements", {wide(n, kWeights), by.index}, GatherAttrs{-1});
    if (n.integer("normalize_routing_weights", 0)) by.weight = over_sum(n, by.weight);
  } else if (!mixes_sparsely(n)) {
    by.weight = n.b("softmax", {by.weight});
  }
  NNEX_ASSIGN(const ValueId y, experts.run(by));
  n.bind(0, y);
  return Quirked::done;
}

constexpr QuirkRow kExpertRows[] = {
    {"MoE", mixture, kDomain,
     "1 T T T T? T T? T? T? > T | activation_alpha:f activation_beta:f activation_type:s k:i "
     "normalize_routing_weights:i swiglu_fusion:i swiglu_limit:f use_sparse_mixer:i"},
    {"QMoE", mixture_of_codes, kDomain,
     "1 T T T1 T2 T? T1 T2 T? T1? T2? T? T1? T1? T1? T? > T | activation_alpha:f activation_beta:f activation_type:s "
     "block_size:i expert_weight_bits:i k:i normalize_routing_weights:i quant_type:s swiglu_fusion:i swiglu_limit:f "
     "use_sparse_mixer:i weights_prepacked:i"},
};

}  // namespace
}  // namespace microsoft

std::span<const QuirkRow> microsoft_expert_quirks() { return read_of<microsoft::kExpertRows>(); }

}  // namespace nnex::onnx_format
