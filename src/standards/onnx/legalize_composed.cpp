// What an importer had made several rows of: rows that carry one place become the one operator again, and constants
// that they only reshape are written in the new shape.

#include <algorithm>

#include "graph/queries.h"
#include "ops/norm.h"
#include "standards/onnx/legalize.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

/// Extents of a constant that is made for want of one.
constexpr int64_t kMaxChannels = 1 << 24;
/// A constant that several read is written so often; larger ones stay behind a reshape.
constexpr int64_t kMaxCopied = 1 << 12;

/// Whether only nodes of this place read the value.
bool stays_inside(const Legalized& l, ValueId v) {
  const auto& uses = l.graph[v].uses;
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Use& u) {
    return u.node.valid() && l.graph[u.node].where == l.node().where;
  });
}

/// reshape(constant, shape), which an importer made for a reader of its own   ->   constant'
void reshaped_constant(Legalized& l) {
  const Tensor* t = l.constant(0);
  const auto to = l.out_shape();
  if (!t || !to || to->count() != t->count() || !stays_inside(l, l.node().out[0])) return;
  if (!l.graph.read_once(l.in(0)) && t->count() > kMaxCopied) return;
  const ValueId old = l.node().out[0];
  const ValueId made = l.constant_as(l.in(0), *to);
  l.keep_bits(old, made);
  l.graph.replace_uses(old, made);
  l.graph.erase(l.id);
}

/// The nodes that make a value, when nobody reads it: they go.
void drop(ir::Graph& graph, ValueId v) {
  const NodeId id = graph[v].producer;
  if (!id.valid() || !graph[v].uses.empty()) return;
  const Node& n = graph[id];
  if (!n.blocks.empty() ||
      std::any_of(n.out.begin(), n.out.end(), [&](ValueId o) { return o.valid() && !graph[o].uses.empty(); }))
    return;
  const std::vector<ValueId> in = n.in;
  graph.erase(id);
  for (ValueId i : in)
    if (i.valid()) drop(graph, i);
}

/// A batch normalisation as its formula, in the words of WebNN's importer:
///     (x - mean') * (scale / sqrt(variance + epsilon))' + offset'      ' as [channels, 1, ...]
/// `scale` and `offset` may be absent.
class NormFormula {
 public:
  explicit NormFormula(Legalized& l) : l_(l), g_(l.graph) {}

  /// Whether the node is the last one of the formula.
  bool find() {
    const Node* product = &l_.node();
    if (product->op->name == "add") {
      offset_ = l_.in(1);
      product = part(l_.in(0), "mul");
    } else if (const NodeId reader = only_reader(g_, product->out[0]); reader.valid()) {
      if (g_[reader].op->name == "add" && g_[reader].where == product->where) return false;  // that one is
    }
    const Node* centred = product ? part(product->in[0], "sub") : nullptr;
    const Node* along = centred ? part(product->in[1], "reshape") : nullptr;
    if (!along || !is_f32(g_, centred->in[0])) return false;
    x_ = centred->in[0], mean_ = centred->in[1];
    const auto& dims = g_[x_].type.dims;
    if (dims->size() < 2 || !(*dims)[1].is_number()) return false;
    channels_ = (*dims)[1].value(), rank_ = static_cast<int64_t>(dims->size());
    if (channels_ > kMaxChannels || !lies_along(product->in[1]) || !read_factor(along->in[0])) return false;
    return is_vector(variance_) && (!scale_.valid() || is_vector(scale_)) && is_parameter(mean_) &&
           (!offset_.valid() || is_parameter(offset_));
  }

  void become_row() {
    BatchNormAttrs a;
    a.epsilon = epsilon_;
    const ValueId mean = vector_of(mean_), offset = offset_.valid() ? vector_of(offset_) : filled(0);
    const ValueId y =
        l_.b("batch_normalization", {x_, mean, variance_, offset, scale_.valid() ? scale_ : filled(1)}, a);
    const std::vector<ValueId> in = l_.node().in;
    l_.replace(y);
    for (ValueId v : in) drop(g_, v);
  }

 private:
  /// The node that makes v for this formula alone.
  const Node* part(ValueId v, std::string_view op) const {
    const Node* n = made_by(g_, v, op);
    return n && n->where == l_.node().where && g_.read_once(v) ? n : nullptr;
  }

  bool read_factor(ValueId factor) {
    ValueId deviation;
    if (const Node* quotient = part(factor, "div"))
      scale_ = quotient->in[0], deviation = quotient->in[1];
    else if (const Node* inverse = part(factor, "rcp"))
      deviation = inverse->in[0];
    const Node* root = deviation.valid() ? part(deviation, "sqrt") : nullptr;
    const Node* sum = root ? part(root->in[0], "add") : nullptr;
    const auto epsilon = sum ? real_constant(g_, sum->in[1]) : std::nullopt;
    if (!epsilon) return false;
    variance_ = sum->in[0], epsilon_ = *epsilon;
    return true;
  }

  bool is_vector(ValueId v) const {
    const auto shape = concrete(l_.type_of_value(v));
    return shape && *shape == Shape{channels_} && l_.type_of_value(v).dtype == DType::f32;
  }
  /// Whether v is one number a channel, on axis 1 of x.
  bool lies_along(ValueId v) const {
    const auto shape = concrete(l_.type_of_value(v));
    if (!shape || l_.type_of_value(v).dtype != DType::f32) return false;
    const int64_t absent = rank_ - shape->rank();
    if (absent < 0 || absent > 1) return false;
    for (int64_t i = 0; i < shape->rank(); ++i)
      if ((*shape)[i] != (i + absent == 1 ? channels_ : 1)) return false;
    return true;
  }
  bool is_parameter(ValueId v) const {
    if (!lies_along(v)) return false;
    const Node* reshape = part(v, "reshape");
    return g_[v].is_constant() ? g_[v].constant.tensor() != nullptr : reshape && is_vector(reshape->in[0]);
  }
  ValueId vector_of(ValueId v) const {
    return g_[v].is_constant() ? l_.constant_as(v, Shape{channels_}) : part(v, "reshape")->in[0];
  }
  ValueId filled(double value) const {
    Tensor t = std::move(Tensor::make(DType::f32, Shape{channels_})).value();
    for (int64_t i = 0; i < channels_; ++i) set_real(t, i, value);
    return l_.b.constant(std::move(t));
  }

  Legalized& l_;
  ir::Graph& g_;
  ValueId x_, mean_, variance_, offset_, scale_;
  int64_t channels_ = 0, rank_ = 0;
  double epsilon_ = 0;
};

void norm_formula(Legalized& l) {
  NormFormula formula(l);
  if (formula.find()) formula.become_row();
}

constexpr LegalizeRow kComposedRows[] = {
    {"reshape", reshaped_constant},
    {"add", norm_formula},
    {"mul", norm_formula},
};

}  // namespace

std::span<const LegalizeRow> legalize_composed() { return kComposedRows; }

}  // namespace nnex::onnx_format
