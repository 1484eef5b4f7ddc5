#include "api/graph_checks.h"

#include <algorithm>
#include <set>

#include "graph/custom.h"
#include "graph/infer.h"

namespace nnex {
namespace {

BlockId home_of(const ir::Graph& graph, ValueId v) {
  const ValueDef& def = graph[v];
  return def.producer.valid() ? graph[def.producer].parent : def.param_of;
}

BlockId root_of(const ir::Graph& graph, BlockId b) {
  while (graph[b].owner.valid()) b = graph[graph[b].owner].parent;
  return b;
}

bool alive(const ir::Graph& graph, BlockId b) {
  const NodeId owner = graph[b].owner;
  return !owner.valid() || !graph[owner].erased;
}

}  // namespace

Status check(const ir::Graph& graph, BlockId b) {
  if (b.valid() && b.n < graph.block_count() && alive(graph, b)) return {};
  return bad_argument("found a block id that names nothing in this graph");
}

Status check(const ir::Graph& graph, NodeId n) {
  if (n.valid() && n.n < graph.node_count() && !graph[n].erased) return {};
  return bad_argument("found a node id that names nothing in this graph");
}

Status check(const ir::Graph& graph, ValueId v) {
  if (v.valid() && v.n < graph.value_count()) {
    const ValueDef& def = graph[v];
    if (def.is_constant() || (def.producer.valid() && !graph[def.producer].erased)) return {};
    if (!def.producer.valid() && def.param_of.valid() && alive(graph, def.param_of)) return {};
  }
  return bad_argument("found a value id that names nothing in this graph");
}

std::string shown(const ir::Graph& graph, NodeId n) {
  const std::string name = operator_name(graph[n]);
  const std::string& place = graph.place_of(n);
  return place.empty() ? name : fmt::format("{} ({})", name, place);
}

std::string shown(const ir::Graph& graph, ValueId v) {
  const ValueDef& def = graph[v];
  if (!def.name.empty()) return fmt::format("value '{}'", def.name);
  if (def.producer.valid()) return fmt::format("output {} of {}", def.output, shown(graph, def.producer));
  return def.is_constant() ? "a constant" : "a parameter";
}

bool readable(const ir::Graph& graph, ValueId v, BlockId block, NodeId before) {
  const ValueDef& def = graph[v];
  if (def.is_constant()) return true;
  const BlockId home = home_of(graph, v);
  while (!(block == home)) {
    const NodeId owner = graph[block].owner;
    if (!owner.valid()) return !(block == kMain) && !(root_of(graph, home) == block);
    before = owner, block = graph[owner].parent;
  }
  if (!def.producer.valid() || !before.valid()) return true;
  for (NodeId n = graph[def.producer].next; n.valid(); n = graph[n].next)
    if (n == before) return true;
  return false;
}

Status check_reads(const ir::Graph& graph, NodeId id) {
  std::vector<ValueId> reads = graph[id].in;
  const std::vector<ValueId> outer = graph.captures(id);
  reads.insert(reads.end(), outer.begin(), outer.end());
  for (ValueId v : reads)
    if (v.valid() && !readable(graph, v, graph[id].parent, id))
      return bad_argument("{}: {} is made after it, or in a block it does not see", shown(graph, id), shown(graph, v));
  return {};
}

Status check_users(const ir::Graph& graph, ValueId v) {
  for (const Use& use : graph[v].uses) {
    if (use.node.valid() ? readable(graph, v, graph[use.node].parent, use.node) : readable(graph, v, use.block, {}))
      continue;
    return bad_argument("{} is read before it is made, or outside its block, by {}", shown(graph, v),
                        use.node.valid() ? shown(graph, use.node) : "a block's results");
  }
  return {};
}

bool inside(const ir::Graph& graph, NodeId n, BlockId b) {
  for (BlockId at = graph[n].parent;; at = graph[graph[at].owner].parent) {
    if (at == b) return true;
    if (!graph[at].owner.valid()) return false;
  }
}

Status infer_node(ir::Graph& graph, NodeId id) {
  Inference inference(graph, Inference::Few::nodes);
  for (ValueId v : graph[id].in)
    if (v.valid()) inference.bind(v, graph[v].type);
  for (ValueId v : graph.captures(id)) inference.bind(v, graph[v].type);
  NNEX_TRY(inference.node(id));
  for (ValueId v : graph[id].out)
    if (v.valid()) graph.set_type(v, inference.type(v));
  return {};
}

void forget_types(ir::Graph& graph, NodeId id) {
  std::vector<NodeId> work = {id};
  std::set<NodeId> seen = {id};
  while (!work.empty()) {
    const NodeId n = work.back();
    work.pop_back();
    const auto meet = [&](NodeId reader) {
      if (reader.valid() && seen.insert(reader).second) work.push_back(reader);
    };
    for (ValueId v : graph[n].out) {
      if (!v.valid()) continue;
      graph.set_type(v, Type{});
      for (const Use& use : graph[v].uses) {
        // What a block reads or gives decides what its owner gives.
        meet(use.node.valid() ? use.node : graph[use.block].owner);
        for (BlockId b = use.node.valid() ? graph[use.node].parent : use.block; graph[b].owner.valid();
             b = graph[graph[b].owner].parent)
          meet(graph[b].owner);
      }
    }
    for (BlockId b : graph[n].blocks)  // its parameters follow its inputs
      for (ValueId p : graph[b].params)
        for (const Use& use : graph[p].uses) meet(use.node);
  }
}

}  // namespace nnex
