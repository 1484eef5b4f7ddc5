#include "graph/intervals.h"

#include <algorithm>

#include "graph/infer.h"
#include "ops/traits.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

/// The numbers an integer type holds.
std::optional<Interval> range_of(DType t) {
  switch (t) {
    case DType::boolean:
      return Interval{0, 1};
    case DType::i8:
      return Interval{-128, 127};
    case DType::u8:
      return Interval{0, 255};
    case DType::i16:
      return Interval{-32768, 32767};
    case DType::u16:
      return Interval{0, 65535};
    case DType::i32:
      return kAllInt32;
    default:
      return std::nullopt;
  }
}

}  // namespace

Intervals::Intervals(const ir::Graph& graph, const std::map<ValueId, Interval>& known)
    : graph_(graph), of_(graph.value_count()), open_(graph.value_count()) {
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& v = graph[ValueId{n}];
    if (!v.type.is_tensor()) continue;
    if (v.is_constant())
      of_[n] = constant(ValueId{n});
    else if (!v.producer.valid())
      of_[n] = range_of(v.type.dtype);
  }
  for (const auto& [v, interval] : known) of_[v.n] = interval;
  for (NodeId id : graph.order()) node(id);
}

/// The least and the greatest element.
std::optional<Interval> Intervals::constant(ValueId v) const {
  const Tensor* t = graph_[v].constant.tensor();
  if (!t || (!range_of(t->dtype()) && t->dtype() != DType::i64) || t->count() == 0) return std::nullopt;
  Interval i = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for_numbers(*t, 0, 1, t->count(), [&](int64_t x) { i.low = std::min(i.low, x), i.high = std::max(i.high, x); });
  return i.inside(-kIntervalLimit, kIntervalLimit) ? std::optional(i) : std::nullopt;
}

/// The numbers of a constant, be they stored as bytes.
const Tensor* Intervals::content(ValueId v) const {
  const Node* producer = graph_.producer(v);
  const bool widens = producer && producer->op->name == "cast" && graph_[v].type.dtype == DType::i32 &&
                      graph_[producer->in[0]].type.is_tensor() && graph_[producer->in[0]].type.dtype == DType::i8;
  if (widens) v = producer->in[0];
  const Tensor* t = graph_[v].constant.tensor();
  return t && is_int(t->dtype()) ? t : nullptr;
}

/// The node's rule, having run; a row without one has what its traits say: answers, and elements of its operands.
IntervalCall Intervals::bounded(const Node& node) const {
  std::vector<IntervalCall::Operand> in;
  for (ValueId v : node.in)
    in.push_back(v.valid() ? IntervalCall::Operand{true, of_[v.n], concrete(graph_[v].type), content(v)}
                           : IntervalCall::Operand{});
  const OpDef& op = *node.op;
  IntervalCall call(op, node.attrs.get(), std::move(in), concrete(graph_[node.out[0]].type));
  if (op.interval) {
    op.interval(call);
  } else if (is_answer(op)) {
    call.result({0, 1});
  } else if (const auto x = call.in(0); x && op.elements == Elements::of_first) {
    call.result(*x);
    call.other_results(*x);
  } else if (x && op.elements == Elements::of_any) {
    std::optional<Interval> all = x;
    for (size_t i = 1; i < call.inputs() && all; ++i) {
      const auto other = call.in(i);
      all = other ? std::optional(hull(*all, *other)) : std::nullopt;
    }
    if (all) call.result(*all);
  }
  return call;
}

void Intervals::node(NodeId id) {
  const Node& node = graph_[id];
  for (ValueId v : node.out)
    if (v.valid() && graph_[v].type.is_tensor()) of_[v.n] = range_of(graph_[v].type.dtype);
  if (node.out.empty() || !node.out[0].valid() || !graph_[node.out[0]].type.is_tensor()) return;
  const DType type = graph_[node.out[0]].type.dtype;
  const auto range =
      type == DType::i64 ? std::optional(Interval{1 - kIntervalLimit, kIntervalLimit - 1}) : range_of(type);
  if (!range) return;
  const IntervalCall call = bounded(node);
  if (const auto& others = call.other_results())
    for (size_t o = 1; o < node.out.size(); ++o)
      if (node.out[o].valid()) of_[node.out[o].n] = *others;
  const std::optional<Interval>& result = call.result();
  const uint32_t y = node.out[0].n;
  const bool whole = type == DType::i32 && !content(node.out[0]);  // no stored filter
  const bool from_open =
      std::any_of(node.in.begin(), node.in.end(), [&](ValueId v) { return v.valid() && open_[v.n]; });
  const bool fits = result && result->inside(range->low, range->high);
  if (fits) of_[y] = *result;
  const bool overflows = result && (!fits || call.partial() > range->high);
  const bool bounded = result && !(overflows && from_open);
  open_[y] = !bounded || (from_open && of_[y] && (of_[y]->low == range->low || of_[y]->high == range->high));
  if (whole) nodes_.push_back({id, result.value_or(*range), call.partial(), overflows, bounded});
}

}  // namespace nnex
