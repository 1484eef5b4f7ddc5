// Fusion: products with what follows them, chains of element-wise nodes.

#include "fusion/fusion.h"
#include "passes/passes.h"

namespace nnex::passes {

/// conv | linear | matmul (constant filter, or codes)  +  row  +  residual  +  activation   ->   fused { ... }
/// Sums round as before; only the order of memory traffic changes.
Result<int> fuse_products(ir::Graph& graph) {
  int fused = 0;
  for (NodeId id : graph.order_with_blocks()) {
    auto found = graph[id].erased ? std::nullopt : fusion::find_product(graph, id);
    if (!found) continue;
    fuse(graph, *std::move(found));
    ++fused;
  }
  return fused;
}

/// Element-wise nodes that feed one another   ->   fused { ... }
Result<int> fuse_chains(ir::Graph& graph) {
  int fused = 0;
  const std::vector<NodeId> nodes = graph.order_with_blocks();
  for (size_t i = nodes.size(); i-- > 0;) {
    const NodeId id = nodes[i];
    auto found = graph[id].erased || fusion::in_region(graph, id) ? std::nullopt : fusion::find_chain(graph, id);
    if (!found) continue;
    fuse(graph, *std::move(found));
    ++fused;
  }
  return fused;
}

}  // namespace nnex::passes
