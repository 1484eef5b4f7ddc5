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
  if (node.in.size() < 3 || !node.in[2].valid()) return true;
  const Tensor* training = graph.constant_in(node, 2);
  return training && training->count() == 1 && int_at(*training, 0) == 0;
}

}  // namespace

/// y = copy(x)   ->   readers of y read x.
/// A copy that makes an output of the network out of an input, a constant or another output stays: it keeps the name.
Result<int> drop_copies(ir::Graph& graph) {
  int dropped = 0;
  for (NodeId id : graph.order_with_blocks()) {
    const Node& node = graph[id];
    if (node.erased || !copies(graph, node)) continue;
    bool result = false;
    for (const Use& use : graph[node.out[0]].uses) result |= !use.node.valid();
    if (result) continue;
    graph.replace_uses(node.out[0], node.in[0]);
    graph.erase(id);
    ++dropped;
  }
  return dropped;
}

}  // namespace nnex::passes
