// Where the rows of a batch meet.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "api/rows.h"
#include "nnex/rows.h"
#include "ops/fused.h"
#include "run/compile.h"

namespace nnex {
namespace {

/// How many extents have the symbol; nothing where that is not known.
std::optional<size_t> extents_of(const Type& type, const std::string& symbol) {
  if (!type.is_tensor() || !type.dims) return std::nullopt;
  size_t found = 0;
  for (const Dim& d : *type.dims) {
    if (d.has_unknown()) return std::nullopt;
    const std::vector<std::string> symbols = d.symbols();
    found += std::find(symbols.begin(), symbols.end(), symbol) != symbols.end() ? 1 : 0;
  }
  return found;
}

/// A walk through a graph that marks what follows from elements of rows.
class Rows {
 public:
  Rows(const ir::Graph& graph, const std::string& symbol)
      : graph_(graph), symbol_(symbol), marked_(graph.value_count()) {
    for (ValueId v : graph.inputs()) mark_by_type(v);
  }

  std::string meet() {
    if (std::none_of(marked_.begin(), marked_.end(), [](bool m) { return m; }))
      return fmt::format("no input has an extent '{}'", symbol_);
    for (NodeId id : graph_.order_with_blocks())
      if (const ValueId v = met_in(id); v.valid())
        return fmt::format("{} makes {} of all rows", graph_.place_of(id), graph_[v].type.text());
    return {};
  }

 private:
  bool is_marked(ValueId v) const { return v.valid() && marked_[v.n]; }
  void mark_by_type(ValueId v) { marked_[v.n] = extents_of(graph_[v].type, symbol_) != 0; }

  /// The first output of a node in which rows have met; invalid: they have not.
  ValueId met_in(NodeId id) {
    const Node& node = graph_[id];
    const bool region = !node.custom && is_fused(*node.op);
    if (!node.blocks.empty() && !region) {  // what their nodes do is asked of them: counters and conditions are no rows
      for (BlockId block : node.blocks)
        for (ValueId v : graph_[block].params) mark_by_type(v);
      for (ValueId v : node.out)
        if (v.valid()) mark_by_type(v);
      return {};
    }
    if (region)
      for (size_t i = 0; i < node.in.size(); ++i) marked_[graph_[node.blocks[0]].params[i].n] = is_marked(node.in[i]);
    if (std::none_of(node.in.begin(), node.in.end(), [&](ValueId v) { return is_marked(v); }) || measures(node))
      return {};
    for (ValueId v : node.out) {
      if (!v.valid()) continue;
      marked_[v.n] = true;
      if (extents_of(graph_[v].type, symbol_).value_or(1) != 1) return v;
    }
    return {};
  }

  /// Whether it reads the extents of its input alone.
  static bool measures(const Node& node) {
    return !node.custom && (node.op->name == "shape" || node.op->name == "size");
  }

  const ir::Graph& graph_;
  const std::string& symbol_;
  std::vector<bool> marked_;
};

}  // namespace

std::string where_rows_meet(const ir::Graph& graph, const std::string& symbol) { return Rows(graph, symbol).meet(); }

std::string where_rows_meet(const Model& model, const std::string& symbol) {
  return where_rows_meet(*GraphView(model), symbol);
}

}  // namespace nnex
