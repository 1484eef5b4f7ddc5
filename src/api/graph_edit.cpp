// Graph: editing it.

#include <algorithm>

#include "api/graph_checks.h"
#include "api/graph_impl.h"
#include "api/tensor_names.h"
#include "graph/verify.h"
#include "run/inputs.h"

namespace nnex {
namespace {

/// Where v stands among the inputs or outputs of the network; nothing: it does not.
std::optional<size_t> index_in(const std::vector<ValueId>& ids, ValueId v) {
  const auto it = std::find(ids.begin(), ids.end(), v);
  return it == ids.end() ? std::nullopt : std::optional<size_t>(static_cast<size_t>(it - ids.begin()));
}

/// Whether the node's rule still holds after an edit; whatever is computed from it is to be inferred anew.
Status settle(ir::Graph& g, NodeId id) {
  std::vector<Type> before;
  for (ValueId v : g[id].out) before.push_back(v.valid() ? g[v].type : Type{});
  for (ValueId v : g[id].out)
    if (v.valid()) g.set_type(v, Type{});  // what it was is no reason to refuse what it becomes
  Status fine = infer_node(g, id);
  std::vector<Type> after;
  for (ValueId v : g[id].out) after.push_back(v.valid() ? g[v].type : Type{});
  if (fine.ok() && !(before == after)) forget_types(g, id);
  const std::vector<Type>& now = fine.ok() ? after : before;
  for (size_t o = 0; o < now.size(); ++o)
    if (g[id].out[o].valid()) g.set_type(g[id].out[o], now[o]);
  return fine;
}

}  // namespace

Status Graph::set_input(NodeId node, size_t index, ValueId value) {
  ir::Graph& g = impl().graph;
  const NodeId id = impl().in(node);
  const ValueId v = impl().in(value);
  NNEX_TRY(check(g, id));
  if (value.valid()) NNEX_TRY(check(g, v));
  const auto& ports = g[id].op->inputs;
  const bool variadic = ports.size() > 0 && ports[ports.size() - 1].arity == Arity::variadic;
  if (index >= (variadic ? g[id].in.size() : ports.size()))
    return bad_argument("{}: input {}; it takes {}", shown(g, id), index, variadic ? g[id].in.size() : ports.size());
  if (!value.valid() && index < ports.size() && ports[index].arity == Arity::one)
    return bad_argument("{}: input {} ('{}') cannot be absent", shown(g, id), index, ports[index].name);
  if (value.valid() && !readable(g, v, g[id].parent, id))
    return bad_argument("{}: {} is made after it, or in a block it does not see", shown(g, id), shown(g, v));
  const std::vector<ValueId> before = g[id].in;
  g.set_input(id, index, v);
  Status fine = settle(g, id);
  if (!fine.ok()) g.set_inputs(id, before);
  return fine;
}

Status Graph::replace_uses(ValueId from_id, ValueId to_id) {
  ir::Graph& g = impl().graph;
  const ValueId from = impl().in(from_id), to = impl().in(to_id);
  NNEX_TRY(check(g, from));
  NNEX_TRY(check(g, to));
  if (from == to) return {};
  const NodeId producer = g[to].producer;
  std::vector<Use> uses;
  bool output = false;
  for (const Use& use : g[from].uses) {
    if (use.node.valid() && producer.valid()) {
      // What `to` is computed from goes on reading `from`.
      bool own = use.node == producer;
      for (BlockId b : g[producer].blocks) own |= inside(g, use.node, b);
      if (own) continue;
    }
    if (use.node.valid() ? !readable(g, to, g[use.node].parent, use.node) : !readable(g, to, use.block, {}))
      return bad_argument("{} is made after {} reads {}; move it before", shown(g, to),
                          use.node.valid() ? shown(g, use.node) : "a block's result", shown(g, from));
    output |= !use.node.valid() && use.block == kMain;
    uses.push_back(use);
  }
  if (output && (g[to].param_of.valid() || index_in(g.outputs(), to)))
    return bad_argument("{} is an output, and {} is an input or an output already; set_outputs() can say that",
                        shown(g, from), shown(g, to));
  std::vector<ValueId> results;
  for (const Use& use : uses) {
    if (use.node.valid()) {
      g.set_input(use.node, use.index, to);
      forget_types(g, use.node);
      continue;
    }
    results = g[use.block].results;
    results[use.index] = to;
    g.set_results(use.block, std::move(results));
    if (g[use.block].owner.valid()) forget_types(g, g[use.block].owner);
  }
  if (output) {  // the network's outputs keep their names
    g.set_name(to, g[from].name);
    if (!g[from].param_of.valid()) g.set_name(from, {});
  }
  return {};
}

Status Graph::erase(NodeId node) {
  ir::Graph& g = impl().graph;
  const NodeId id = impl().in(node);
  NNEX_TRY(check(g, id));
  for (ValueId v : g[id].out) {
    if (!v.valid() || g[v].uses.empty()) continue;
    const Use& use = g[v].uses.front();
    return bad_argument("{} cannot go: {} is read by {}", shown(g, id), shown(g, v),
                        use.node.valid()     ? shown(g, use.node)
                        : use.block == kMain ? "the network's outputs"
                                             : "a block's results");
  }
  g.erase(id);
  return {};
}

Status Graph::set_name(ValueId value, std::string name) {
  ir::Graph& g = impl().graph;
  const ValueId v = impl().in(value);
  NNEX_TRY(check(g, v));
  const bool port = index_in(g.inputs(), v) || index_in(g.outputs(), v);
  if (port && name.empty()) return bad_argument("{} is an input or output: it needs a name", shown(g, v));
  for (const std::vector<ValueId>* ports : {&g.inputs(), &g.outputs()})
    for (ValueId other : *ports)
      if (port && !(other == v) && g[other].name == name)
        return bad_argument("two inputs or outputs would be called '{}'", name);
  if (const std::string& old = g[v].name; !old.empty() && !name.empty() && old != name)
    rename_provenance(g, {{old, name}});
  g.set_name(v, std::move(name));
  return {};
}

Status Graph::set_attribute(NodeId node, std::string_view name, Attribute value) {
  ir::Graph& g = impl().graph;
  const NodeId id = impl().in(node);
  NNEX_TRY(check(g, id));
  if (const Tensor* t = std::get_if<Tensor>(&value); t && !has_memory(*t))
    return bad_argument("{}: attribute '{}' has no memory", shown(g, id), name);
  if (g[id].custom) {
    if (g[id].op != &custom_op()) return bad_argument("{}: calls of functions cannot be edited", shown(g, id));
    auto edited = std::make_shared<CustomNode>(*g[id].custom);
    auto at = std::find_if(edited->attrs.begin(), edited->attrs.end(), [&](const auto& a) { return a.first == name; });
    if (std::holds_alternative<std::monostate>(value)) {
      if (at != edited->attrs.end()) edited->attrs.erase(at);
    } else if (at != edited->attrs.end()) {
      at->second = std::move(value);
    } else {
      edited->attrs.emplace_back(name, std::move(value));
    }
    auto before = g[id].custom;
    g.set_custom(id, std::move(edited));
    Status fine = settle(g, id);
    if (!fine.ok()) g.set_custom(id, std::move(before));
    return fine;
  }
  const OpDef& op = *g[id].op;
  const std::shared_ptr<void> edited = op.attrs.copy && g[id].attrs ? op.attrs.copy(g[id].attrs.get()) : nullptr;
  NNEX_TRY(set_field(op, edited.get(), name, value));
  const std::shared_ptr<const void> before = g[id].attrs;
  g.set_attrs(id, std::shared_ptr<const void>(edited));
  Status fine = settle(g, id);
  if (!fine.ok()) g.set_attrs(id, before);
  return fine;
}

Status Graph::make_constant(ValueId value, Value content) {
  ir::Graph& g = impl().graph;
  const ValueId v = impl().in(value);
  NNEX_TRY(check(g, v));
  const Tensor* t = content.tensor();
  if (!t || !has_memory(*t))
    return bad_argument("a constant is a tensor with memory; found {}",
                        content.empty() ? std::string("nothing") : content.text());
  if (!agree(g[v].type, type_of(content)))
    return bad_argument("{} is {}; found {}", shown(g, v), g[v].type.text(), content.text());
  if (g[v].param_of.valid()) {
    const auto at = index_in(g.inputs(), v);
    if (!at || *at >= g.inputs().size() - g.states.size())
      return bad_argument("{} is a parameter of a block or a state: what it is, its owner gives", shown(g, v));
    g.remove_param(kMain, *at);
  }
  const bool settled = g[v].type == type_of(content);
  g.make_constant(v, std::move(content));
  if (settled) return {};
  const std::vector<Use> uses = g[v].uses;
  for (const Use& use : uses)  // what knew of symbols knows numbers now; a rule that breaks infer() tells
    if (use.node.valid()) (void)settle(g, use.node);
  return {};
}

Status Graph::move(NodeId node, NodeId before_id) {
  ir::Graph& g = impl().graph;
  const NodeId id = impl().in(node), before = impl().in(before_id);
  NNEX_TRY(check(g, id));
  NNEX_TRY(check(g, before));
  for (BlockId b : g[id].blocks)
    if (inside(g, before, b)) return bad_argument("{} cannot stand in a block of its own", shown(g, id));
  if (id == before) return {};
  const BlockId home = g[id].parent;
  const NodeId next = g[id].next;
  g.move_before(id, before);
  Status fine = check_reads(g, id);
  for (ValueId v : g[id].out)
    if (fine.ok() && v.valid()) fine = check_users(g, v);
  if (fine.ok()) return {};
  next.valid() ? g.move_before(id, next) : g.move_to_end(id, home);
  return fine;
}

Status Graph::move_to_end(NodeId node, BlockId block) {
  ir::Graph& g = impl().graph;
  const NodeId id = impl().in(node);
  const BlockId b = impl().in(block);
  NNEX_TRY(check(g, id));
  NNEX_TRY(check(g, b));
  for (BlockId at = b;; at = g[g[at].owner].parent) {
    if (std::count(g[id].blocks.begin(), g[id].blocks.end(), at))
      return bad_argument("{} cannot stand in a block of its own", shown(g, id));
    if (!g[at].owner.valid()) break;
  }
  const BlockId home = g[id].parent;
  const NodeId next = g[id].next;
  g.move_to_end(id, b);
  Status fine = check_reads(g, id);
  for (ValueId v : g[id].out)
    if (fine.ok() && v.valid()) fine = check_users(g, v);
  if (fine.ok()) return {};
  next.valid() ? g.move_before(id, next) : g.move_to_end(id, home);
  return fine;
}

}  // namespace nnex
