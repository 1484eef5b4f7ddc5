#include "fusion/region.h"

#include <algorithm>

namespace nnex::fusion {

namespace {

/// "conv_1 + relu_1": each place once, of long regions the first ones.
std::string place_of_all(const ir::Graph& graph, std::span<const NodeId> nodes) {
  constexpr size_t kShown = 32;
  std::set<Where> shown;
  std::string place;
  for (NodeId id : nodes) {
    if (!shown.insert(graph[id].where).second) continue;
    if (shown.size() > kShown) return place + " + ...";
    place += (shown.size() > 1 ? " + " : "") + graph.place_of(id);
  }
  return place;
}

}  // namespace

Region::Region(const ir::Graph& graph, NodeId last, const std::set<NodeId>& all) {
  // Back from the last node: regions are short, blocks may be long.
  for (NodeId n = last; nodes.size() < all.size(); n = graph[n].prev)
    if (all.count(n)) nodes.push_back(n);
  std::reverse(nodes.begin(), nodes.end());
  for (NodeId id : nodes)
    for (ValueId v : graph[id].in)
      if (v.valid() && !all.count(graph[v].producer) && input(v) < 0) inputs.push_back(v);
}

int Region::input(ValueId v) const {
  const auto at = std::find(inputs.begin(), inputs.end(), v);
  return at == inputs.end() ? -1 : static_cast<int>(at - inputs.begin());
}

kernels::FusedOp Region::operation(const Node& node) const {
  kernels::FusedOp op = {node.op, node.attrs, {}};
  for (ValueId v : node.in) op.in.push_back(input(v));
  return op;
}

void fuse(ir::Graph& graph, Found found) {
  const Region& region = found.region;
  const NodeId last = region.nodes.back();
  const ValueId result = graph[last].out[0];
  const BlockId body = graph.add_block();
  const auto form = std::make_shared<FusedAttrs>(FusedAttrs{std::make_shared<kernels::Fused>(std::move(found.form))});
  const NodeId fused = graph.insert_node(last, op("fused"), region.inputs, 1, form, {body},
                                         graph.add_place(place_of_all(graph, region.nodes)));
  const ValueId y = graph[fused].out[0];
  graph.set_type(y, graph[result].type);
  graph.set_name(y, graph[result].name);
  graph.replace_uses(result, y);
  std::vector<ValueId> params;
  for (ValueId v : region.inputs) params.push_back(graph.add_param(body, graph[v].name, graph[v].type));
  for (NodeId id : region.nodes) {
    graph.move_to_end(id, body);
    for (size_t i = 0; i < graph[id].in.size(); ++i)
      if (const int p = region.input(graph[id].in[i]); p >= 0) graph.set_input(id, i, params[static_cast<size_t>(p)]);
  }
  graph.set_results(body, {result});
}

bool in_region(const ir::Graph& graph, NodeId id) {
  const NodeId owner = graph[graph[id].parent].owner;
  return owner.valid() && is_fused(*graph[owner].op);
}

}  // namespace nnex::fusion
