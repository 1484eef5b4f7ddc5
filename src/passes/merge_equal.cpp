#include <map>

#include "graph/queries.h"
#include "passes/passes.h"

namespace nnex::passes {

/// Two nodes of one block with the same operator, attributes and inputs   ->   one.
Result<int> merge_equal(ir::Graph& graph) {
  using Key = std::tuple<uint32_t, const OpDef*, const void*, std::vector<uint32_t>, size_t>;
  std::map<Key, NodeId> seen;
  int merged = 0;
  for (NodeId id : graph.order_with_blocks()) {
    const Node& node = graph[id];
    if (node.erased || !node.op->pure || !node.blocks.empty()) continue;
    std::vector<uint32_t> in;
    for (ValueId v : node.in) in.push_back(v.n);
    auto [it, fresh] =
        seen.try_emplace(Key{node.parent.n, node.op, node.attrs.get(), std::move(in), node.out.size()}, id);
    if (fresh) continue;
    const Node& first = graph[it->second];
    bool same_outputs = true, result = false;
    for (size_t o = 0; o < node.out.size(); ++o) {
      same_outputs &= node.out[o].valid() == first.out[o].valid();
      if (!node.out[o].valid()) continue;
      result |= is_result(graph, node.out[o]);
    }
    if (!same_outputs || result) continue;
    for (size_t o = 0; o < node.out.size(); ++o)
      if (node.out[o].valid()) graph.replace_uses(node.out[o], first.out[o]);
    graph.erase(id);
    ++merged;
  }
  return merged;
}

}  // namespace nnex::passes
