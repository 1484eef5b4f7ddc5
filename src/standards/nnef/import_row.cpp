// Custom operations that this engine wrote for its own rows (write.cpp): read back as the rows they are.

#include "standards/nnef/import_row.h"

#include <algorithm>

#include "graph/infer.h"
#include "standards/nnef/import_call.h"

namespace nnex::nnef_format {
namespace {

/// A word of kRowTypes: an element type, "-" for what is absent, or a type with extents, one of them 0, for a constant
/// without elements, which NNEF has no tensor for: "i64[0]".
struct Word {
  DType type = DType::none;
  std::optional<Shape> empty;
  bool absent() const { return type == DType::none; }
  /// Whether it stands for an operand of the call.
  bool given() const { return !absent() && !empty; }
};
struct Types {
  std::vector<Word> in, out;
};

std::optional<Word> parse_word(std::string_view text) {
  Word word;
  if (text == "-") return word;
  const size_t open = text.find('[');
  const auto type = dtype_named(text.substr(0, open));
  if (!type || *type == DType::none) return std::nullopt;
  word.type = *type;
  if (open == std::string_view::npos) return word;
  if (text.back() != ']') return std::nullopt;
  Ints extents;
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (true) {
    const std::string_view digits = rest.substr(0, rest.find(','));
    if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string_view::npos)
      return std::nullopt;
    int64_t extent = 0;
    for (char c : digits) extent = extent * 10 + (c - '0');
    extents.push_back(extent);
    if (digits.size() == rest.size()) break;
    rest.remove_prefix(digits.size() + 1);
  }
  if (extents.size() > 8 || std::find(extents.begin(), extents.end(), 0) == extents.end()) return std::nullopt;
  word.empty = Shape(extents);
  return word;
}

/// "i32 i32 -> i32": operands and results where they are not what NNEF's types say.
std::optional<Types> parse_types(std::string_view text) {
  Types types;
  std::vector<Word>* to = &types.in;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    if (one == "->") {
      if (to == &types.out) return std::nullopt;
      to = &types.out;
      continue;
    }
    const auto word = parse_word(one);
    if (!word) return std::nullopt;
    to->push_back(*word);
  }
  return types;
}

/// The row's inputs, of the call's operands and of what only the words say.
Status place_inputs(ImportCall& call, const Types& types) {
  std::vector<ValueId> in;
  size_t next = 0;
  for (const Word& word : types.in) {
    if (word.absent()) {
      in.emplace_back();
    } else if (word.empty) {
      NNEX_ASSIGN(Tensor none, Tensor::make(word.type, *word.empty));
      in.push_back(call.b.constant(std::move(none)));
    } else {
      in.push_back(call.as_type(call.in[next++], word.type));
    }
  }
  call.in = std::move(in);
  return {};
}

/// [] in the text is a list of any items.
bool set_empty(const Field& f, void* attrs, const AttrValue& v) {
  const Ints* list = std::get_if<Ints>(&v);
  return list && list->empty() &&
         (f.set(attrs, AttrValue(Pairs{})) || f.set(attrs, AttrValue(Reals{})) || f.set(attrs, AttrValue(Texts{})));
}

Status set_attributes(ImportCall& call, const OpDef& row, void* attrs) {
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

Status import_row(ImportCall& call, const OpDef& row) {
  ir::Graph& graph = call.graph();
  const bool list = call.op.results.size() == 1 && call.op.results[0].is_list();
  const auto results = list ? call.op.results[0].items() : call.op.results;
  Types types;
  if (const AttrValue* said = call.find(kRowTypes)) {
    const std::string* text = std::get_if<std::string>(said);
    const auto parsed = text ? parse_types(*text) : std::nullopt;
    const auto given = [](const Word& w) { return w.given(); };
    if (!parsed || parsed->out.size() != results.size() ||
        static_cast<size_t>(std::count_if(parsed->in.begin(), parsed->in.end(), given)) != call.in.size())
      return call.error(fmt::format("attribute '{}' does not name a type for each operand and result", kRowTypes));
    types = *parsed;
    NNEX_TRY(place_inputs(call, types));
  }
  std::shared_ptr<void> attrs = row.attrs.make ? row.attrs.make() : nullptr;
  for (const Field& f : row.attrs.fields)
    if (f.required && !call.find(f.name)) return call.error(fmt::format("attribute '{}' is required", f.name));
  NNEX_TRY(set_attributes(call, row, attrs.get()));
  const NodeId id = call.b.node(row, std::move(call.in), results.size(), std::move(attrs));
  NNEX_TRY(call.infer(id));
  for (size_t i = 0; i < results.size(); ++i) {
    if (i < types.out.size() && types.out[i].absent()) continue;  // nobody reads it
    TensorInfo& t = call.tensors()[results[i].tensor()];
    ValueId y = graph[id].out[i];
    const auto extents = concrete(graph[y].type);
    if (!extents) return call.error("the extents of its result are known only to a run");
    if (i < types.out.size() && (graph[y].type.dtype != types.out[i].type || types.out[i].empty))
      return call.error(fmt::format("result {} is {}; '{}' says otherwise", i, name(graph[y].type.dtype), kRowTypes));
    y = call.as_type(y, call.element(t.type));
    if (!t.name.empty()) graph.set_name(y, std::string(t.name));
    t.value = y, t.extents.assign(extents->begin(), extents->end()), t.shaped = true;
  }
  return call.status();
}

}  // namespace nnex::nnef_format
