#include <set>

#include "plan/plan.h"

namespace nnex {
namespace {

constexpr int64_t kFloatContent = 8;  ///< Floats decide extents only as a handful of scales or bounds.

/// Values whose content may decide an extent or a branch somewhere from the given nodes on.
std::set<ValueId> deciding(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::set<ValueId> found;
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = graph[nodes[i]];
    bool makes_content = false;
    for (ValueId v : node.out) makes_content |= v.valid() && found.count(v);
    for (size_t p = 0; p < node.in.size(); ++p) {
      if (!node.in[p].valid()) continue;
      const auto& ports = node.op->inputs;
      const bool by_value = !ports.empty() && ports[std::min(p, ports.size() - 1)].by_value;
      if (by_value || (makes_content && node.op->pure && node.blocks.empty())) found.insert(node.in[p]);
    }
  }
  return found;
}

}  // namespace

std::vector<LiveIn> live_in(const Graph& graph, BlockId block, NodeId from) {
  std::vector<NodeId> nodes;
  for (NodeId n = from; n.valid(); n = graph[n].next) {
    nodes.push_back(n);
    for (BlockId b : graph[n].blocks) {
      std::vector<NodeId> inner = graph.order_with_blocks(b);
      nodes.insert(nodes.end(), inner.begin(), inner.end());
    }
  }
  std::set<ValueId> inside;
  for (NodeId n : nodes) {
    inside.insert(graph[n].out.begin(), graph[n].out.end());
    for (BlockId b : graph[n].blocks) inside.insert(graph[b].params.begin(), graph[b].params.end());
  }
  const std::set<ValueId> deciders = deciding(graph, nodes);
  std::set<ValueId> seen;
  std::vector<LiveIn> out;
  auto reads = [&](ValueId v) {
    if (!v.valid() || graph[v].is_constant() || inside.count(v) || !seen.insert(v).second) return;
    const Type& t = graph[v].type;
    bool content = deciders.count(v) != 0;
    if (content && t.is_tensor() && is_real(t.dtype)) {
      auto shape = concrete(t);
      content = !shape || shape->count() <= kFloatContent;
    }
    out.push_back({v, content});
  };
  for (NodeId n : nodes) {
    for (ValueId v : graph[n].in) reads(v);
    for (BlockId b : graph[n].blocks)
      for (ValueId v : graph[b].results) reads(v);
  }
  for (ValueId v : graph[block].results) reads(v);
  return out;
}

}  // namespace nnex
