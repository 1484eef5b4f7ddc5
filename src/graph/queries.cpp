#include "graph/queries.h"

#include <algorithm>

#include "tensor/convert.h"

namespace nnex {

NodeId only_reader(const ir::Graph& graph, ValueId v) {
  if (!graph.read_once(v)) return {};
  const NodeId reader = graph[v].uses[0].node;
  return graph[graph[v].producer].parent == graph[reader].parent ? reader : NodeId{};
}

const Node* made_by(const ir::Graph& graph, ValueId v, std::string_view op) {
  const Node* n = v.valid() ? graph.producer(v) : nullptr;
  return n && n->op->name == op ? n : nullptr;
}

std::optional<double> real_constant(const ir::Graph& graph, ValueId v) {
  const Tensor* t = v.valid() ? graph[v].constant.tensor() : nullptr;
  if (!t || t->count() != 1 || !is_real(t->dtype())) return std::nullopt;
  return real_at(*t, 0);
}

bool is_f32(const ir::Graph& graph, ValueId v) {
  return v.valid() && graph[v].type.is_tensor() && graph[v].type.dtype == DType::f32 && graph[v].type.dims;
}

bool same_extents(const ir::Graph& graph, ValueId a, ValueId b) {
  const MaybeDims &x = graph[a].type.dims, &y = graph[b].type.dims;
  return x && y && *x == *y;
}

bool is_result(const ir::Graph& graph, ValueId v) {
  const auto& uses = graph[v].uses;
  return std::any_of(uses.begin(), uses.end(), [](const Use& u) { return !u.node.valid(); });
}

bool draws(const ir::Graph& graph, const Node& node) {
  if (node.op->pure) return false;
  if (node.op != &op("dropout")) return true;
  if (node.in.size() < 3 || !node.in[2].valid()) return false;
  const Tensor* training = graph.constant_in(node, 2);
  return !training || training->count() != 1 || int_at(*training, 0) != 0;
}

bool is_implied(const ir::Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (!graph.provenance.nnef || node.out.size() != 1 || !node.out[0].valid()) return false;
  return (node.op->view || node.op == &op("expand")) && graph[node.out[0]].name.empty() &&
         !is_result(graph, node.out[0]);
}

bool reads_by_value(const Node& node, size_t i) {
  const auto& ports = node.op->inputs;
  return ports.size() > 0 && ports[std::min(i, ports.size() - 1)].by_value;
}

int64_t constant_bytes(const ir::Graph& graph) {
  int64_t bytes = 0;
  for (uint32_t n = 0; n < graph.value_count(); ++n)
    if (const ValueDef& v = graph[ValueId{n}]; !v.uses.empty() && v.constant.tensor())
      bytes += v.constant.tensor()->bytes();
  return bytes;
}

Parameters parameters_of(const ir::Graph& graph) {
  Parameters out;
  const auto is_setting = [&](const ValueDef& v) {
    if (!v.name.empty()) return false;
    return v.constant.tensor()->count() == 1 || std::all_of(v.uses.begin(), v.uses.end(), [&](const Use& u) {
             return u.node.valid() && reads_by_value(graph[u.node], u.index);
           });
  };
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& v = graph[ValueId{n}];
    if (v.uses.empty() || !v.constant.tensor() || is_setting(v)) continue;
    out.count += v.constant.tensor()->count();
    out.bytes += v.constant.tensor()->bytes();
  }
  return out;
}

}  // namespace nnex
