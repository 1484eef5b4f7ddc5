#include "run/raise_integers.h"

#include <algorithm>

#include "base/faults.h"
#include "base/try.h"
#include "graph/infer.h"
#include "ops/arithmetic.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/conv.h"
#include "ops/cvm.h"
#include "ops/gather.h"
#include "passes/passes.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

class Raiser {
 public:
  explicit Raiser(Graph& graph) : graph_(graph) {}

  Status run() {
    for (NodeId id : graph_.order()) {
      const Node& n = graph_[id];
      if (n.erased) continue;
      if (n.op->name == "cast") cast(id);
      if (n.op->name == "conv_integer") conv(id);
      if (n.op->name == "gather") gather(id);
      if (n.op->name == "select") condition(id);
      if (n.op->name == "clamp" && dtype(n.out[0]) == DType::i32) clip(id);
    }
    return drop_and_infer();
  }

 private:
  Status drop_and_infer() {
    NNEX_TRY(drop_unused(graph_));
    Faults faults;
    infer_types(graph_, faults);
    if (!faults.none()) return std::move(faults).first();
    return {};
  }

  DType dtype(ValueId v) const {
    const Tensor* t = graph_[v].constant.tensor();
    return t ? t->dtype() : graph_[v].type.dtype;
  }
  /// The node of that row that makes a value which nothing else reads; null: none.
  const Node* made_by(ValueId v, std::string_view row) const {
    const Node* n = v.valid() ? graph_.maker(v) : nullptr;
    return n && n->op->name == row && graph_.read_once(v) ? n : nullptr;
  }
  /// A constant of one whole number.
  std::optional<int64_t> number(const Node& n, size_t i) const {
    const Tensor* t = graph_.constant_in(n, i);
    return t && t->count() == 1 && is_int(t->dtype()) ? std::optional(int_at(*t, 0)) : std::nullopt;
  }
  /// p where a clamp's limits are +-(2^(p-1) - 1).
  std::optional<int64_t> bits_of(const Node& clamp) const {
    const auto low = number(clamp, 1), high = number(clamp, 2);
    if (!low || !high || *low != -*high || *high < 1 || *high > INT32_MAX || (*high & (*high + 1))) return std::nullopt;
    int64_t p = 1;
    while (*high >> (p - 1)) ++p;
    return p;
  }
  /// k where v is cast(x, i64) with x of i32, and x.
  std::optional<ValueId> widened(ValueId v) const {
    const Node* n = v.valid() ? graph_.maker(v) : nullptr;
    if (!n || n->op->name != "cast" || dtype(v) != DType::i64 || dtype(n->in[0]) != DType::i32) return std::nullopt;
    return n->in[0];
  }
  static std::optional<int64_t> exponent(std::optional<int64_t> power) {
    if (!power || *power < 1 || (*power & (*power - 1))) return std::nullopt;
    int64_t k = 0;
    while (int64_t{1} << k != *power) ++k;
    return k;
  }

  void replace(NodeId id, ValueId v) {
    const ValueId old = graph_[id].out[0];
    graph_.set_type(v, graph_[old].type);
    graph_.replace_uses(old, v);
    graph_.set_name(v, graph_[old].name);
  }

  void cast(NodeId id) {
    const Node& n = graph_[id];
    if (dtype(n.out[0]) != DType::i32) return;
    if (dtype(n.in[0]) == DType::i64) shift(id);
    if (const Node* answer = made_by(n.in[0], "gt")) {
      Builder b(graph_, id);
      replace(id, b("gt", {answer->in[0], answer->in[1]}, AnswerAttrs{DType::i32}));
      return;
    }
    if (const Node* pool = made_by(n.in[0], "max_pool")) {
      const Node* narrowed = graph_.maker(pool->in[0]);
      if (!narrowed || narrowed->op->name != "cast" || dtype(narrowed->in[0]) != DType::i32) return;
      Builder b(graph_, id);
      const NodeId made = b.node(*pool->op, {narrowed->in[0]}, 1, pool->attrs);
      replace(id, graph_[made].out[0]);
    }
  }

  /// cast(clamp(... cast(x, i64) ...), i32)
  void shift(NodeId id) {
    const Node* limits = made_by(graph_[id].in[0], "clamp");
    const auto bits = limits ? bits_of(*limits) : std::nullopt;
    if (!bits) return;
    CvmShiftAttrs a;
    a.precision = *bits;
    Builder b(graph_, id);
    if (const Node* product = made_by(limits->in[0], "mul")) {
      const auto x = widened(product->in[0]);
      const auto k = exponent(number(*product, 1));
      if (!x || !k || *k < 1) return;
      a.shift_bit = *k;
      return replace(id, b("cvm_left_shift", {*x}, a));
    }
    const Node* quotient = made_by(limits->in[0], "div");
    const Node* whole = quotient ? made_by(quotient->in[0], "sub") : nullptr;
    const Node* rest = whole ? made_by(whole->in[1], "mod") : nullptr;
    const Node* sum = rest && rest->in[0] == whole->in[0] ? graph_.maker(rest->in[0]) : nullptr;
    if (!sum || sum->op->name != "add" || graph_.attrs<ModAttrs>(*rest).division != Division::floor) return;
    const auto x = widened(sum->in[0]);
    const auto half = number(*sum, 1), by = number(*quotient, 1);
    const auto k = exponent(by);
    if (!x || !k || *k < 1 || *k > 32 || number(*rest, 1) != by || half != int64_t{1} << (*k - 1)) return;
    a.shift_bit = *k;
    replace(id, b("cvm_right_shift", {*x}, a));
  }

  /// select(cast(c, bool), x, y): c as it is
  void condition(NodeId id) {
    const Node* truth = graph_.maker(graph_[id].in[0]);
    if (truth && truth->op->name == "cast" && dtype(truth->out[0]) == DType::boolean &&
        dtype(truth->in[0]) == DType::i32)
      graph_.set_input(id, 0, truth->in[0]);
  }

  /// gather(x, max(min(i, n - 1), 0)): indices that are clamped
  void gather(NodeId id) {
    const auto a = graph_.attrs<GatherAttrs>(id);
    const Node* low = graph_.maker(graph_[id].in[1]);
    const Node* high = low && low->op->name == "max" ? graph_.maker(low->in[0]) : nullptr;
    const ValueId table = graph_[id].in[0];
    const Tensor* t = graph_[table].constant.tensor();
    const auto x = t ? std::optional(t->shape()) : concrete(graph_[table].type);
    if (!high || high->op->name != "min" || !x || number(*low, 1) != 0) return;
    const int64_t axis = a.axis < 0 ? a.axis + x->rank() : a.axis;
    if (axis < 0 || axis >= x->rank() || number(*high, 1) != (*x)[axis] - 1) return;
    graph_.set_input(id, 1, high->in[0]);
    graph_.set_attrs(id, GatherAttrs{a.axis, false, Outside::clamp});
  }

  void clip(NodeId id) {
    if (const auto bits = bits_of(graph_[id])) {
      Builder b(graph_, id);
      replace(id, b("cvm_clip", {graph_[id].in[0]}, CvmClipAttrs{*bits, true}));
    }
  }

  /// conv_integer(cast(x, i8), w) [+ b]   ->   conv(x, cast(w, i32), [b])
  void conv(NodeId id) {
    const Node& n = graph_[id];
    if (n.in.size() > 2) return;  // zero points
    const Node* narrowed = graph_.maker(n.in[0]);
    const Tensor* filter = graph_[n.in[1]].constant.tensor();
    if (!narrowed || narrowed->op->name != "cast" || dtype(narrowed->in[0]) != DType::i32) return;
    if (!filter || filter->dtype() != DType::i8 || dtype(n.in[0]) != DType::i8) return;
    Builder b(graph_, id);
    CastAttrs wide;
    wide.to = DType::i32;
    const ValueId w = b("cast", {n.in[1]}, wide);
    graph_.set_type(w, Type::tensor(DType::i32, dims_of(filter->shape())));
    std::vector<ValueId> in = {narrowed->in[0], w};
    NodeId whole = id;
    if (const auto bias = added(n.out[0], filter->shape()[0])) in.push_back(bias->second), whole = bias->first;
    const NodeId made = Builder(graph_, whole).node(op("conv"), std::move(in), 1, n.attrs);
    replace(whole, graph_[made].out[0]);
  }

  /// The addition of one number a channel that alone reads a value, and those numbers as a list.
  std::optional<std::pair<NodeId, ValueId>> added(ValueId v, int64_t channels) {
    if (!graph_.read_once(v)) return std::nullopt;
    const NodeId reader = graph_[v].uses[0].node;
    const Node& n = graph_[reader];
    if (n.op->name != "add") return std::nullopt;
    const ValueId other = n.in[0] == v ? n.in[1] : n.in[0];
    const Tensor* t = graph_[other].constant.tensor();
    const int64_t axes = t ? t->shape().rank() : 0;
    if (!t || t->count() != channels || axes < 1) return std::nullopt;
    const auto shape = concrete(graph_[v].type);
    if (!shape || axes != shape->rank() - 1 || t->shape()[0] != channels) return std::nullopt;
    return std::pair(reader, graph_.add_constant(t->reshaped(Shape{channels}), graph_[other].name));
  }

  Graph& graph_;
};

}  // namespace

Status raise_integers(Graph& graph) { return Raiser(graph).run(); }

}  // namespace nnex
