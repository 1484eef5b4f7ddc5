#include <algorithm>

#include "fusion/functions.h"
#include "fusion/fusion.h"
#include "graph/queries.h"

namespace nnex::fusion {
namespace {

using kernels::Chain;

/// A node's function where it computes in float32, between values of that type or between halves, which stay float32
/// from one node of a chain to the next.
std::optional<kernels::ChainStep> step_of(const ir::Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.out.empty() || !node.out[0].valid()) return std::nullopt;
  const DType type = graph[node.out[0]].type.dtype;
  if (type != DType::f32 && type != DType::f16 && type != DType::bf16) return std::nullopt;
  return function_of(graph, id, type);
}

/// Nodes with two operands of the chain: a chain keeps at most one value more than it has of them.
int joins(const ir::Graph& graph, const std::set<NodeId>& chain) {
  int n = 0;
  for (NodeId id : chain) {
    const Node& node = graph[id];
    n += step_of(graph, id)->b >= 0 && chain.count(graph[node.in[0]].producer) &&
         chain.count(graph[node.in[1]].producer);
  }
  return n;
}

size_t outer_values(const ir::Graph& graph, const std::set<NodeId>& chain) {
  std::set<ValueId> outer;
  for (NodeId id : chain)
    for (ValueId v : graph[id].in)
      if (v.valid() && !chain.count(graph[v].producer)) outer.insert(v);
  return outer.size();
}

/// Grows a chain backwards from its last node: nodes that only the chain reads and whose results have the same extents.
std::set<NodeId> grown(const ir::Graph& graph, NodeId last) {
  std::set<NodeId> in_chain = {last};
  const auto fits = [&](ValueId v) {
    const NodeId producer = graph[v].producer;
    if (!producer.valid() || in_chain.count(producer) || !(graph[producer].parent == graph[last].parent)) return false;
    if (!step_of(graph, producer) || !same_extents(graph, v, graph[last].out[0])) return false;
    return std::all_of(graph[v].uses.begin(), graph[v].uses.end(),
                       [&](const Use& u) { return u.node.valid() && in_chain.count(u.node); });
  };
  bool grew = true;
  while (grew) {
    grew = false;
    for (NodeId n : std::vector<NodeId>(in_chain.begin(), in_chain.end()))
      for (ValueId v : graph[n].in) {
        if (!v.valid() || !fits(v)) continue;
        std::set<NodeId> more = in_chain;
        more.insert(graph[v].producer);
        if (more.size() > Chain::kMaxSteps || outer_values(graph, more) > Chain::kMaxInputs ||
            joins(graph, more) >= Chain::kTiles)
          continue;
        in_chain = std::move(more);
        grew = true;
      }
  }
  return in_chain;
}

}  // namespace

std::optional<Found> find_chain(const ir::Graph& graph, NodeId last) {
  if (!step_of(graph, last)) return std::nullopt;
  const std::set<NodeId> chain = grown(graph, last);
  if (chain.size() < 2) return std::nullopt;
  Region region(graph, last, chain);
  // Limits of a clamp are part of its function.
  std::vector<ValueId> read;
  kernels::FusedChain form;
  for (NodeId id : region.nodes)
    for (int i = 0; i <= std::max<int>(0, step_of(graph, id)->b); ++i) {
      const ValueId v = graph[id].in[static_cast<size_t>(i)];
      if (const int input = region.input(v); input >= 0 && !std::count(read.begin(), read.end(), v))
        read.push_back(v), form.inputs.push_back(input);
    }
  form.steps = steps_of(graph, region.nodes, read);
  return Found{std::move(region), {std::move(form)}};
}

}  // namespace nnex::fusion
