// Graph: building it.

#include <algorithm>
#include <set>

#include "api/graph_checks.h"
#include "api/graph_impl.h"
#include "base/failure.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "graph/custom.h"
#include "graph/missing.h"
#include "graph/type_info.h"
#include "run/inputs.h"
#include "tensor/sparse.h"

namespace nnex {
namespace {

Result<Type> declared(std::string_view text) {
  if (text == "unknown") return Type{};
  NNEX_ASSIGN(const TypeInfo info, TypeInfo::parse(text));
  return type_of(info);
}

Error no_operator(std::string_view name) {
  if (const std::string known = standards_name(name); !known.empty())
    return bad_argument("no operator '{}'; {}", name, known);
  std::vector<std::string_view> names;
  for (const OpDef* op : all_ops()) names.push_back(op->name);
  return bad_argument("no operator '{}'{}; a custom one is written 'domain:{}'", name, did_you_mean(name, names), name);
}

const Port* port_at(const auto& ports, size_t i) {
  if (i < ports.size()) return &ports[i];
  return ports.size() > 0 && ports[ports.size() - 1].arity == Arity::variadic ? &ports[ports.size() - 1] : nullptr;
}

/// Whether the node's inputs, outputs and blocks are as many as the operator takes.
constexpr size_t kMaxOutputs = size_t{1} << 20;  ///< Of a node that may have any number.

Status check_counts(const OpDef& op, const std::vector<ValueId>& in, size_t outputs, size_t blocks) {
  if (outputs > kMaxOutputs)
    return bad_argument("{}: found {} outputs; needed at most {}", op.name, outputs, kMaxOutputs);
  if (!in.empty() && !port_at(op.inputs, in.size() - 1))
    return bad_argument("{}: found {} inputs; it takes {}{}", op.name, in.size(), op.inputs.size() ? "at most " : "",
                        op.inputs.size());
  for (size_t i = 0; i < op.inputs.size(); ++i)
    if (op.inputs[i].arity == Arity::one && (i >= in.size() || !in[i].valid()))
      return bad_argument("{}: input {} ('{}') is missing", op.name, i, op.inputs[i].name);
  if (outputs == 0 || !port_at(op.outputs, outputs - 1))
    return bad_argument("{}: found {} outputs; it has {}{}", op.name, outputs, op.outputs.size() > 1 ? "1 to " : "",
                        op.outputs.size());
  if (blocks != op.blocks.size())
    return bad_argument("{}: found {} blocks; it takes {}{}", op.name, blocks, op.blocks.size(),
                        op.blocks.size() ? fmt::format(" ({})", joined(op.blocks, ", ")) : "");
  return {};
}

}  // namespace

Status set_field(const OpDef& op, void* attrs, std::string_view name, const Attribute& value) {
  const Field* field = op.attrs.find(name);
  if (!field && op.input(name) >= 0)
    return bad_argument("{}: '{}' is an input ({}), not an attribute", op.name, name, op.input(name));
  if (!field) {
    std::vector<std::string_view> names;
    for (const Field& f : op.attrs.fields) names.push_back(f.name);
    return bad_argument("{}: no attribute '{}'{}; it has: {}", op.name, name, did_you_mean(name, names),
                        names.empty() ? "none" : joined(names, " "));
  }
  if (std::holds_alternative<std::monostate>(value)) {
    if (field->required) return bad_argument("{}: attribute '{}' is required", op.name, name);
    const auto defaults = op.attrs.make();
    if (field->set(attrs, field->get(defaults.get()))) return {};
    return failure(Code::internal, "{}: attribute '{}' refuses its default", op.name, name);
  }
  const Tensor* t = std::get_if<Tensor>(&value);
  const DType* type = std::get_if<DType>(&value);
  const bool possible = t ? has_memory(*t) : !type || *type == DType::none || bits(*type) > 0;
  if (possible && field->set(attrs, value)) return {};
  const std::string needed =
      field->words.empty() ? std::string(field->kind) : fmt::format("one of {}", joined(field->words, ", "));
  return bad_argument("{}: attribute '{}' is {} ({}); needed {}", op.name, name, text(value), kind_name(value), needed);
}

Result<ValueId> Graph::add_input(std::string name, std::string_view type) {
  ir::Graph& g = impl().graph;
  if (name.empty()) return bad_argument("an input needs a name");
  for (ValueId v : g.inputs())
    if (g[v].name == name) return bad_argument("there is an input '{}' already", name);
  NNEX_ASSIGN(Type declared_type, declared(type));
  const ValueId v = g.add_param(kMain, std::move(name), std::move(declared_type));
  // What sessions keep stays behind the inputs.
  if (!g.states.empty()) g.move_param(kMain, g.inputs().size() - 1, g.inputs().size() - 1 - g.states.size());
  return impl().out(v);
}

Result<ValueId> Graph::add_constant(Value content, std::string name) {
  const Tensor* t = content.tensor();
  const SparseTensor* s = content.sparse();
  if (!t && !s)
    return bad_argument("a constant is a tensor; found {}", content.empty() ? std::string("nothing") : content.text());
  if (t ? !has_memory(*t) : !(has_memory(s->values) && has_memory(s->indices)))
    return bad_argument("constant '{}': {} has no memory", name, content.text());
  if (s) NNEX_TRY(check_sparse(*s));
  return impl().out(impl().graph.add_constant(std::move(content), std::move(name)));
}

Result<ValueId> Graph::add(std::string_view op, const std::vector<ValueId>& inputs, const Attributes& attributes) {
  NNEX_ASSIGN(const NodeId id, add_node(op, inputs, attributes));
  return impl().out(impl().graph[impl().in(id)].out[0]);
}

Result<NodeId> Graph::add_node(std::string_view name, const std::vector<ValueId>& inputs, const Attributes& attributes,
                               const AddOptions& options) {
  ir::Graph& g = impl().graph;
  const size_t colon = name.rfind(':');
  const bool custom = colon != std::string_view::npos;
  if (custom && colon + 1 == name.size()) return bad_argument("custom operator '{}' has no name", name);
  const OpDef* op = custom ? &custom_op() : find_op(name);
  if (!op) return no_operator(name);

  std::vector<ValueId> in;
  for (ValueId v : inputs) {
    in.push_back(impl().in(v));
    if (v.valid()) NNEX_TRY(check(g, in.back()));
  }
  BlockId block = options.block.valid() ? impl().in(options.block) : kMain;
  const NodeId before = impl().in(options.before);
  if (options.block.valid()) NNEX_TRY(check(g, block));
  if (options.before.valid()) {
    NNEX_TRY(check(g, before));
    if (options.block.valid() && !(g[before].parent == block))
      return bad_argument("{}: the node it shall stand before is in another block", name);
    block = g[before].parent;
  }
  std::vector<BlockId> blocks;
  for (BlockId taken : options.blocks) {
    const BlockId b = impl().in(taken);
    NNEX_TRY(check(g, b));
    bool around = b == block;  // a block cannot stand in itself
    for (BlockId at = block; g[at].owner.valid() && !around; around = at == b) at = g[g[at].owner].parent;
    if (b == kMain || g[b].owner.valid() || around || std::count(blocks.begin(), blocks.end(), b))
      return bad_argument("{}: one of its blocks is the network's, another node's, or the one it stands in", name);
    blocks.push_back(b);
  }
  NNEX_TRY(check_counts(*op, in, options.outputs, blocks.size()));

  std::shared_ptr<void> attrs = op->attrs.make ? op->attrs.make() : nullptr;
  std::set<std::string_view> given;
  for (const auto& [key, value] : attributes) {
    if (!given.insert(key).second) return bad_argument("{}: attribute '{}' is given twice", name, key);
    if (!custom) NNEX_TRY(set_field(*op, attrs.get(), key, value));
    if (const Tensor* t = std::get_if<Tensor>(&value); t && !has_memory(*t))
      return bad_argument("{}: attribute '{}' has no memory", name, key);
  }
  for (const Field& f : op->attrs.fields)
    if (f.required && !given.count(f.name)) return bad_argument("{}: attribute '{}' is missing", name, f.name);

  const Where where = options.location.empty() ? 0 : g.add_place(options.location);
  const NodeId id = before.valid()
                        ? g.insert_node(before, *op, std::move(in), options.outputs, std::move(attrs), blocks, where)
                        : g.add_node(block, *op, std::move(in), options.outputs, std::move(attrs), blocks, where);
  if (custom) {
    auto kept = std::make_shared<CustomNode>();
    kept->domain = name.substr(0, colon), kept->name = name.substr(colon + 1), kept->attrs = attributes;
    g.set_custom(id, std::move(kept));
  }
  Status fine = check_reads(g, id);
  if (fine.ok()) fine = infer_node(g, id);
  if (fine.ok()) return impl().out(id);
  g.release_blocks(id);
  g.erase(id);
  return std::move(fine).error();
}

BlockId Graph::add_block() { return impl().out(impl().graph.add_block()); }

Result<ValueId> Graph::add_parameter(BlockId block, std::string name, std::string_view type) {
  ir::Graph& g = impl().graph;
  const BlockId b = impl().in(block);
  NNEX_TRY(check(g, b));
  if (b == kMain) return bad_argument("parameters of the network are inputs: add_input() makes them");
  if (g[b].owner.valid()) return bad_argument("the block belongs to {} already", shown(g, g[b].owner));
  NNEX_ASSIGN(Type declared_type, declared(type));
  return impl().out(g.add_param(b, std::move(name), std::move(declared_type)));
}

Status Graph::set_results(BlockId block, const std::vector<ValueId>& results) {
  ir::Graph& g = impl().graph;
  const BlockId b = impl().in(block);
  NNEX_TRY(check(g, b));
  if (b == kMain) return bad_argument("results of the network are outputs: set_outputs() names them");
  if (g[b].owner.valid() && results.size() != g[b].results.size())
    return bad_argument("the block of {} gives {} values; found {}", shown(g, g[b].owner), g[b].results.size(),
                        results.size());
  std::vector<ValueId> made;
  for (ValueId v : results) {
    made.push_back(impl().in(v));
    NNEX_TRY(check(g, made.back()));
    if (!readable(g, made.back(), b, {}))
      return bad_argument("{} is in a block it does not see", shown(g, made.back()));
  }
  g.set_results(b, std::move(made));
  if (g[b].owner.valid()) forget_types(g, g[b].owner);
  return {};
}

Status Graph::set_outputs(const std::vector<std::pair<std::string, ValueId>>& outputs) {
  ir::Graph& g = impl().graph;
  std::set<std::string> names;
  for (ValueId v : g.inputs()) names.insert(g[v].name);
  for (const auto& [name, id] : outputs) {
    if (name.empty()) return bad_argument("an output needs a name");
    if (!names.insert(name).second) return bad_argument("two inputs or outputs are called '{}'", name);
    const ValueId v = impl().in(id);
    NNEX_TRY(check(g, v));
    if (!readable(g, v, kMain, {})) return bad_argument("output '{}': {} is inside a block", name, shown(g, v));
  }
  const size_t kept = g.states.size();
  std::vector<ValueId> results(g.outputs().end() - static_cast<ptrdiff_t>(kept), g.outputs().end());
  std::set<ValueId> taken(results.begin(), results.end());
  std::vector<ValueId> made;
  for (const auto& [name, id] : outputs) {
    ValueId v = impl().in(id);
    if (g[v].param_of.valid() || !taken.insert(v).second) {
      const Type type = g[v].type;
      v = Builder(g, kMain)("copy", {v});
      g.set_type(v, type);
      taken.insert(v);
    }
    g.set_name(v, name);
    made.push_back(v);
  }
  made.insert(made.end(), results.begin(), results.end());
  g.set_results(kMain, std::move(made));
  return {};
}

}  // namespace nnex
