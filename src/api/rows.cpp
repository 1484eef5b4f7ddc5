// Where the rows of a batch meet.

#include "api/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "api/row_rules.h"
#include "graph/infer.h"
#include "nnex/rows.h"
#include "ops/control.h"
#include "ops/fused.h"
#include "run/compile.h"

namespace nnex {
namespace {

/// Steps of a loop looked at until its values have rows where they keep them.
constexpr int kSteps = 3;

/// A walk through a graph that follows rows from its inputs to its outputs.
class Rows {
 public:
  using Kind = RowState::Kind;

  Rows(const ir::Graph& graph, const std::string& symbol)
      : graph_(graph), symbol_(symbol), inference_(graph), states_(graph.value_count()) {
    Faults faults;  // what fails leaves unknown types behind it
    for (ValueId v : graph.inputs()) inference_.bind(v, graph[v].type);
    inference_.block(kMain, faults);
  }

  /// Whether what meet() said is known, and not only that nothing tells.
  bool known() const { return known_; }

  std::string meet() {
    for (ValueId v : graph_.inputs()) {
      const Type& type = graph_[v].type;
      int64_t axis = -1;
      for (size_t a = 0; type.is_tensor() && type.dims && a < type.dims->size(); ++a)
        if (depends_on((*type.dims)[a], symbol_)) axis = static_cast<int64_t>(a);
      if (axis < 0) continue;
      if (std::string why = why_no_rows(type, axis, symbol_); !why.empty())
        return fmt::format("input '{}' is {}", graph_[v].name, type.text());
      at(v) = {Kind::rows, axis};
    }
    if (std::none_of(states_.begin(), states_.end(), [](const RowState& s) { return s.kind == Kind::rows; }))
      return fmt::format("no input has an extent '{}'", symbol_);
    if (std::string why = block(kMain); !why.empty()) return why;
    for (ValueId v : graph_.outputs())
      if (at(v).kind == Kind::count) return fmt::format("output '{}' tells how many rows there are", graph_[v].name);
    return {};
  }

 private:
  RowState& at(ValueId v) { return states_[v.n]; }
  RowState state_of(ValueId v) const { return v.valid() ? states_[v.n] : RowState(); }
  const Type& type(ValueId v) const {
    const Type& known = graph_[v].type;
    return known.is_tensor() && known.dims ? known : inference_.type(v);
  }

  /// Follows rows through the nodes of a block; where they meet, or nothing.
  std::string block(BlockId b) {
    for (NodeId id = graph_[b].first; id.valid(); id = graph_[id].next)
      if (std::string why = node(id); !why.empty()) return why;
    return {};
  }

  std::string told(NodeId id, const std::string& why) const {
    const std::string& place = graph_.place_of(id);
    return fmt::format("{} {}", place.empty() ? graph_[id].op->name : std::string_view(place), why);
  }

  std::string node(NodeId id) {
    const Node& node = graph_[id];
    if (!node.blocks.empty()) {
      if (!node.custom && is_fused(*node.op)) return region(id);
      if (node.op->name == "if_else") return branches(id);
      if (node.op->name == "loop") return loop(id);
      if (node.op->name == "scan") return scan(id);
      if (!reads_rows(id)) return {};
      known_ = false;
      return told(id, "is not known to keep rows apart");
    }
    std::vector<RowState> in;
    for (ValueId v : node.in) in.push_back(state_of(v));
    const auto type_of = [&](ValueId v) -> const Type& { return type(v); };
    const auto content_of = [&](ValueId v) { return inference_.content(v); };
    const RowAnswer answer = rows_through(graph_, node, in, {symbol_, type_of, content_of});
    known_ = answer.known;
    if (!answer.why.empty()) return told(id, answer.why);
    for (size_t o = 0; o < node.out.size(); ++o)
      if (node.out[o].valid()) at(node.out[o]) = answer.out[o];
    return {};
  }

  // ---- Nodes with blocks ----

  bool depends(ValueId v) const { return state_of(v).kind != Kind::none; }
  bool reads_rows(NodeId id) {
    const std::vector<ValueId> outer = graph_.captures(id);
    const auto depends_on_rows = [&](ValueId v) { return depends(v); };
    return std::any_of(graph_[id].in.begin(), graph_[id].in.end(), depends_on_rows) ||
           std::any_of(outer.begin(), outer.end(), depends_on_rows);
  }

  std::string region(NodeId id) {
    const Node& node = graph_[id];
    const Block& body = graph_[node.blocks[0]];
    for (size_t i = 0; i < node.in.size(); ++i) at(body.params[i]) = state_of(node.in[i]);
    if (std::string why = block(node.blocks[0]); !why.empty()) return why;
    for (size_t o = 0; o < node.out.size(); ++o)
      if (node.out[o].valid()) at(node.out[o]) = at(body.results[o]);
    return {};
  }

  /// What is one of two; false: they have rows at different places, or follow from their number.
  static bool join(RowState& a, const RowState& b) {
    if (a == b) return a.kind != Kind::count;
    if (a.kind == Kind::none) a = b;
    return a.kind == Kind::rows && (b.kind == Kind::none || a == b);
  }

  /// Says what an output is, where its extents can have such rows.
  std::string conclude(NodeId id, ValueId v, const RowState& state) {
    if (!v.valid()) return {};
    at(v) = state;
    const std::string why = state.kind == Kind::rows ? why_no_rows(type(v), state.axis, symbol_) : std::string();
    return why.empty() ? why : told(id, why);
  }

  std::string branches(NodeId id) {
    const Node& node = graph_[id];
    if (depends(node.in[0])) return told(id, "chooses for all rows");
    for (BlockId b : node.blocks)
      if (std::string why = block(b); !why.empty()) return why;
    for (size_t o = 0; o < node.out.size(); ++o) {
      RowState state = at(graph_[node.blocks[0]].results[o]);
      if (!join(state, at(graph_[node.blocks[1]].results[o]))) return told(id, "makes of rows one thing or another");
      if (std::string why = conclude(id, node.out[o], state); !why.empty()) return why;
    }
    return {};
  }

  /// Inputs: count, condition, states; body: (iteration, condition, states) -> (condition, states, stacked).
  std::string loop(NodeId id) {
    const Node& node = graph_[id];
    const Block& body = graph_[node.blocks[0]];
    if (depends(node.in[0]) || (node.in.size() > 1 && depends(node.in[1])))
      return told(id, "takes as many steps as rows say");
    const size_t states = node.in.size() > 2 ? node.in.size() - 2 : 0;
    for (size_t i = 0; i < body.params.size(); ++i) at(body.params[i]) = i < 2 ? RowState() : state_of(node.in[i]);
    if (std::string why = settle(id, 2, 1, states); !why.empty()) return why;
    if (depends(body.results[0])) return told(id, "takes as many steps as rows say");
    for (size_t o = 0; o < node.out.size(); ++o) {
      RowState state = at(o < states ? body.params[2 + o] : body.results[1 + o]);
      if (o >= states && state.kind == Kind::rows) ++state.axis;
      if (std::string why = conclude(id, node.out[o], state); !why.empty()) return why;
    }
    return {};
  }

  /// Inputs: states, scanned; body: (states, a slice of each) -> (states, a slice of each output).
  std::string scan(NodeId id) {
    const Node& node = graph_[id];
    const Block& body = graph_[node.blocks[0]];
    const auto& a = graph_.attrs<ScanAttrs>(node);
    const size_t states = node.in.size() - static_cast<size_t>(a.inputs);
    const auto along = [&](const Ints& axes, size_t i, ValueId v) {
      const int64_t axis = i < axes.size() ? axes[i] : 0;
      return axis < 0 && type(v).dims ? axis + static_cast<int64_t>(type(v).dims->size()) : axis;
    };
    for (size_t i = 0; i < node.in.size(); ++i) {
      RowState state = state_of(node.in[i]);
      if (i >= states && state.kind == Kind::rows) {
        const int64_t axis = along(a.input_axes, i - states, node.in[i]);
        if (axis == state.axis) return told(id, "takes a step for each row");
        state.axis -= axis < state.axis ? 1 : 0;
      }
      at(body.params[i]) = state;
    }
    if (std::string why = settle(id, 0, 0, states); !why.empty()) return why;
    for (size_t o = 0; o < node.out.size(); ++o) {
      if (!node.out[o].valid()) continue;
      RowState state = at(o < states ? body.params[o] : body.results[o]);
      if (o >= states && state.kind == Kind::rows)
        state.axis += along(a.output_axes, o - states, node.out[o]) <= state.axis ? 1 : 0;
      if (std::string why = conclude(id, node.out[o], state); !why.empty()) return why;
    }
    return {};
  }

  /// Follows the body until what it carries has rows where it had them: parameters from `first`, results from `made`.
  std::string settle(NodeId id, size_t first, size_t made, size_t states) {
    const Block& body = graph_[graph_[id].blocks[0]];
    for (int step = 0; step < kSteps; ++step) {
      if (std::string why = block(graph_[id].blocks[0]); !why.empty()) return why;
      bool same = true;
      for (size_t i = 0; i < states; ++i) {
        RowState state = at(body.params[first + i]);
        if (!join(state, at(body.results[made + i]))) return told(id, "carries rows to other places");
        same = same && state == at(body.params[first + i]);
        at(body.params[first + i]) = state;
      }
      if (same) return {};
    }
    return told(id, "carries rows to other places");
  }

  const ir::Graph& graph_;
  const std::string& symbol_;
  Inference inference_;
  std::vector<RowState> states_;
  bool known_ = true;
};

}  // namespace

RowsMeeting where_rows_meet(const ir::Graph& graph, const std::string& symbol) {
  Rows rows(graph, symbol);
  std::string why = rows.meet();
  return {std::move(why), rows.known()};
}

std::string where_rows_meet(const Model& model, const std::string& symbol) {
  return where_rows_meet(*GraphView(model), symbol).why;
}

}  // namespace nnex
