#include <algorithm>
#include <cmath>

#include "fusion/functions.h"
#include "fusion/fusion.h"
#include "graph/queries.h"
#include "ops/matmul.h"
#include "ops/quantize.h"
#include "ops/traits.h"
#include "ops/window.h"
#include "tensor/convert.h"

namespace nnex::fusion {
namespace {

using kernels::ByteScale;
using kernels::Chain;
using kernels::FusedByteChain;
using kernels::FusedByteProduct;
using kernels::UnaryKind;

constexpr double kLost = 1.0 / 64;  ///< Of a code of the result, by the rounding of a bias.

bool is_byte(DType t) { return t == DType::u8 || t == DType::i8; }

/// The scale and zero point of a node that has them at inputs 1 and 2, constants of one element.
std::optional<ByteScale> scale_of(const ir::Graph& graph, const Node& node, DType bytes) {
  const Tensor* scale = graph.constant_in(node, 1);
  if (!is_byte(bytes) || !scale || scale->dtype() != DType::f32 || scale->count() != 1) return std::nullopt;
  ByteScale out;
  out.scale = static_cast<float>(real_at(*scale, 0));
  out.is_signed = bytes == DType::i8;
  if (!(out.scale > 0) || std::isinf(out.scale)) return std::nullopt;
  if (node.in.size() < 3 || !node.in[2].valid()) return out;
  const Tensor* zero = graph.constant_in(node, 2);
  if (!zero || zero->count() != 1) return std::nullopt;
  out.zero = static_cast<int32_t>(int_at(*zero, 0));
  return out;
}

/// The dequantize_linear of constants that makes v.
const Node* constant_codes(const ir::Graph& graph, ValueId v) {
  const Node* node = made_by(graph, v, "dequantize_linear");
  const auto constant = [&](ValueId x) { return !x.valid() || graph[x].is_constant(); };
  return node && std::all_of(node->in.begin(), node->in.end(), constant) ? node : nullptr;
}

/// Reals of a constant, one or n of them.
std::optional<Reals> reals(const Tensor* t, int64_t n) {
  if (!t || (t->count() != 1 && t->count() != n)) return std::nullopt;
  Reals out;
  for (int64_t i = 0; i < n; ++i) out.push_back(real_at(*t, t->count() == 1 ? 0 : i));
  return out;
}

/// Scales and zero points of constant codes: n of each, where they are one or lie along `axis`.
struct Columns {
  Reals scale, zero;
};
std::optional<Columns> columns_of(const ir::Graph& graph, const Node& codes, int64_t axis, int64_t n) {
  const auto& a = graph.attrs<DequantizeAttrs>(codes);
  const Tensor* scales = graph.constant_in(codes, 1);
  const int64_t along = a.axis < 0 ? a.axis + graph.constant_in(codes, 0)->shape().rank() : a.axis;
  if (!scales || (scales->count() != 1 && (a.block_size != 0 || along != axis))) return std::nullopt;
  auto scale = reals(scales, n);
  auto zero = codes.in.size() > 2 && codes.in[2].valid() ? reals(graph.constant_in(codes, 2), n)
                                                         : std::optional(Reals(static_cast<size_t>(n), 0));
  if (!scale || !zero) return std::nullopt;
  return Columns{*std::move(scale), *std::move(zero)};
}

/// The axis of w along which a product's columns lie; nothing where nobody multiplies bytes so.
std::optional<int64_t> column_axis(const Node& product, const Shape& w, ConvLayout layout) {
  if (const auto* conv = attrs_if<ConvAttrs>(product))
    return conv->channels_last == (layout == ConvLayout::channels_last) && conv->border == ConvBorder::constant
               ? std::optional(int64_t{0})
               : std::nullopt;
  bool known = w.rank() == 2, transposed = false;
  if (const auto* linear = attrs_if<LinearAttrs>(product))
    known &= !linear->transpose_a && linear->alpha == 1 && linear->beta == 1, transposed = linear->transpose_b;
  if (const auto* matmul = attrs_if<MatmulAttrs>(product))
    known &= !matmul->transpose_a, transposed = matmul->transpose_b;
  return known ? std::optional(int64_t{transposed ? 0 : 1}) : std::nullopt;
}

/// What kernels are told of a product of codes.
class ByteForm {
 public:
  ByteForm(const ir::Graph& graph, const ByteScale& y, ConvLayout layout) : graph_(graph), y_(y), layout_(layout) {}

  /// bias: its own, or that of an addition behind it, if any.
  std::optional<FusedByteProduct> of(const Node& product, ValueId bias, const kernels::Unary& limits) const {
    if (!is_product(*product.op)) return std::nullopt;
    const Node *x = graph_.producer(product.in[0]), *w = constant_codes(graph_, product.in[1]);
    const auto x_scale = dequantizes(graph_, x);
    if (!x_scale) return std::nullopt;
    if (!w && !bias.valid()) return of_two(product, *x_scale, limits);
    const Tensor* codes = w ? graph_.constant_in(*w, 0) : nullptr;
    if (!codes || !is_byte(codes->dtype())) return std::nullopt;
    const auto axis = column_axis(product, codes->shape(), layout_);
    if (!axis) return std::nullopt;
    const int64_t n = codes->shape()[*axis];
    const auto columns = columns_of(graph_, *w, *axis, n);
    if (!columns) return std::nullopt;
    FusedByteProduct p;
    p.product = {product.op, product.attrs, {}};
    p.x = *x_scale, p.y = y_, p.w_signed = codes->dtype() == DType::i8;
    if (w->in.size() > 2 && w->in[2].valid()) p.w_zero.assign(columns->zero.begin(), columns->zero.end());
    const double unit = static_cast<double>(p.x.scale);
    for (double s : columns->scale) p.scale.push_back(static_cast<float>(unit * s / static_cast<double>(p.y.scale)));
    if (bias.valid() && !add_bias(p, bias, columns->scale)) return std::nullopt;
    return finite(p) && limit(p, limits) ? std::optional(std::move(p)) : std::nullopt;
  }

 private:
  /// The same where a run makes both sides.
  std::optional<FusedByteProduct> of_two(const Node& product, const ByteScale& x, const kernels::Unary& limits) const {
    const auto w = dequantizes(graph_, graph_.producer(product.in[1]));
    if (!w || !attrs_if<MatmulAttrs>(product)) return std::nullopt;
    FusedByteProduct p;
    p.product = {product.op, product.attrs, {}};
    p.x = x, p.y = y_, p.w_signed = w->is_signed, p.w_zero = {w->zero};
    p.scale = {static_cast<float>(static_cast<double>(x.scale) * static_cast<double>(w->scale) /
                                  static_cast<double>(y_.scale))};
    return finite(p) && limit(p, limits) ? std::optional(std::move(p)) : std::nullopt;
  }

  /// A constant, or integers of a scale of their own: in units of the sums, where what that loses is little beside a
  /// code of the result.
  bool add_bias(FusedByteProduct& p, ValueId bias, const Reals& w_scale) const {
    const auto n = static_cast<int64_t>(w_scale.size());
    Columns own = {Reals(w_scale.size(), 1), Reals(w_scale.size(), 0)};
    const Tensor* t = graph_[bias].constant.tensor();
    if (const Node* codes = constant_codes(graph_, bias)) {
      t = graph_.constant_in(*codes, 0);
      auto columns = columns_of(graph_, *codes, t->shape().rank() - 1, n);
      if (!columns) return false;
      own = *std::move(columns);
    }
    const auto numbers = reals(t, n);
    if (!numbers) return false;
    for (size_t c = 0; c < w_scale.size(); ++c) {
      const double unit = static_cast<double>(p.x.scale) * w_scale[c];
      const double exact = ((*numbers)[c] - own.zero[c]) * own.scale[c] / unit, sums = std::nearbyint(exact);
      const double lost = std::abs(exact - sums) * unit / static_cast<double>(p.y.scale);
      if (!(std::abs(sums) < 1e9) || lost > kLost) return false;
      p.bias.push_back(static_cast<int32_t>(sums));
    }
    return true;
  }

  static bool finite(const FusedByteProduct& p) {
    return std::all_of(p.scale.begin(), p.scale.end(), [](float s) { return std::isfinite(s); });
  }

  static bool limit(FusedByteProduct& p, const kernels::Unary& limits) {
    p.low = p.y.low(), p.high = p.y.high();
    const auto code = [&](float limit, int32_t otherwise) {
      if (limit != limit) return otherwise;
      const double at = std::nearbyint(static_cast<double>(limit) / static_cast<double>(p.y.scale)) + p.y.zero;
      return static_cast<int32_t>(std::clamp<double>(at, p.y.low(), p.y.high()));
    };
    if (limits.kind != UnaryKind::identity) p.low = code(limits.kind == UnaryKind::relu ? 0 : limits.alpha, p.low);
    if (limits.kind == UnaryKind::clamp) p.high = code(limits.beta, p.high);
    return p.low <= p.high;
  }

  const ir::Graph& graph_;
  ByteScale y_;
  ConvLayout layout_;
};

/// Finds what ends in one quantize_linear.
class ByteFinder {
 public:
  ByteFinder(ir::Graph& graph, NodeId quantize, const ByteScale& y, ConvLayout layout)
      : graph_(graph), quantize_(quantize), y_(y), layout_(layout) {}

  std::optional<Found> find() {
    if (auto found = product()) return found;
    return chain();
  }

 private:
  /// Whether `reader` alone reads v, which a node of its block makes.
  bool alone(ValueId v, NodeId reader) const {
    const NodeId producer = graph_[v].producer;
    return producer.valid() && graph_.read_once(v) && graph_[producer].parent == graph_[reader].parent;
  }

  /// The dequantize_linear that makes v, for this reader alone: a copy where others read it too.
  NodeId own(NodeId reader, ValueId v) {
    const NodeId producer = graph_[v].producer;
    if (alone(v, reader)) return producer;
    const Node& node = graph_[producer];
    const NodeId copy = graph_.insert_node(reader, *node.op, node.in, 1, node.attrs, {}, node.where);
    graph_.set_type(graph_[copy].out[0], graph_[v].type);
    for (size_t i = 0; i < graph_[reader].in.size(); ++i)
      if (graph_[reader].in[i] == v) graph_.set_input(reader, i, graph_[copy].out[0]);
    return copy;
  }

  // ---- Products ----

  std::optional<Found> product() {
    std::set<NodeId> nodes = {quantize_};
    NodeId at = quantize_;
    const auto back = [&](ValueId v) {
      if (!alone(v, at)) return false;
      at = graph_[v].producer;
      return nodes.insert(at).second;
    };
    if (!back(graph_[at].in[0])) return std::nullopt;
    kernels::Unary limits;
    if (const auto f = unary_of(graph_, at)) {
      if ((f->kind != UnaryKind::relu && f->kind != UnaryKind::clamp) || !back(graph_[at].in[0])) return std::nullopt;
      limits = *f;
    }
    ValueId bias;
    if (const auto row = row_of(at)) {
      bias = graph_[at].in[*row];
      if (!back(graph_[at].in[1 - *row])) return std::nullopt;
    }
    if (!bias.valid() && graph_[at].in.size() > 2) bias = graph_[at].in[2];
    auto form = ByteForm(graph_, y_, layout_).of(graph_[at], bias, limits);
    if (!form) return std::nullopt;
    const std::vector<ValueId> in = graph_[at].in;
    const ValueId x = graph_.producer(in[0])->in[0], w = graph_.producer(in[1])->in[0];
    for (ValueId v : in)
      if (v.valid() && made_by(graph_, v, "dequantize_linear")) nodes.insert(own(at, v));
    Region region(graph_, quantize_, nodes);
    form->product.in = {region.input(x), region.input(w)};
    return Found{std::move(region), {*std::move(form)}};
  }

  /// Which operand of an addition is a constant row along the other, a product without a bias.
  std::optional<size_t> row_of(NodeId id) const {
    const auto f = function_of(graph_, id);
    if (!f || f->b < 0 || f->binary != kernels::BinaryKind::add) return std::nullopt;
    const Node& add = graph_[id];
    for (size_t i : {size_t{1}, size_t{0}}) {
      const Node* product = graph_.producer(add.in[1 - i]);
      const Tensor* row = graph_.constant_in(add, i);
      if (!product || !row || row->dtype() != DType::f32 || !is_product(*product->op)) continue;
      const MaybeDims& dims = graph_[add.in[1 - i]].type.dims;
      const Shape& shape = row->shape();
      const auto* conv = attrs_if<ConvAttrs>(*product);
      if ((product->in.size() > 2 && product->in[2].valid()) || !dims || dims->empty() || shape.rank() < 1 ||
          (conv && !conv->channels_last) || shape.rank() > static_cast<int64_t>(dims->size()) ||
          shape[shape.rank() - 1] != shape.count() || !(dims->back() == Dim(shape.count())))
        continue;
      return i;
    }
    return std::nullopt;
  }

  // ---- Chains ----

  struct Leaf {
    NodeId reader;
    ValueId v;
  };

  /// Element-wise nodes between bytes of one shape.
  std::optional<Found> chain() {
    std::set<NodeId> inner;
    std::vector<Leaf> leaves;
    if (!collect(quantize_, graph_[quantize_].in[0], inner, leaves) || inner.empty() ||
        inner.size() > static_cast<size_t>(Chain::kMaxSteps) / 2 ||
        leaves.size() > static_cast<size_t>(Chain::kMaxInputs) / 2)
      return std::nullopt;
    std::set<NodeId> nodes = inner;
    nodes.insert(quantize_);
    for (const auto& [reader, v] : leaves)
      if (std::count(graph_[reader].in.begin(), graph_[reader].in.end(), v)) nodes.insert(own(reader, v));
    Region region(graph_, quantize_, nodes);
    FusedByteChain form;
    form.y = y_;
    std::vector<ValueId> values;
    std::vector<NodeId> steps;
    for (NodeId id : region.nodes) {
      const Node& node = graph_[id];
      if (inner.count(id)) {
        steps.push_back(id);
      } else if (id != quantize_) {
        form.sources.push_back({region.input(node.in[0]), *dequantizes(graph_, &node)});
        values.push_back(node.out[0]);
      }
    }
    form.steps = steps_of(graph_, steps, values);
    return Found{std::move(region), {std::move(form)}};
  }
  bool collect(NodeId reader, ValueId v, std::set<NodeId>& inner, std::vector<Leaf>& leaves) const {
    const Node* node = graph_.producer(v);
    if (!node || !same_extents(graph_, v, graph_[reader].out[0])) return false;
    if (dequantizes(graph_, node)) {
      leaves.push_back({reader, v});
      return true;
    }
    const NodeId producer = graph_[v].producer;
    const auto f = function_of(graph_, producer);
    if (!f || !alone(v, reader) || inner.size() > 20) return false;
    inner.insert(producer);
    for (size_t i = 0; i < (f->b < 0 ? 1U : 2U); ++i)
      if (!collect(producer, graph_[producer].in[i], inner, leaves)) return false;
    return true;
  }

  ir::Graph& graph_;
  NodeId quantize_;
  ByteScale y_;
  ConvLayout layout_;
};

}  // namespace

std::optional<kernels::ByteScale> dequantizes(const ir::Graph& graph, const Node* node) {
  if (!node || node->op->name != "dequantize_linear" || !is_f32(graph, node->out[0])) return std::nullopt;
  return scale_of(graph, *node, graph[node->in[0]].type.dtype);
}

std::optional<kernels::ByteScale> quantizes(const ir::Graph& graph, const Node& node) {
  if (node.op->name != "quantize_linear" || !is_f32(graph, node.in[0]) || node.in.size() < 3) return std::nullopt;
  return scale_of(graph, node, graph[node.out[0]].type.dtype);
}

std::optional<Found> find_bytes(ir::Graph& graph, NodeId quantize, ConvLayout layout) {
  const auto y = quantizes(graph, graph[quantize]);
  return y ? ByteFinder(graph, quantize, *y, layout).find() : std::nullopt;
}

std::optional<kernels::FusedByteProduct> find_code_sums(const ir::Graph& graph, const Node& product,
                                                        ConvLayout layout) {
  if (!is_product(*product.op) || !constant_codes(graph, product.in[1]) || !is_f32(graph, product.out[0]))
    return std::nullopt;
  return ByteForm(graph, ByteScale(), layout).of(product, {}, {});
}

}  // namespace nnex::fusion
