#include <fmt/format.h>

#include "base/failure.h"
#include "graph/text/build.h"
#include "ops/call.h"
#include "ops/cast.h"
#include "passes/casts.h"
#include "passes/passes.h"

namespace nnex::passes {
namespace {

using graph_text::Item;

constexpr int kDeepest = 8;  ///< Bodies in bodies.

/// Whether nothing but the body can run the node: the row has no reference kernel for its element type.
bool needs_body(const ir::Graph& graph, const Node& node) {
  if (node.op->body.empty()) return false;
  const auto chooser = static_cast<size_t>(node.op->reference.port);
  const bool by_input = chooser < node.in.size() && node.in[chooser].valid();
  return !has_reference(*node.op, by_input ? graph[node.in[chooser]].type.dtype : DType::none);
}

ValueId cast(Builder& b, ValueId v, DType to) {
  CastAttrs a;
  a.to = to;
  return b("cast", {v}, a);
}

/// The node's inputs and attributes under their names, half types as f32.
Status define_parameters(const ir::Graph& graph, const Node& node, Inference& types, Builder& b,
                         graph_text::TextBuilder& text) {
  auto item = [&](ValueId v) {
    if (!v.valid()) return Item{};
    if (is_half(graph[v].type.dtype)) {
      const ValueId wide = cast(b, v, DType::f32);
      types.grow();
      types.bind(wide, Type::tensor(DType::f32, graph[v].type.dims));
      v = wide;
    }
    return Item::of(v);
  };
  for (size_t p = 0; p < node.op->inputs.size(); ++p) {
    const Port& port = node.op->inputs[p];
    if (port.arity == Arity::variadic) {
      std::vector<Item> all;
      for (size_t i = p; i < node.in.size(); ++i) all.push_back(item(node.in[i]));
      text.define(port.name, Item::list(std::move(all)));
      break;
    }
    text.define(port.name, p < node.in.size() ? item(node.in[p]) : Item{});
  }
  for (const Field& f : node.op->attrs.fields) text.define(f.name, graph_text::item_of(f.get(node.attrs.get())));
  return {};
}

/// Readers of output o read the body's result of that name, rounded to the output's type.
Status take_result(ir::Graph& graph, NodeId id, size_t o, uint32_t first_new, Inference& types, Builder& b,
                   const Item* found) {
  const std::string_view name = graph[id].op->outputs[o].name;
  if (!found || found->kind != Item::Kind::value)
    return failure(Code::internal, "{}: its body gives no '{}'", graph[id].op->name, name);
  const ValueId old = graph[id].out[o];
  const Type wanted = graph[old].type;
  ValueId made = found->value;
  if (wanted.dtype != DType::none && types.type(made).dtype != wanted.dtype)
    made = cast(b, made, wanted.dtype);
  else if (made.n < first_new || !graph[made].name.empty())
    made = b("copy", {made});
  types.grow();
  graph.replace_uses(old, made);
  graph.set_name(made, graph[old].name);
  if (wanted.kind != Kind::unknown) types.bind(made, wanted);
  return {};
}

}  // namespace

/// One node becomes the nodes of its row's body, in its place. Half types run the body in f32 and round once, at the
/// outputs. Errors: unsupported when the body asks for a rank or extents that nobody knows; the body's own.
Status expand_body(ir::Graph& graph, NodeId id) {
  const Node& node = graph[id];
  const auto first_new = static_cast<uint32_t>(graph.value_count());
  Inference types(graph, first_new);
  Builder b(graph, id);
  const std::string source = fmt::format("body of {}", node.op->name);
  NNEX_ASSIGN(auto assignments, graph_text::parse_body(node.op->body, source));
  graph_text::TextBuilder text(graph, types, b, source);
  text.allow_port_words();
  NNEX_TRY(define_parameters(graph, node, types, b, text));
  if (Status s = text.run(assignments.assignments); !s.ok()) return std::move(s).error().at(graph.place_of(id));
  for (size_t o = 0; o < node.out.size(); ++o)
    if (node.out[o].valid())
      NNEX_TRY(take_result(graph, id, o, first_new, types, b, text.find(node.op->outputs[o].name)));
  graph.erase(id);
  types.grow();
  for (uint32_t n = first_new; n < graph.value_count(); ++n)
    if (const ValueId v{n}; !graph[v].is_constant() && types.type(v).kind != Kind::unknown)
      graph.set_type(v, types.type(v));
  return {};
}

/// y = op(x)   ->   the body of op, where the row has a body and no reference kernel for the element type.
/// Bodies over rows of the same kind are expanded in turn. Needs inferred types. Returns how many nodes went.
Result<int> expand_bodies(ir::Graph& graph) {
  int expanded = 0;
  for (int depth = 0; depth < kDeepest; ++depth) {
    std::vector<NodeId> found;
    for (NodeId id : graph.order_with_blocks())
      if (needs_body(graph, graph[id])) found.push_back(id);
    if (found.empty()) return expanded;
    for (NodeId id : found) NNEX_TRY(expand_body(graph, id));
    expanded += static_cast<int>(found.size());
  }
  return failure(Code::internal, "bodies of operators nested deeper than {}", kDeepest);
}

}  // namespace nnex::passes
