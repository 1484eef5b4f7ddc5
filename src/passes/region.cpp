#include "passes/region.h"

#include <map>
#include <set>

namespace nnex::passes {

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

NodeId make_region(ir::Graph& graph, std::span<const NodeId> nodes) {
  const NodeId last = nodes.back();
  const ValueId result = graph[last].out[0];
  const std::set<NodeId> inside(nodes.begin(), nodes.end());
  std::vector<ValueId> outer;
  std::map<ValueId, size_t> param_of;
  for (NodeId id : nodes)
    for (ValueId v : graph[id].in)
      if (v.valid() && !inside.count(graph[v].producer) && param_of.emplace(v, outer.size()).second) outer.push_back(v);
  const BlockId body = graph.add_block();
  const NodeId fused =
      graph.insert_node(last, op("fused"), outer, 1, nullptr, {body}, graph.add_place(place_of_all(graph, nodes)));
  const ValueId y = graph[fused].out[0];
  graph.set_type(y, graph[result].type);
  graph.set_name(y, graph[result].name);
  graph.replace_uses(result, y);
  std::vector<ValueId> params;
  for (ValueId v : outer) params.push_back(graph.add_param(body, graph[v].name, graph[v].type));
  for (NodeId id : nodes) {
    graph.move_to_end(id, body);
    for (size_t i = 0; i < graph[id].in.size(); ++i) {
      const auto at = param_of.find(graph[id].in[i]);
      if (at != param_of.end()) graph.set_input(id, i, params[at->second]);
    }
  }
  graph.set_results(body, {result});
  return fused;
}

}  // namespace nnex::passes
