// Operands of opsets that broadcast on request, or not at all: until 6 the last operand is a run of the result's axes,
// which an attribute names, and until 7 those of Min, Max, Sum and Mean have the result's shape.

#include <algorithm>
#include <utility>

#include "ops/arithmetic.h"
#include "ops/shape.h"
#include "standards/onnx/export_graph.h"
#include "standards/onnx/legalize.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

/// Constants of more elements are repeated by a node.
constexpr int64_t kMaxExpanded = 1 << 12;

bool is_one(const Dim& d) { return d.is_number() && d.value() == 1; }

/// The form in which an opset has what the row is there; null: it has other means, or none.
const Form* form_of(const OpDef& op, int64_t opset) {
  for (const Spelling& s : op.spelled)
    if (s.format == Format::onnx && s.domain.empty() && s.ports.empty())
      if (const Form* form = find_form("", s.name, opset)) return form;
  return nullptr;
}

/// The operand without some of its axes, all of extent 1.
ValueId without_axes(Legalized& l, ValueId v, const Ints& axes, const Dims& kept) {
  if (axes.empty()) return v;
  if (const auto shape = shape_of(kept); shape && l.graph[v].constant.tensor()) return l.constant_as(v, *shape);
  const ValueId made = l.b("squeeze", {v, l.ints(axes)});
  l.graph.set_type(made, Type::tensor(l.type_of_value(v).dtype, kept));
  return made;
}

ValueId with_axes(Legalized& l, ValueId v, size_t rank) {
  const Type type = l.type_of_value(v);
  Dims dims = *type.dims;
  Ints axes;
  for (size_t axis = dims.size(); axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  if (axes.empty()) return v;
  dims.resize(rank, Dim(1));
  const ValueId made = l.b("unsqueeze", {v, l.ints(axes)});
  l.graph.set_type(made, Type::tensor(type.dtype, std::move(dims)));
  return made;
}

/// Input i as the run of y's axes that it has elements on, and axes behind them, which the writer leaves out. False: it
/// has no such run, or it is not the axis `only`, or it ends before y's last where it may not.
bool lay_along(Legalized& l, size_t i, const Dims& y, bool may_end, std::optional<size_t> only = std::nullopt) {
  const Dims operand = *l.type(i).dims;
  if (operand.size() > y.size()) return false;
  const size_t from = y.size() - operand.size();
  if (!only && lies_at(operand, y, from)) return true;
  size_t first = y.size(), end = y.size();
  for (size_t k = 0; k < operand.size(); ++k)
    if (!is_one(operand[k])) first = std::min(first, from + k), end = from + k + 1;
  Dims run;
  Ints others;
  for (size_t k = 0; k < operand.size(); ++k)
    if (from + k >= first && from + k < end)
      run.push_back(operand[k]);
    else
      others.push_back(static_cast<int64_t>(k));
  if (!lies_at(run, y, first) || (only && (run.size() != 1 || first != *only))) return false;
  if (!may_end && !run.empty() && end != y.size()) return false;
  const ValueId before = operand_before_axes(l.graph, l.in(i));
  if (before.valid() && l.type_of_value(before).dims == MaybeDims(run) && from == first) return true;
  const ValueId inner = without_axes(l, l.in(i), others, run);
  l.graph.set_input(l.id, i, run.empty() ? inner : with_axes(l, inner, y.size() - first));
  return true;
}

/// The tensor as often as it takes to have y's extents, where they are known or another input has them.
std::optional<ValueId> repeats(Legalized& l, const Dims& operand, const Dims& y) {
  if (const auto whole = shape_of(y)) {
    Ints times;
    for (size_t k = 0; k < y.size(); ++k) times.push_back(is_one(operand[k]) ? (*whole)[static_cast<int64_t>(k)] : 1);
    return l.ints(times);
  }
  if (!std::all_of(operand.begin(), operand.end(), is_one)) return std::nullopt;
  for (size_t other = 0; other < l.node().in.size(); ++other)
    if (const auto dims = l.has(other) ? l.type(other).dims : std::nullopt;
        dims && dims->size() == y.size() && lies_at(*dims, y, 0))
      return l.b("shape", {l.in(other)}, ShapeAttrs{});
  return std::nullopt;
}

/// Input i in the shape of the result.
void expand(Legalized& l, size_t i, const Dims& y) {
  const Type type = l.type(i);
  if (type.dims->size() > y.size()) return;
  Dims operand(y.size() - type.dims->size(), Dim(1));
  Ints axes;
  for (size_t axis = 0; axis < operand.size(); ++axis) axes.push_back(static_cast<int64_t>(axis));
  operand.insert(operand.end(), type.dims->begin(), type.dims->end());
  for (size_t k = 0; k < y.size(); ++k)
    if (!is_one(operand[k]) && !(operand[k] == y[k] && !y[k].has_unknown())) return;
  const auto times = repeats(l, operand, y);
  if (!times) return;
  ValueId v = l.in(i);
  const Tensor* const t = l.graph[v].constant.tensor();
  if (const auto shape = shape_of(operand); t && shape)
    v = l.constant_as(v, *shape);
  else if (!axes.empty())
    v = l.b("unsqueeze", {v, l.ints(axes)});
  const auto whole = shape_of(y);
  const Tensor* const one = l.graph[v].constant.tensor();
  if (!one) l.graph.set_type(v, Type::tensor(type.dtype, operand));
  if (one && whole && whole->count() <= kMaxExpanded && one->count() == 1) {
    Tensor all = std::move(Tensor::make(type.dtype, *whole)).value();
    for (int64_t n = 0; n < all.count(); ++n)
      std::copy_n(one->data(), one->bytes(), all.mutable_data() + n * one->bytes());
    return l.graph.set_input(l.id, i, l.b.constant(std::move(all)));
  }
  const ValueId made = l.b("tile", {v, *times});
  l.graph.set_type(made, Type::tensor(type.dtype, y));
  l.graph.set_input(l.id, i, made);
}

/// Rows, and what says the same of their operands exchanged.
constexpr std::pair<std::string_view, std::string_view> kExchanged[] = {{"add", "add"}, {"mul", "mul"}, {"and", "and"},
                                                                        {"or", "or"},   {"xor", "xor"}, {"eq", "eq"},
                                                                        {"lt", "gt"},   {"gt", "lt"}};

/// Where the first operand is the smaller one and the other may be.
bool exchange(Legalized& l, int64_t opset) {
  const auto row = std::find_if(std::begin(kExchanged), std::end(kExchanged),
                                [&](const auto& r) { return r.first == l.node().op->name; });
  if (row == std::end(kExchanged)) return false;
  const NodeId made = l.b.node(op(row->second), {l.in(1), l.in(0)}, 1, l.node().attrs);
  l.graph.set_type(l.graph[made].out[0], l.graph[l.node().out[0]].type);
  l.replace(l.graph[made].out[0]);
  Legalized exchanged(l.graph, made, l.bits);
  fit_operands(exchanged, opset);
  return true;
}

/// prelu(x, slope)   ->   relu(x) - relu(-x) * slope, where the slope has more than a number a channel
void slope_by_channel(Legalized& l, int64_t opset) {
  const auto x = l.type(0).dims, slope = l.type(1).dims;
  const bool is_scalar = slope && std::all_of(slope->begin(), slope->end(), is_one);
  if (is_scalar && slope->size() == 1) return;
  if (is_scalar) return l.graph.set_input(l.id, 1, l.reshaped(l.in(1), {1}));
  if (x && slope && x->size() > 1 && lay_along(l, 1, *x, true, 1)) return;
  const Type type = l.graph[l.node().out[0]].type;
  const auto made = [&](std::string_view row, std::vector<ValueId> in) {
    const ValueId v = l.b(row, std::move(in));
    l.graph.set_type(v, type);
    return v;
  };
  const ValueId x_below = l.b("relu", {made("neg", {l.in(0)})}, NansAttrs{});
  const ValueId x_above = l.b("relu", {l.in(0)}, NansAttrs{});
  for (ValueId v : {x_below, x_above}) l.graph.set_type(v, type);
  const ValueId product = made("mul", {x_below, l.in(1)});
  l.replace(made("sub", {x_above, product}));
  Legalized last(l.graph, l.graph[product].producer, l.bits);
  fit_operands(last, opset);
}

}  // namespace

bool lies_at(const Dims& operand, const Dims& y, size_t axis) {
  if (axis + operand.size() > y.size()) return false;
  for (size_t k = 0; k < operand.size(); ++k)
    if (!(operand[k] == y[axis + k]) || operand[k].has_unknown()) return false;
  return true;
}

ValueId operand_before_axes(const ir::Graph& graph, ValueId v) {
  const Node* const n = graph.producer(v);
  if (!n || n->op->name != "unsqueeze" || n->in.size() < 2) return {};
  const Tensor* const axes = graph.constant_in(*n, 1);
  const auto dims = graph[v].type.dims;
  if (!axes || !dims) return {};
  const auto rank = static_cast<int64_t>(dims->size());
  for (int64_t i = 0; i < axes->count(); ++i)
    if (const int64_t axis = int_at(*axes, i); (axis < 0 ? axis + rank : axis) != rank - axes->count() + i) return {};
  return n->in[0];
}

void fit_operands(Legalized& l, int64_t opset) {
  const Form* form = form_of(*l.node().op, opset);
  if (!form || form->in.empty() || l.node().out.empty()) return;
  if (!l.node().out[0].valid()) return;  // of an LSTM nobody may read but what comes after
  if (form->in.back().by_channel) return slope_by_channel(l, opset);
  const MaybeDims y = l.graph[l.node().out[0]].type.dims;
  if (!y || !form->in.back().is_whole) return;
  const size_t inputs = l.node().in.size();
  const auto is_whole = [&](size_t i) {
    const auto dims = l.type(i).dims;
    return dims && dims->size() == y->size() && lies_at(*dims, *y, 0);
  };
  const bool broadcasts = form->find("broadcast") != nullptr;
  if (broadcasts && inputs == 2 && !is_whole(0) && is_whole(1) && exchange(l, opset)) return;
  for (size_t i = 0; i < inputs; ++i) {
    const FormPort& port = form->in[std::min(i, form->in.size() - 1)];
    if (!port.is_whole || !l.has(i) || !l.type(i).dims || is_whole(i)) continue;
    if (broadcasts && i + 1 == form->in.size() && lay_along(l, i, *y, form->find("axis") != nullptr)) continue;
    expand(l, i, *y);
  }
}

}  // namespace nnex::onnx_format
