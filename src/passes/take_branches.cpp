#include "graph/queries.h"
#include "passes/passes.h"
#include "tensor/convert.h"

namespace nnex::passes {
namespace {

/// The branch that always runs; nothing: that is not known.
std::optional<BlockId> known_branch(const ir::Graph& graph, const Node& node) {
  if (node.op->name != "if_else") return std::nullopt;
  const Tensor* condition = graph.constant_in(node, 0);
  if (!condition || condition->count() != 1) return std::nullopt;
  const BlockId taken = node.blocks[int_at(*condition, 0) != 0 ? 0 : 1];
  const bool fits = graph[taken].params.empty() && graph[taken].results.size() >= node.out.size();
  return fits ? std::optional(taken) : std::nullopt;
}

/// Who reads a result of the node reads the branch's, which has that result's name: a copy of it, where it is known by
/// another.
void give(ir::Graph& graph, NodeId id, size_t o, ValueId made) {
  const ValueId old = graph[id].out[o];
  const bool own = graph[made].producer.valid() && graph[made].uses.size() == 1;  // the block's result alone
  if (!own && is_result(graph, old)) made = Builder(graph, id)("copy", {made});
  if (own || is_result(graph, old)) graph.set_name(made, graph[old].name);
  graph.replace_uses(old, made);
}

}  // namespace

/// The nodes of the branch that a constant condition chooses stand in the place of the choice.
///     y = if_else(true) { a = f(x) } else { b = g(x) }   ->   y = f(x)
Result<int> take_branches(ir::Graph& graph) {
  int taken = 0;
  for (NodeId id : graph.order_with_blocks()) {
    if (graph[id].erased) continue;
    const auto branch = known_branch(graph, graph[id]);
    if (!branch) continue;
    for (NodeId inner : graph.order(*branch)) graph.move_before(inner, id);
    const std::vector<ValueId> results = graph[*branch].results;
    for (size_t o = 0; o < graph[id].out.size(); ++o)
      if (graph[id].out[o].valid()) give(graph, id, o, results[o]);
    graph.erase(id);
    ++taken;
  }
  return taken;
}

}  // namespace nnex::passes
