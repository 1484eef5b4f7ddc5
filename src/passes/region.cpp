#include "passes/region.h"
#include "tensor/convert.h"

#include <algorithm>

namespace nnex {

NodeId make_region(Graph& graph, std::span<const NodeId> nodes) {
  const NodeId last = nodes.back();
  const ValueId result = graph[last].out[0];
  std::vector<ValueId> outer;
  std::string place;
  for (NodeId id : nodes) {
    if (const std::string& own = graph.place_of(id); place.find(own) == std::string::npos)
      place += place.empty() ? own : " + " + own;
    for (ValueId v : graph[id].in) {
      const NodeId maker = v.valid() ? graph[v].maker : NodeId{};
      if (!v.valid() || std::find(nodes.begin(), nodes.end(), maker) != nodes.end()) continue;
      if (std::find(outer.begin(), outer.end(), v) == outer.end()) outer.push_back(v);
    }
  }
  const BlockId body = graph.add_block();
  const NodeId fused =
      graph.insert_node(last, op("fused"), outer, 1, nullptr, {body}, graph.add_place(std::move(place)));
  const ValueId y = graph[fused].out[0];
  graph.set_type(y, graph[result].type);
  graph.set_name(y, graph[result].name);
  graph.replace_uses(result, y);
  std::vector<ValueId> params;
  for (ValueId v : outer) params.push_back(graph.add_param(body, graph[v].name, graph[v].type));
  for (NodeId id : nodes) {
    graph.move_to_end(id, body);
    for (size_t i = 0; i < graph[id].in.size(); ++i) {
      auto at = std::find(outer.begin(), outer.end(), graph[id].in[i]);
      if (graph[id].in[i].valid() && at != outer.end())
        graph.set_input(id, i, params[static_cast<size_t>(at - outer.begin())]);
    }
  }
  graph.set_results(body, {result});
  return fused;
}

NodeId only_reader(const Graph& graph, ValueId v) {
  if (!graph.read_once(v)) return {};
  const NodeId reader = graph[v].uses[0].node;
  return graph[graph[v].maker].parent == graph[reader].parent ? reader : NodeId{};
}

const Node* made_by(const Graph& graph, ValueId v, std::string_view op) {
  const Node* n = v.valid() ? graph.maker(v) : nullptr;
  return n && n->op->name == op ? n : nullptr;
}

std::optional<double> real_constant(const Graph& graph, ValueId v) {
  const Tensor* t = v.valid() ? graph[v].constant.tensor() : nullptr;
  if (!t || t->count() != 1 || !is_real(t->dtype())) return std::nullopt;
  return real_at(*t, 0);
}

bool is_f32(const Graph& graph, ValueId v) {
  return v.valid() && graph[v].type.is_tensor() && graph[v].type.dtype == DType::f32 && graph[v].type.dims;
}

bool same_extents(const Graph& graph, ValueId a, ValueId b) {
  const MaybeDims &x = graph[a].type.dims, &y = graph[b].type.dims;
  return x && y && *x == *y;
}

}  // namespace nnex
