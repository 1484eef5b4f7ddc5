#include "api/subgraph.h"

#include <unordered_map>

namespace nnex {
namespace {

class SubgraphCopy {
 public:
  SubgraphCopy(const ir::Graph& from, const std::function<Type(ValueId)>& type_of_input)
      : from_(from), type_of_input_(type_of_input) {
    out_.graph.functions = from.functions;
    out_.graph.meta.opsets = from.meta.opsets;
    out_.graph.meta.ir_version = from.meta.ir_version;
    out_.graph.meta.graph_name = from.meta.graph_name;
  }

  void input(ValueId v) {
    if (!known_.count(v.n)) add_input(v);
  }
  void node(NodeId id, BlockId into);
  Subgraph finish(std::span<const ValueId> outputs) && {
    std::vector<ValueId> results;
    for (ValueId v : outputs) results.push_back(value(v));
    out_.graph.set_results(kMain, std::move(results));
    return std::move(out_);
  }

 private:
  ValueId add_input(ValueId v) {
    const ValueDef& def = from_[v];
    out_.inputs.push_back(v);
    return known_[v.n] = out_.graph.add_param(kMain, def.name, type_of_input_ ? type_of_input_(v) : def.type);
  }
  ValueId value(ValueId v) {
    if (!v.valid()) return v;
    if (const auto it = known_.find(v.n); it != known_.end()) return it->second;
    if (!from_[v].is_constant()) return add_input(v);
    return known_[v.n] = out_.graph.add_constant(from_[v].constant, from_[v].name);
  }
  BlockId block(BlockId id);

  const ir::Graph& from_;
  const std::function<Type(ValueId)>& type_of_input_;
  Subgraph out_;
  std::unordered_map<uint32_t, ValueId> known_;  ///< By value of the whole.
};

BlockId SubgraphCopy::block(BlockId id) {
  const BlockId made = out_.graph.add_block();
  for (ValueId p : from_[id].params) known_[p.n] = out_.graph.add_param(made, from_[p].name, from_[p].type);
  for (NodeId n : from_.order(id)) node(n, made);
  std::vector<ValueId> results;
  for (ValueId v : from_[id].results) results.push_back(value(v));
  out_.graph.set_results(made, std::move(results));
  return made;
}

void SubgraphCopy::node(NodeId id, BlockId into) {
  const Node& n = from_[id];
  std::vector<ValueId> in;
  for (ValueId v : n.in) in.push_back(value(v));
  std::vector<BlockId> blocks;
  for (BlockId b : n.blocks) blocks.push_back(block(b));
  const NodeId made = out_.graph.add_node(into, *n.op, std::move(in), n.out.size(), n.attrs, std::move(blocks),
                                          out_.graph.add_place(from_.place_of(id)));
  if (n.custom) out_.graph.set_custom(made, n.custom);
  for (size_t o = 0; o < n.out.size(); ++o) {
    if (!n.out[o].valid()) {
      out_.graph.drop_output(made, o);
      continue;
    }
    const ValueId v = out_.graph[made].out[o];
    out_.graph.set_name(v, from_[n.out[o]].name);
    out_.graph.set_type(v, from_[n.out[o]].type);
    known_[n.out[o].n] = v;
  }
}

}  // namespace

Subgraph subgraph(const ir::Graph& from, std::span<const NodeId> nodes, std::span<const ValueId> inputs,
                  std::span<const ValueId> outputs, const std::function<Type(ValueId)>& type_of_input) {
  SubgraphCopy copy(from, type_of_input);
  for (ValueId v : inputs) copy.input(v);
  for (NodeId id : nodes) copy.node(id, kMain);
  return std::move(copy).finish(outputs);
}

}  // namespace nnex
