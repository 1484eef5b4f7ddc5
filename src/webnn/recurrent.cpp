#include "ops/recurrent.h"

#include <algorithm>

#include "base/try.h"
#include "ops/join.h"
#include "webnn/rules.h"

namespace nnex::ml {
namespace {

/// What tells a gru from an lstm.
struct Kind {
  int64_t gates = 3;
  size_t activations = 2;
  int64_t rows = 6;  ///< Most rows in a weight of hidden size 1 that the specification keeps valid.
  bool cells = false;
};
constexpr Kind kGru = {3, 2, 6, false};
constexpr Kind kLstm = {4, 3, 8, true};

int64_t directions_of(const Step& step) { return step.word("direction") == "both" ? 2 : 1; }

/// hiddenSize is at least 1, and all gates of it are a valid extent; the activations are as many as there are
/// functions.
Status check_sizes(const Step& step, const Kind& kind) {
  const int64_t hidden = step.integer("hiddenSize");
  if (hidden < 1) return step.fail("hiddenSize is 0; needed at least 1");
  if (bounded_mul(hidden, kind.rows) > kMaxDimension)
    return step.fail("hiddenSize is {}; {} times that is more than {}", hidden, kind.rows, kMaxDimension);
  if (!step.given("activations")) return {};
  const size_t n = std::get<Texts>(step.arg("activations")).size();
  if (n == kind.activations) return {};
  return step.fail("activations has {} items; needed {}", n, kind.activations);
}

/// Shapes of a layer over steps.
Status layer_rule(Step& step, const Kind& kind) {
  const Ints x = step.shape("input");
  const int64_t steps = step.integer("steps"), hidden = step.integer("hiddenSize"), dirs = directions_of(step);
  NNEX_TRY(check_sizes(step, kind));
  if (steps < 1) return step.fail("steps is 0; needed at least 1");
  if (x[0] != steps) return step.fail("steps is {}; the input has {}", steps, x[0]);
  const int64_t rows = kind.gates * hidden;
  NNEX_TRY(step.need_shape("weight", {dirs, rows, x[2]}));
  NNEX_TRY(step.need_shape("recurrentWeight", {dirs, rows, hidden}));
  for (std::string_view name : {"bias", "recurrentBias"}) NNEX_TRY(step.need_shape(name, {dirs, rows}));
  NNEX_TRY(step.need_shape("initialHiddenState", {dirs, x[1], hidden}));
  if (kind.cells) {
    NNEX_TRY(step.need_shape("peepholeWeight", {dirs, 3 * hidden}));
    NNEX_TRY(step.need_shape("initialCellState", {dirs, x[1], hidden}));
  }
  return {};
}

/// Shapes of one step.
Status cell_rule(Step& step, const Kind& kind) {
  const Ints x = step.shape("input");
  const int64_t hidden = step.integer("hiddenSize");
  NNEX_TRY(check_sizes(step, kind));
  const int64_t rows = kind.gates * hidden;
  NNEX_TRY(step.need_shape("weight", {rows, x[1]}));
  NNEX_TRY(step.need_shape("recurrentWeight", {rows, hidden}));
  NNEX_TRY(step.need_shape("hiddenState", {x[0], hidden}));
  if (kind.cells) NNEX_TRY(step.need_shape("cellState", {x[0], hidden}));
  for (std::string_view name : {"bias", "recurrentBias"}) NNEX_TRY(step.need_shape(name, {rows}));
  if (kind.cells) NNEX_TRY(step.need_shape("peepholeWeight", {3 * hidden}));
  return {};
}

// ---- Nodes

/// Which gate of the layout each gate of the engine is: z r n of a gru, i o f g of an lstm.
Ints gate_order(std::string_view layout) {
  if (layout == "rzn") return {1, 0, 2};
  if (layout == "ifgo") return {0, 3, 1, 2};
  return {};  // zrn, iofg
}

/// The gates along an axis in the engine's order.
ValueId ordered_gates(Importer& to, ValueId v, int64_t axis) {
  const Ints order = gate_order(to.step().word("layout"));
  if (!v.valid() || order.empty()) return v;
  SplitAttrs attrs;
  attrs.axis = axis;
  const int64_t each = to.shape(v)[axis] / static_cast<int64_t>(order.size());
  const ValueId sizes = to.ints(Ints(order.size(), each));
  const auto parts = to.several("split", {v, sizes}, order.size(), attrs);
  if (parts.empty()) return {};
  std::vector<ValueId> sorted;
  for (int64_t gate : order) sorted.push_back(parts[static_cast<size_t>(gate)]);
  return to("concat", sorted, AxisAttrs{axis});
}

/// Both biases behind each other, each with its gates in order; a missing one is zeros.
ValueId joined_bias(Importer& to, int64_t axis) {
  ValueId b = to.in("bias"), r = to.in("recurrentBias");
  if (!b.valid() && !r.valid()) return {};
  const ValueId there = b.valid() ? b : r;
  for (ValueId* v : {&b, &r})
    if (v->valid())
      *v = ordered_gates(to, *v, axis);
    else
      *v = to.zeros(to.dtype(there), to.shape(there));
  return to("concat", {b, r}, AxisAttrs{axis});
}

Texts activations_of(const Step& step) {
  return step.given("activations") ? std::get<Texts>(step.arg("activations")) : Texts{};
}

Direction direction_of(const Step& step) {
  const std::string& word = step.word("direction");
  return word == "both" ? Direction::bidirectional : word == "backward" ? Direction::reverse : Direction::forward;
}

/// w, r, b of a layer or cell whose gates lie along `axis`.
std::vector<ValueId> weights_of(Importer& to, int64_t axis) {
  const ValueId w = ordered_gates(to, to.in("weight"), axis), r = ordered_gates(to, to.in("recurrentWeight"), axis);
  return {to.in("input"), w, r, joined_bias(to, axis)};
}

/// The states, then the sequence.
void give_layer(Importer& to, const std::vector<ValueId>& y_and_states) {
  for (size_t i = 1; i < y_and_states.size(); ++i) to.result(y_and_states[i]);
  if (!y_and_states.empty() && to.step().flag("returnSequence")) to.result(y_and_states[0]);
}

}  // namespace

Status gru_rule(Step& step) { return layer_rule(step, kGru); }
Status lstm_rule(Step& step) { return layer_rule(step, kLstm); }
Status gru_cell_rule(Step& step) { return cell_rule(step, kGru); }
Status lstm_cell_rule(Step& step) { return cell_rule(step, kLstm); }

void import_gru(Importer& to) {
  GruAttrs attrs;
  attrs.direction = direction_of(to.step());
  attrs.activations = activations_of(to.step());
  attrs.reset_after = to.step().flag("resetAfter");
  std::vector<ValueId> in = weights_of(to, 1);
  in.insert(in.end(), {ValueId{}, to.in("initialHiddenState")});
  give_layer(to, to.several("gru", in, 2, attrs));
}

void import_lstm(Importer& to) {
  LstmAttrs attrs;
  attrs.direction = direction_of(to.step());
  attrs.activations = activations_of(to.step());
  std::vector<ValueId> in = weights_of(to, 1);
  in.insert(in.end(), {ValueId{}, to.in("initialHiddenState"), to.in("initialCellState"), to.in("peepholeWeight")});
  give_layer(to, to.several("lstm", in, 3, attrs));
}

void import_gru_cell(Importer& to) {
  GruCellAttrs attrs;
  attrs.activations = activations_of(to.step());
  attrs.reset_after = to.step().flag("resetAfter");
  std::vector<ValueId> in = weights_of(to, 0);
  in.push_back(to.in("hiddenState"));
  to.result(to("gru_cell", in, attrs));
}

void import_lstm_cell(Importer& to) {
  LstmCellAttrs attrs;
  attrs.activations = activations_of(to.step());
  std::vector<ValueId> in = weights_of(to, 0);
  in.insert(in.end(), {to.in("hiddenState"), to.in("cellState"), to.in("peepholeWeight")});
  for (ValueId v : to.several("lstm_cell", in, 2, attrs)) to.result(v);
}

}  // namespace nnex::ml
