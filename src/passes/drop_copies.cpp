#include "graph/queries.h"
#include "passes/passes.h"
#include "tensor/convert.h"

namespace nnex::passes {
namespace {

/// A copy, or a dropout outside training whose mask nobody reads.
bool copies(const ir::Graph& graph, const Node& node) {
  if (!node.out[0].valid()) return false;
  if (node.op == &op("copy")) return true;
  if (node.op != &op("dropout")) return false;
  if (node.out.size() > 1 && node.out[1].valid() && !graph[node.out[1]].uses.empty()) return false;
  return !draws(graph, node);
}

/// A copy in the place of a node that copies, for the name that its result has.
void become_copy(ir::Graph& graph, NodeId id) {
  const ValueId old = graph[id].out[0];
  const ValueId copy = Builder(graph, id)("copy", {graph[id].in[0]});
  graph.set_type(copy, graph[old].type);
  graph.replace_uses(old, copy);
  graph.set_name(copy, graph[old].name);
  graph.erase(id);
}

}  // namespace

/// y = copy(x)   ->   readers of y read x.
/// A copy that makes an output of the network out of an input, a constant or another output stays: it keeps the name.
Result<int> drop_copies(ir::Graph& graph) {
  int dropped = 0;
  for (NodeId id : graph.order_with_blocks()) {
    const Node& node = graph[id];
    if (node.erased || !copies(graph, node)) continue;
    if (is_result(graph, node.out[0])) {
      if (node.op == &op("copy")) continue;
      become_copy(graph, id);
      ++dropped;
      continue;
    }
    graph.replace_uses(node.out[0], node.in[0]);
    graph.erase(id);
    ++dropped;
  }
  return dropped;
}

}  // namespace nnex::passes
