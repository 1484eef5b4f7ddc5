#include <algorithm>

#include "passes/passes.h"

namespace nnex::passes {

/// Takes away nodes whose outputs nobody reads, and names of single outputs that nobody reads.
Result<int> drop_unused(ir::Graph& graph) {
  int dropped = 0;
  std::vector<NodeId> nodes = graph.order_with_blocks();
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = graph[nodes[i]];
    if (node.erased) continue;
    auto unread = [&](ValueId v) { return !v.valid() || graph[v].uses.empty(); };
    if (std::all_of(node.out.begin(), node.out.end(), unread)) {
      graph.erase(nodes[i]);
      ++dropped;
      continue;
    }
    if (!node.blocks.empty()) continue;
    for (size_t o = 0; o < node.out.size(); ++o) {
      const auto& ports = node.op->outputs;
      const bool optional =
          o < ports.size() && (ports[o].arity == Arity::optional || (o > 0 && ports[o].arity == Arity::one));
      if (!optional || !node.out[o].valid() || !unread(node.out[o])) continue;
      graph.drop_output(nodes[i], o);
      ++dropped;
    }
  }
  return dropped;
}

}  // namespace nnex::passes
