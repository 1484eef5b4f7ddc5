#include "passes/passes.h"

namespace nnex {

/// y = copy(x)   ->   readers of y read x.
/// A copy that makes an output of the network out of an input, a constant or another output stays: it keeps the name.
Result<int> drop_copies(Graph& graph) {
  const OpDef& copy_op = op("copy");
  int dropped = 0;
  for (NodeId id : graph.order_with_blocks()) {
    const Node& node = graph[id];
    if (node.erased || node.op != &copy_op || !node.out[0].valid()) continue;
    bool result = false;
    for (const Use& use : graph[node.out[0]].uses) result |= !use.node.valid();
    if (result) continue;
    graph.replace_uses(node.out[0], node.in[0]);
    graph.erase(id);
    ++dropped;
  }
  return dropped;
}

}  // namespace nnex
