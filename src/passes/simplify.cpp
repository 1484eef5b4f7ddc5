#include "passes/simplify.h"

#include "graph/queries.h"
#include "passes/passes.h"

namespace nnex::passes {
namespace simplification {

std::optional<std::pair<ValueId, double>> with_number(const ir::Graph& graph, const Node& n) {
  for (size_t i : {size_t{0}, size_t{1}})
    if (auto c = real_constant(graph, n.in[i])) return std::pair(n.in[1 - i], *c);
  return std::nullopt;
}

bool become(ir::Graph& graph, NodeId id, ValueId y) {
  const ValueId old = graph[id].out[0];
  graph.set_type(y, graph[old].type);
  graph.set_name(y, graph[old].name);
  graph.replace_uses(old, y);
  graph.erase(id);
  return true;
}

}  // namespace simplification

/// Activations and normalisations that a network spells out, and pools that are reductions   ->   the operator itself.
/// Results differ by the roundings that the spelled-out form has more: a few units in the last place.
Result<int> simplify(ir::Graph& graph) {
  using namespace simplification;
  int changed = 0;
  for (NodeId id : graph.order_with_blocks()) {
    if (graph[id].erased || graph[id].out.size() != 1) continue;
    changed += power(graph, id) ||
               (is_f32(graph, graph[id].out[0]) && (activation_of_product(graph, id) || activation_of_sum(graph, id) ||
                                                    batch_normalization(graph, id) || pool(graph, id)));
  }
  return changed;
}

}  // namespace nnex::passes
