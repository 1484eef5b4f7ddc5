// Calls: fragments, operations of registries, and what the reader makes itself.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/failure.h"
#include "graph/text/build.h"
#include "ops/cast.h"
#include "standards/nnef/tract/interpreter.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {

using K = Item::Kind;

namespace {

bool is_tensor(const DeclaredType& t) { return t.kind == DeclaredType::Kind::tensor; }

/// What tract calls an element type, as the engine does; none: it has no tensors of it.
DType datum_type(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (lower == "tdim") return DType::i64;
  return dtype_named(lower).value_or(DType::none);
}

DType element_type(const Expr& e) {
  return nnef_format::element_type(
      e.is_generic && e.generic != DeclaredType::Of::generic ? static_cast<ItemType>(e.generic) : ItemType::scalar);
}

/// The argument of a call by name, or by position where it has none.
const Expr* find_argument(const Expr& call, std::string_view name, size_t position) {
  for (size_t i = 0; i < call.items.size(); ++i)
    if (call.names[i] == name || (call.names[i].empty() && i == position)) return &call.items[i];
  return nullptr;
}

/// An end of 0 is the end of the axis where every stride is 1.
void open_ends(std::vector<Item>& args) {
  Item &end = args[3], &stride = args[4];
  for (const Item& s : stride.items)
    if (s.kind != K::integer || s.integer != 1) return;
  if (end.kind != K::array) return;
  for (Item& i : end.items)
    if (i.kind == K::integer && i.integer == 0) i.integer = INT64_MAX;
}

}  // namespace

// ---- Calls

Result<Item> TractReader::extents_of(const Item& x, Position at) {
  Builder b = builder(where(at, "shape_of"));
  const size_t first = graph_.node_count();
  const ValueId v = b("shape", {x.value});
  settle(first);
  return Item::of(v);
}

const TractOperation* TractReader::operation(const Expr& e) const {
  const bool own = e.text == "external" || e.text == "tract_core_external" || e.text == "tract_core_scan";
  if (own || graph_text::is_keyword(e.text)) return nullptr;
  return find_tract_operation(e.text, registries_);
}

graph_text::ItemEvaluation::Callee TractReader::callee(const Expr& e) const {
  if (const auto f = fragments_.find(e.text); f != fragments_.end()) return {f->second, true, false};
  const TractOperation* to = operation(e);
  return to ? Callee{to->text, false, to->operands} : Callee();
}

Result<graph_text::CallForm> TractReader::form_of(const Expr& e) {
  using graph_text::CallForm;
  if (callee(e).text) return CallForm::parts;
  if (!graph_text::is_keyword(e.text)) return CallForm::whole;
  if (e.items.size() == 1) return CallForm::parts;
  return error(e.at, fmt::format("{} takes one argument", e.text));
}

Result<Item> TractReader::make_call(const Expr& e, std::vector<Item> args, const graph_text::Goal& goal) {
  if (const TractOperation* to = operation(e)) {
    if (to->registry == "tract_pulse") return delay(e, *to, std::move(args));
    if (!to->text->has_body) return special(*to->text, e, std::move(args), goal.outputs);
    return run(*to, std::move(args), e.at);
  }
  if (!graph_text::is_keyword(e.text)) return whole_call(e);
  if (e.text == "shape_of" && args[0].kind == K::value) return extents_of(args[0], e.at);
  return placed(graph_text::built_in(e.text, args[0]), e.at);
}

/// Calls that look at their arguments before these have values, or evaluate them in an order of their own.
Result<Item> TractReader::whole_call(const Expr& e) {
  if (e.text == "external") return external(e, {});
  if (e.text == "tract_core_external") {
    const Expr* type = find_argument(e, "datum_type", 1);
    return external(e, type ? type->text : std::string_view());
  }
  if (e.text == "tract_core_scan") return scan(e);
  if (find_declaration(e.text)) return standard(e);
  return error(e.at, fmt::format("operation '{}' is missing", e.text), Code::unsupported);
}

Result<Item> TractReader::operate(std::string_view name, std::vector<Item> args, Position at) {
  const TractOperation* operation = find_tract_operation(name, registries_);
  NNEX_ASSERT(operation);
  return run(*operation, std::move(args), at);
}

Result<Item> TractReader::run(const TractOperation& operation, std::vector<Item> args, Position at) {
  const FragmentText& f = *operation.text;
  for (size_t p = 0; p < args.size(); ++p) {
    NNEX_ASSIGN(args[p], fitted(f.params[p].type, std::move(args[p]), at));
    const bool number = args[p].is_number() || args[p].kind == K::boolean;
    if (!operation.operands && is_tensor(f.params[p].type) && number) {
      NNEX_ASSIGN(const ValueId v, value(args[p], at));
      args[p] = Item::of(v);
    }
  }
  if (operation.operands) NNEX_TRY(align(args, f.name, at));
  if (f.name == "slice") open_ends(args);
  graph_text::TextBuilder text(graph_, types_, builder(where(at, f.name)), std::string(f.name));
  text.allow_port_words();
  for (size_t p = 0; p < args.size(); ++p) text.define(f.params[p].name, std::move(args[p]));
  if (Status s = text.run(f.body); !s.ok()) {
    const Error e = std::move(s).error();
    const bool says_name = e.message().starts_with(std::string(f.name) + ":");
    return error(at, says_name ? e.message() : fmt::format("{}: {}", f.name, e.message()), e.code())
        .helped_by(e.remedies());
  }
  std::vector<Item> results;
  for (const auto& r : f.results) {
    const Item* found = text.find(r.name);
    NNEX_ASSERT(found);
    results.push_back(*found);
  }
  return results.size() == 1 ? std::move(results[0]) : Item::list(std::move(results), K::tuple);
}

/// Operations whose results do not follow from rows alone.
Result<Item> TractReader::special(const FragmentText& f, const Expr& e, std::vector<Item> args, size_t outputs) {
  if (f.name == "variable") return variable(e, args);
  if (f.name == "update") return update(e, args);
  if (f.name == "constant") return constant(e, args);
  if (f.name == "cast") return cast(e, args[0], nnex::name(element_type(e)));
  if (f.name == "tract_core_cast") return cast(e, args[0], args[1].text);
  if (f.name == "copy_n") return copies(e, args);
  if (f.name == "unstack" || f.name == "split") return parts(e, f.name, std::move(args), outputs);
  return error(e.at, fmt::format("operation '{}' is missing", f.name), Code::unsupported);
}

Result<Item> TractReader::external(const Expr& e, std::string_view type_name) {
  const Expr* shape = find_argument(e, "shape", 0);
  if (!shape || (shape->kind != Expr::Kind::array && shape->kind != Expr::Kind::tuple))
    return error(e.at, "I3: external needs a shape");
  const DType type = type_name.empty() ? element_type(e) : datum_type(type_name);
  if (type == DType::none || type == DType::str)
    return error(e.at, fmt::format("inputs of type '{}' are not computed with", type_name), Code::unsupported);
  Dims dims;
  if (const auto other = options_.shapes.find(left_); other != options_.shapes.end()) {
    for (int64_t n : other->second) dims.emplace_back(n);
  } else {
    for (const Expr& i : shape->items) {
      NNEX_ASSIGN(Dim d, formula(i));
      dims.push_back(std::move(d));
    }
  }
  for (ValueId v : graph_.inputs()) {
    if (graph_[v].name != left_ || block_ != kMain) continue;
    graph_.set_type(v, Type::tensor(type, dims));
    types_.bind(v, Type::tensor(type, dims));
    return Item::of(v);
  }
  return error(e.at, fmt::format("A3: '{}' is no parameter of the graph", left_));
}

Result<Item> TractReader::variable(const Expr& e, std::span<const Item> args) {
  NNEX_ASSIGN(const Item shape, int_list(args[0], e.at));
  Ints extents;
  for (const Item& i : shape.items) extents.push_back(i.integer);
  if (args[1].kind != K::string || shape.kind != K::array) return error(e.at, "variable needs a shape and a label");
  if (!options_.variable)
    return error(e.at, fmt::format("variable '{}': there are no tensor files beside the text", args[1].text),
                 Code::unreadable);
  auto content = options_.variable(args[1].text, extents);
  if (!content.ok()) {
    const Error& found = content.error();
    const std::string said = (found.where().empty() ? "" : found.where() + ": ") + found.message();
    Error out = error(e.at, fmt::format("variable '{}': {}", args[1].text, said), found.code());
    for (const std::string& task : found.tasks()) out = std::move(out).during(task);
    return std::move(out).helped_by(found.remedies());
  }
  if (!(content->shape() == Shape(extents)))
    return error(e.at, fmt::format("C6: variable '{}': the file holds {}; the text says {}", args[1].text,
                                   content->shape().text(), Shape(extents).text()));
  const std::string key = label_key(args[1].text);
  for (const Variable& known : variables_)
    if (label_key(known.label) == key) return Item::of(known.value);
  const ValueId v = graph_.add_constant(std::move(content).value(), std::string(left_));
  types_.grow();
  variables_.push_back({args[1].text, v, {}});
  return Item::of(v);
}

/// The new value, which the session keeps; this run sees the old one.
Result<Item> TractReader::update(const Expr& e, std::span<const Item> args) {
  size_t i = 0;
  while (i < variables_.size() && !(args[0].kind == K::value && variables_[i].value == args[0].value)) ++i;
  if (i == variables_.size()) return error(e.at, "A13: update: the first argument is no variable");
  if (block_ != kMain || in_fragment()) return error(e.at, "A13: update: it stands outside the graph's body");
  if (variables_[i].next.valid())
    return error(e.at, fmt::format("A13: update: variable '{}' is updated a second time", variables_[i].label));
  const Tensor old = *graph_[variables_[i].value].constant.tensor();
  NNEX_ASSIGN(const Item next, typed(args[1], old.dtype(), e.at));
  if (const auto shape = concrete(types_.type(next.value)); shape && !(*shape == old.shape()))
    return error(e.at, fmt::format("O-UPD-1: update: the value is {}; variable '{}' is {}", shape->text(),
                                   variables_[i].label, old.shape().text()));
  variables_[i].next = next.value;
  updated_.push_back(i);
  return next;
}

Result<Item> TractReader::copies(const Expr& e, std::span<const Item> args) {
  constexpr int64_t kMax = 1 << 16;
  NNEX_ASSIGN(const Item times, whole(args[1], e.at));
  if (times.kind != K::integer || times.integer < 1 || times.integer > kMax)
    return error(e.at, fmt::format("O-MISC-1: copy_n: times is {}; needed 1 to {}", times.text_of(), kMax));
  return Item::list(std::vector<Item>(static_cast<size_t>(times.integer), args[0]));
}

Result<Item> TractReader::constant(const Expr& e, std::span<const Item> args) {
  NNEX_ASSIGN(const Item shape, int_list(args[0], e.at));
  Ints extents;
  for (const Item& i : shape.items) extents.push_back(i.integer);
  auto t = graph_text::tensor_of(args[1], element_type(e));
  if (!t.ok()) return error(e.at, fmt::format("constant: {}", t.error().message()));
  const auto count = Shape(extents).checked_count();
  if (!count || (*count != t->count() && t->count() != 1))
    return error(e.at, fmt::format("O-CONST-1: {} items for a shape of {}", t->count(), Shape(extents).text()));
  Builder b = builder(where(e.at, "constant"));
  const size_t first = graph_.node_count();
  const ValueId flat = b.constant(std::move(t).value());
  types_.grow();
  const bool one = graph_[flat].constant.tensor()->count() == 1;
  const ValueId out = b(one ? "expand" : "reshape", {one ? b("reshape", {flat, b.ints({1})}) : flat, b.ints(extents)});
  settle(first);
  return Item::of(out);
}

Result<Item> TractReader::cast(const Expr& e, const Item& x, std::string_view to) {
  if (to.empty()) {
    if (records_.count(left_)) return x;  // graph.quant says the type, and is applied to the result
    return error(e.at, "tract_core_cast needs a type, here or in graph.quant");
  }
  const DType type = datum_type(to);
  if (type == DType::none) return error(e.at, fmt::format("tract_core_cast: no type '{}'", to), Code::unsupported);
  return typed(x, type, e.at);
}

/// A stream's elements `delay` later, with the `overlap` ones before each run's: the end of what came is a state of the
/// session, zeros at first.
Result<Item> TractReader::delay(const Expr& e, const TractOperation& operation, std::vector<Item> args) {
  if (block_ != kMain)
    return error(e.at, fmt::format("operation '{}' is missing inside a scan", e.text), Code::unsupported);
  NNEX_ASSIGN(const ValueId x, value(args[0], e.at));
  int64_t numbers[3] = {};
  for (size_t i = 0; i < 3; ++i) {
    constexpr int64_t kMax = 1 << 30;
    NNEX_ASSIGN(const Item n, whole(args[i + 1], e.at));
    if (n.kind != K::integer || n.integer < 0 || n.integer > kMax)
      return error(e.at, fmt::format("{}: '{}' is {}; needed 0 to {}", e.text, operation.text->params[i + 1].name,
                                     n.text_of(), kMax));
    numbers[i] = n.integer;
  }
  const int64_t kept = numbers[1] + numbers[2];
  if (kept == 0) return Item::of(x);
  const Type& type = types_.type(x);
  Dims dims = type.dims ? *type.dims : Dims();
  if (numbers[0] >= static_cast<int64_t>(dims.size()))
    return error(e.at, fmt::format("{}: axis {} of a tensor of rank {}", e.text, numbers[0], dims.size()));
  dims[static_cast<size_t>(numbers[0])] = kept;
  Ints extents;
  for (const Dim& d : dims) {
    if (!d.number())
      return error(e.at, fmt::format("{}: the input's extent {} is no number", e.text, d.text()), Code::unsupported)
          .helped_by({"shapes", "", "gives it one"});
    extents.push_back(*d.number());
  }
  auto start = Tensor::make(type.dtype, Shape(extents));
  if (!start.ok()) return error(e.at, start.error().message(), start.error().code());
  std::memset(start->mutable_data(), 0, static_cast<size_t>(start->bytes()));
  const std::string label = fmt::format("{}.kept", left_);
  const Type kept_type = Type::tensor(type.dtype, dims);
  const ValueId param = graph_.add_param(kMain, label, kept_type);
  types_.grow();
  types_.bind(param, kept_type);
  args[4] = Item::of(param);
  NNEX_ASSIGN(const Item both, run(operation, std::move(args), e.at));
  states_.push_back({{label, *std::move(start)}, both.items[1].value});
  return both.items[0];
}

Result<Item> TractReader::parts(const Expr& e, std::string_view row, std::vector<Item> args, size_t outputs) {
  NNEX_ASSIGN(const ValueId x, value(args[0], e.at));
  NNEX_ASSIGN(const Item axis, whole(args[1], e.at));
  if (axis.kind != K::integer) return error(e.at, fmt::format("{}: the axis is computed", row), Code::unsupported);
  const OpDef& def = op(row);
  auto attrs = def.attrs.make();
  NNEX_ASSERT(def.attrs.find("axis")->set(attrs.get(), AttrValue(axis.integer)));
  if (row == "split") {
    NNEX_ASSIGN(const Item ratios, int_list(args[2], e.at));
    NNEX_ASSIGN(AttrValue list, graph_text::attr_of(ratios));
    if (!def.attrs.find("ratios")->set(attrs.get(), list)) return error(e.at, "split: ratios are integers");
    outputs = ratios.items.size();
  }
  Builder b = builder(where(e.at, row));
  NNEX_ASSIGN(const NodeId id, add(b, def, {x}, outputs, std::move(attrs), {}, e.at));
  std::vector<Item> out;
  for (ValueId v : graph_[id].out) out.push_back(Item::of(v));
  return Item::list(std::move(out));
}

// ---- The standard's other operations, at extents that are numbers

namespace {

/// Arguments of a call as the standard's lowering takes them.
struct StandardCall {
  graph_text::Arena memory;
  Tensors tensors;
  std::function<std::optional<std::pair<Type, Shape>>(ValueId)> look;

  Result<Arg> arg(const DeclaredType& type, const Item& item) {
    if (item.kind == K::value) {
      const auto known = look(item.value);
      if (!known) return Error(Code::unsupported, "the extents of an operand are no numbers");
      const DType d = known->first.dtype;
      const TensorId id = tensors.add(d == DType::boolean ? ItemType::logical
                                      : is_float(d)       ? ItemType::scalar
                                                          : ItemType::integer);
      TensorInfo& t = tensors[id];
      t.value = item.value, t.shaped = true;
      for (int64_t i = 0; i < known->second.rank(); ++i) t.extents.push_back(known->second[i]);
      return Arg(id);
    }
    if (item.kind == K::array || item.kind == K::tuple) {
      std::vector<Arg> items;
      const bool tuple = type.kind == DeclaredType::Kind::tuple;
      if (type.kind != DeclaredType::Kind::array && !tuple)
        return failure(Code::invalid_model, "found {}; needed {}", item.text_of(), text(type));
      for (size_t i = 0; i < item.items.size(); ++i) {
        NNEX_ASSIGN(Arg a, arg(tuple && i < type.count ? type.items[i] : *type.items, item.items[i]));
        items.push_back(a);
      }
      return Arg(memory.copy(items.data(), items.size()), tuple ? Arg::Kind::tuple : Arg::Kind::array);
    }
    if (item.kind == K::string) return Arg(memory.copy(std::string_view(item.text)));
    if (item.kind == K::boolean) return Arg(item.integer != 0);
    if (item.is_number() && type.of == DeclaredType::Of::integer) return Arg(static_cast<int64_t>(item.number()));
    if (item.is_number()) return Arg(item.number());
    return failure(Code::invalid_model, "found {}; needed {}", item.text_of(), text(type));
  }
};

}  // namespace

Result<Item> TractReader::standard(const Expr& e) {
  const Declaration& d = *find_declaration(e.text);
  if (block_ != kMain)
    return error(e.at, fmt::format("operation '{}' is missing inside a scan", e.text), Code::unsupported);
  StandardCall call;
  call.look = [this](ValueId v) -> std::optional<std::pair<Type, Shape>> {
    const auto shape = concrete(types_.type(v));
    if (!shape) return std::nullopt;
    if (!graph_[v].is_constant()) graph_.set_type(v, types_.type(v));  // the lowering infers from what the graph knows
    return std::pair(types_.type(v), *shape);
  };
  std::vector<Arg> args(d.parameters.size());
  for (size_t i = 0; i < e.items.size(); ++i) {
    const int p = e.names[i].empty() ? static_cast<int>(i) : d.find(e.names[i]);
    if (p < 0 || static_cast<size_t>(p) >= args.size())
      return error(e.items[i].at, fmt::format("I5: '{}' has no parameter '{}'", e.text, e.names[i]));
    NNEX_ASSIGN(Item item, evaluate(e.items[i]));
    const DeclaredType& type = *d.parameters[static_cast<size_t>(p)].type;
    if (is_tensor(type) && item.kind == K::array) {
      NNEX_ASSIGN(const ValueId v, value(item, e.at));
      item = Item::of(v);
    }
    auto arg = call.arg(type, item);
    if (!arg.ok())
      return error(e.items[i].at, fmt::format("{}: {}", e.text, arg.error().message()), arg.error().code());
    args[static_cast<size_t>(p)] = *arg;
  }
  for (size_t p = 0; p < args.size(); ++p) {
    if (!args[p].is(Arg::Kind::none)) continue;
    if (!d.parameters[p].has_default)
      return error(e.at, fmt::format("I3: '{}' needs '{}'", e.text, d.parameters[p].name));
    args[p] = d.parameters[p].otherwise;
  }
  std::vector<Arg> results;
  for (const ResultPort& r : d.results) {
    if (!is_tensor(*r.type)) return error(e.at, fmt::format("operation '{}' is missing", e.text), Code::unsupported);
    results.emplace_back(call.tensors.add(r.type->of == DeclaredType::Of::integer   ? ItemType::integer
                                          : r.type->of == DeclaredType::Of::logical ? ItemType::logical
                                                                                    : ItemType::scalar));
  }
  Operation operation;
  operation.declaration = &d, operation.args = args, operation.results = results;
  Importer lowering(graph_, {});
  Faults faults;
  const size_t first = graph_.node_count();
  lowering.operation(operation, call.tensors, faults);
  settle(first);
  if (!faults.none()) return error(e.at, faults.list()[0].message(), faults.list()[0].code());
  std::vector<Item> out;
  for (const Arg& r : results) out.push_back(Item::of(call.tensors[r.tensor()].value));
  return out.size() == 1 ? std::move(out[0]) : Item::list(std::move(out), K::tuple);
}

}  // namespace nnex::nnef_format
