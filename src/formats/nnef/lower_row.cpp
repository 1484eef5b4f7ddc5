// Custom operations that this engine wrote for its own rows (write.cpp): read back as the rows they are.

#include "formats/nnef/lower_row.h"

#include <algorithm>

#include "formats/nnef/lower_call.h"
#include "graph/infer.h"
#include "ops/cast.h"

namespace nnex::nnef_format {
namespace {

/// "i32 i32 -> i32": element types of operands and results where they are not those of NNEF's integer and scalar.
struct Types {
  std::vector<DType> in, out;
};

std::optional<Types> parse_types(std::string_view text) {
  Types types;
  std::vector<DType>* to = &types.in;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word == "->") {
      if (to == &types.out) return std::nullopt;
      to = &types.out;
      continue;
    }
    const auto type = dtype_named(word);
    if (!type) return std::nullopt;
    to->push_back(*type);
  }
  return types;
}

/// v under another element type; where v is a cast of such elements that holds them all, those.
ValueId as_type(LowerCall& call, ValueId v, DType to) {
  const Graph& graph = call.graph();
  if (graph[v].type.dtype == to) return v;
  if (const Node* maker = graph.maker(v); maker && maker->op->name == "cast") {
    const DType from = graph[maker->in[0]].type.dtype;
    if (from == to && is_int(to) && is_int(graph[v].type.dtype) && bits(graph[v].type.dtype) > bits(to))
      return maker->in[0];
  }
  CastAttrs a;
  a.to = to;
  Type type = graph[v].type;
  type.dtype = to;
  const ValueId y = call.b("cast", {v}, a);
  call.graph().set_type(y, std::move(type));
  return y;
}

/// [] in the text is a list of any items.
bool set_empty(const Field& f, void* attrs, const AttrValue& v) {
  const Ints* list = std::get_if<Ints>(&v);
  return list && list->empty() &&
         (f.set(attrs, AttrValue(Pairs{})) || f.set(attrs, AttrValue(Reals{})) || f.set(attrs, AttrValue(Texts{})));
}

Status set_attributes(LowerCall& call, const OpDef& row, void* attrs) {
  for (const auto& [key, value] : call.attrs) {
    if (key == kRowTypes) continue;
    const Field* f = row.attrs.find(key);
    if (!f) return call.error(fmt::format("row '{}' has no attribute '{}'", row.name, key));
    AttrValue v = value;
    const std::string* word = std::get_if<std::string>(&v);
    if (word && std::holds_alternative<DType>(f->get(attrs))) {
      const auto type = dtype_named(*word);
      if (!type) return call.error(fmt::format("attribute '{}': '{}' is no element type", key, *word));
      v = AttrValue(*type);
    }
    if (!f->set(attrs, v) && !set_empty(*f, attrs, v))
      return call.error(fmt::format("attribute '{}' cannot be {}", key, text(v)));
  }
  return {};
}

}  // namespace

const OpDef* row_of_custom(std::string_view name) {
  if (name.substr(0, kRowPrefix.size()) != kRowPrefix) return nullptr;
  name.remove_prefix(kRowPrefix.size());
  return find_op(name.substr(0, name.find("__")));
}

Status lower_row(LowerCall& call, const OpDef& row) {
  Graph& graph = call.graph();
  const bool list = call.op.results.size() == 1 && call.op.results[0].is_list();
  const auto results = list ? call.op.results[0].items() : call.op.results;
  Types types;
  if (const AttrValue* said = call.find(kRowTypes)) {
    const std::string* text = std::get_if<std::string>(said);
    const auto parsed = text ? parse_types(*text) : std::nullopt;
    if (!parsed || parsed->in.size() != call.in.size() || parsed->out.size() != results.size())
      return call.error(fmt::format("attribute '{}' does not name a type for each operand and result", kRowTypes));
    types = *parsed;
  }
  for (size_t i = 0; i < types.in.size(); ++i) call.in[i] = as_type(call, call.in[i], types.in[i]);
  std::shared_ptr<void> attrs = row.attrs.make ? row.attrs.make() : nullptr;
  NNEX_TRY(set_attributes(call, row, attrs.get()));
  const auto first = static_cast<uint32_t>(graph.value_count());
  const NodeId id = call.b.node(row, std::move(call.in), results.size(), std::move(attrs));
  Inference inference(graph, first);
  NNEX_TRY(inference.node(id));
  for (size_t i = 0; i < results.size(); ++i) {
    TensorInfo& t = call.tensors()[results[i].tensor()];
    ValueId y = graph[id].out[i];
    graph.set_type(y, inference.type(y));
    const auto extents = concrete(graph[y].type);
    if (!extents) return call.error("the extents of its result are known only to a run");
    if (i < types.out.size() && graph[y].type.dtype != types.out[i])
      return call.error(
          fmt::format("result {} is {}; '{}' says {}", i, name(graph[y].type.dtype), kRowTypes, name(types.out[i])));
    y = as_type(call, y, element_type(t.type));
    if (!t.name.empty()) graph.set_name(y, std::string(t.name));
    t.value = y, t.extents.assign(extents->begin(), extents->end()), t.shaped = true;
  }
  return {};
}

}  // namespace nnex::nnef_format
