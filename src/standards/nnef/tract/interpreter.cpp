// Documents, assignments and expressions.

#include "standards/nnef/tract/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/failure.h"
#include "base/joined.h"
#include "graph/text/signs.h"
#include "ops/shape.h"
#include "standards/spelling.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {

using K = Item::Kind;
using graph_text::Tok;

namespace {

constexpr size_t kDeepest = 200;         ///< Expressions and calls in each other.
constexpr size_t kMaxSteps = 4'000'000;  ///< Expressions evaluated in all.

template <class Visit>
void each_call(const Expr& e, const Visit& visit) {
  if (e.kind == Expr::Kind::call) visit(e);
  for (const Expr& i : e.items) each_call(i, visit);
}

/// The fragment that tract_core_scan runs is named by a string.
std::string_view scan_body_of(const Expr& call) {
  for (size_t i = 0; i < call.items.size(); ++i)
    if (call.text == "tract_core_scan" && call.names[i] == "body" && call.items[i].kind == Expr::Kind::string)
      return call.items[i].text;
  return {};
}

}  // namespace

// ---- Documents

std::string TractReader::place(Position at) const { return fmt::format("{}:{}:{}", file_, at.line, at.column); }

Error TractReader::broken(Position at, std::string_view rule, std::string message) const {
  return error(at, fmt::format("{}: {}", rule, message));
}

Where TractReader::where(Position at, std::string_view operation) {
  return graph_.add_place(fmt::format("{}:{}:{} '{}' ({})", file_, at.line, at.column, left_, operation));
}

Status TractReader::extensions() {
  for (const auto& e : document_.extensions) {
    if (e.words.empty()) continue;
    const std::string_view first = e.words[0];
    if (first == "tract_registry") {
      if (e.words.size() != 2) return error(e.at, "needed one name: extension tract_registry NAME;");
      if (!is_tract_registry(e.words[1]))
        return error(
            e.at, fmt::format("registry '{}' is not known; known are {}", e.words[1], joined(tract_registries(), ", ")),
            Code::unsupported);
      registries_.emplace_back(e.words[1] == "tract_qwen35" ? "tract_transformers" : e.words[1]);
    } else if (first == "tract_symbol") {
      for (size_t i = 1; i < e.words.size(); ++i) symbols_.emplace(e.words[i]);
    } else if (first == "tract_pulse_streaming_symbol") {
      symbols_.emplace("S");
    } else if (!first.starts_with("KHR_") && !first.starts_with("tract_")) {
      return error(e.at, fmt::format("S18: extension '{}' is not known", first), Code::unsupported);
    }
  }
  return {};
}

std::vector<std::string> TractReader::missing(bool fragments_too) const {
  std::vector<std::string> out;
  std::set<std::string_view> seen;
  std::vector<std::span<const Assignment>> bodies = {document_.graph.body};
  const auto visit = [&](const Expr& call) {
    for (std::string_view name : {call.text, scan_body_of(call)}) {
      if (name.empty() || graph_text::is_keyword(name) || !seen.insert(name).second) continue;
      if (const auto f = fragments_.find(name); f != fragments_.end()) {
        bodies.push_back(f->second->body);
      } else if (!find_tract_operation(name, registries_) && !find_declaration(name)) {
        out.emplace_back(name);
      }
    }
  };
  if (fragments_too)
    for (const auto& f : document_.fragments)
      if (f.has_body && seen.insert(f.name).second) bodies.push_back(f.body);
  for (size_t i = 0; i < bodies.size(); ++i) {
    const auto body = bodies[i];
    for (const Assignment& a : body) each_call(a.right, visit);
  }
  return out;
}

void TractReader::graph(Faults& faults) {
  graph_.meta.graph_name = document_.graph.name;
  for (const Target& p : document_.graph.params) graph_.add_param(kMain, std::string(p.name), Type());
  types_.grow();
  for (const Assignment& a : document_.graph.body) {
    const bool fine = !reads_lost(a.right) && faults.check(statement(a, true));
    mark(a.left, !fine);
  }
  for (const Target& r : document_.graph.results)
    if (!find(r.name) && !lost_.count(r.name))
      faults.add(error(r.at, fmt::format("A10: result '{}' is not assigned in the graph", r.name)));
  if (faults.none()) faults.check(results());
}

void TractReader::mark(const Target& to, bool lost) {
  for (const Target& i : to.items) mark(i, lost);
  if (to.kind != Target::Kind::name) return;
  if (lost)
    lost_.insert(to.name);
  else
    lost_.erase(to.name);
}

bool TractReader::reads_lost(const Expr& e) const {
  if (lost_.empty()) return false;
  if (e.kind == Expr::Kind::name && lost_.count(e.text)) return true;
  return std::any_of(e.items.begin(), e.items.end(), [&](const Expr& i) { return reads_lost(i); });
}

Status TractReader::results() {
  std::vector<ValueId> results;
  for (const Target& r : document_.graph.results) {
    const Item* found = find(r.name);
    NNEX_ASSERT(found);
    NNEX_ASSIGN(ValueId v, value(*found, r.at));
    if (graph_[v].name != r.name || graph_[v].is_constant()) {
      Builder b = builder();
      const Type type = types_.type(v);
      v = b("copy", {v});
      types_.grow();
      types_.bind(v, type);
      graph_.set_name(v, std::string(r.name));
    }
    results.push_back(v);
  }
  for (State& s : states_) {
    graph_.states.push_back(std::move(s.def));
    results.push_back(s.next);
  }
  make_states(results);
  graph_.set_results(kMain, std::move(results));
  types_.grow();
  for (uint32_t n = 0; n < graph_.value_count(); ++n)
    if (const ValueId v{n}; !graph_[v].is_constant() && types_.type(v).kind != Kind::unknown)
      graph_.set_type(v, types_.type(v));
  return properties();
}

/// What the writer says of itself: strings of the fragment tract_core_properties.
Status TractReader::properties() {
  for (const auto& f : document_.fragments) {
    if (f.name != "tract_core_properties" || f.body.empty()) continue;
    for (const Expr& pair : f.body[0].right.items)
      if (pair.items.size() == 2 && pair.items[0].kind == Expr::Kind::string &&
          pair.items[1].kind == Expr::Kind::string)
        graph_.meta.properties.emplace_back(pair.items[0].text, pair.items[1].text);
  }
  return {};
}

/// Updated variables, constants so far, become the last parameters; what they become, the last results.
void TractReader::make_states(std::vector<ValueId>& results) {
  std::map<uint32_t, ValueId> params;  // by the constants that they were
  for (const size_t i : updated_) {
    const Variable& variable = variables_[i];
    const ValueDef& def = graph_[variable.value];
    graph_.states.push_back({variable.label, def.constant});
    const ValueId param = graph_.add_param(kMain, def.name, def.type);
    types_.grow();
    types_.bind(param, graph_[param].type);
    graph_.replace_uses(variable.value, param);
    params.emplace(variable.value.n, param);
    results.push_back(variable.next);
  }
  // Another variable's old value may be what one becomes: swaps read parameters.
  for (ValueId& v : results)
    if (const auto param = params.find(v.n); param != params.end()) v = param->second;
}

// ---- Assignments

Status TractReader::statement(const Assignment& a, bool main) {
  begin_statement(a);
  NNEX_ASSIGN(const Item item, evaluate(a.right, graph_text::goal_of(a.left)));
  return assign(a.left, item, main);
}

Status TractReader::body(std::span<const Assignment> assignments) {
  for (const Assignment& a : assignments) NNEX_TRY(statement(a, false));
  return {};
}

Status TractReader::assign(const Target& to, const Item& item, bool main) {
  if (to.kind == Target::Kind::name) {
    const bool wrapped = item.kind == K::tuple && item.items.size() == 1;
    Item held = wrapped ? item.items[0] : item;
    if (main) {
      NNEX_ASSIGN(held, quantised(to, held));
      if (held.kind == K::value && graph_[held.value].name.empty() && graph_[held.value].producer.valid())
        graph_.set_name(held.value, std::string(to.name));
    }
    set(to.name, std::move(held));
    return {};
  }
  const std::vector<Item> one = {item};
  const bool list = item.kind == K::tuple || item.kind == K::array;
  const std::vector<Item>& items = list ? item.items : one;
  if (items.size() != to.items.size())
    return error(to.at,
                 fmt::format("A2: the left side has {} items; the right side {}", to.items.size(), items.size()));
  for (size_t i = 0; i < items.size(); ++i) NNEX_TRY(assign(to.items[i], items[i], main));
  return {};
}

namespace {

Item item_of(const Literal& l) {
  if (auto* b = l.get<bool>()) return Item::boolean(*b);
  if (auto* n = l.get<int64_t>()) return Item::of(*n);
  if (auto* x = l.get<double>()) return Item::of(*x);
  if (auto* s = l.get<std::string>()) return Item::of(*s);
  std::vector<Item> items;
  if (auto* list = l.get<Literals>())
    for (const Literal& i : *list) items.push_back(item_of(i));
  return Item::list(std::move(items));
}

}  // namespace

/// What graph.quant says of a tensor is applied where it is computed. Inputs come as reals.
Result<Item> TractReader::quantised(const Target& to, const Item& item) {
  const auto known = records_.find(to.name);
  const QuantRecord* record = known == records_.end() ? nullptr : known->second;
  const OpDef* row = record ? find_spelling(nnex::nnef, {}, record->operation).op : nullptr;
  if (!record || (item.kind == K::value && !is_float(type_of(item)))) return item;
  if (!row)
    return error(to.at, fmt::format("graph.quant: operation '{}' of '{}' is missing", record->operation, to.name),
                 Code::unsupported);
  SpelledNode node;
  node.spelled = find_spelling(nnex::nnef, {}, record->operation);
  NNEX_ASSIGN(const Item real, typed(item, DType::f32, to.at));
  NNEX_ASSIGN(const ValueId x, value(real, to.at));
  node.in = {x};
  Builder b = builder(where(to.at, record->operation));
  const Declaration* d = find_declaration(record->operation);
  for (size_t p = 1; d && p < d->parameters.size(); ++p) {
    const Literal* given = record->find(d->parameters[p].name);
    if (d->parameters[p].type->kind == DeclaredType::Kind::tensor) {
      Item arg = given ? item_of(*given) : Item::of(0.0);
      const bool integers = d->parameters[p].type->of == DeclaredType::Of::integer;
      auto t = graph_text::tensor_of(arg, integers ? DType::i64 : DType::f32);
      if (!t.ok()) return std::move(t).error().at(fmt::format("graph.quant: '{}'", to.name));
      node.in.push_back(b.constant(std::move(t).value()));
    } else if (given) {
      NNEX_ASSIGN(AttrValue v, graph_text::attr_of(item_of(*given)));
      node.attrs.emplace_back(std::string(d->parameters[p].name), std::move(v));
    }
  }
  types_.grow();
  auto made = make_spelled(b, std::move(node), [&](ValueId v) -> const Type& { return types_.type(v); });
  if (!made.ok()) return std::move(made).error().at(fmt::format("{}:{}:{}", file_, to.at.line, to.at.column));
  types_.grow();
  NNEX_TRY(types_.node(*made));
  return Item::of(graph_[*made].out[0]);
}

// ---- Expressions

Status TractReader::enter_expression(const Expr& e, size_t depth) {
  if (depth >= kDeepest) return error(e.at, fmt::format("E16: nested deeper than {}", kDeepest), Code::limit);
  if (++steps_ <= kMaxSteps) return {};
  return error(e.at, fmt::format("E16: evaluation takes more than {} steps", kMaxSteps), Code::limit);
}

Result<Item> TractReader::named(const Expr& e) {
  if (e.text == "inf") return Item::of(std::numeric_limits<double>::infinity());
  if (symbols_.count(e.text)) return extent(e.text, e.at);
  return error(e.at, fmt::format("A8: nothing is called '{}'", e.text));
}

Item TractReader::list(Parts items, bool array) {
  std::vector<Item> out = graph_text::moved(items);
  for (Item& i : out)
    if (i.kind == K::tuple && i.items.size() == 1) i = Item(i.items[0]);
  return Item::list(std::move(out), array ? K::array : K::tuple);
}

/// x[i], x[begin : end] of a vector of the graph, as the extents of a tensor are one.
Result<Item> TractReader::part_of(const Item& x, const Item& begin, const Item& end, bool one, Position at) {
  const int64_t from = begin.kind == K::none ? 0 : begin.integer;
  const int64_t to = one ? from + 1 : end.kind == K::none ? INT64_MAX : end.integer;
  for (const Item* i : {&begin, &end})
    if ((i->kind != K::none && i->kind != K::integer) || from < 0 || to <= from)
      return error(at, "E6: a subscript of a tensor is an integer of 0 or more, or a range that is not empty");
  const auto list = [](int64_t n) { return Item::list({Item::of(n)}); };
  NNEX_ASSIGN(Item part, operate("slice", {x, list(0), list(from), list(to), Item::list({})}, at));
  return one ? operate("squeeze", {std::move(part), list(0)}, at) : std::move(part);
}

Result<Item> TractReader::extent(std::string_view symbol, Position at) {
  if (const auto known = extents_.find(symbol); known != extents_.end()) return known->second;
  const Dim wanted = Dim::symbol(symbol);
  for (ValueId v : graph_.inputs()) {
    const MaybeDims dims = types_.type(v).dims;
    for (size_t a = 0; dims && a < dims->size(); ++a) {
      if (!((*dims)[a] == wanted)) continue;
      Builder b(graph_, kMain);
      const auto axis = static_cast<int64_t>(a);
      ShapeAttrs attrs;
      attrs.start = axis, attrs.end = axis + 1;
      const ValueId one = b("shape", {v}, attrs);
      const ValueId none = b.ints({});
      const ValueId number = b("reshape", {one, none});
      settle(graph_.node_count() - 2);
      extents_.emplace(symbol, Item::of(number));
      return Item::of(number);
    }
  }
  return error(at, fmt::format("symbol '{}' is no extent of an input so far", symbol), Code::unsupported);
}

/// An extent of an external: symbols may come up here for the first time.
Result<Dim> TractReader::formula(const Expr& e) {
  if (e.kind == Expr::Kind::integer) return Dim(e.integer);
  if (e.kind == Expr::Kind::name && !find(e.text)) {
    symbols_.emplace(e.text);
    return Dim::symbol(e.text);
  }
  if (e.kind == Expr::Kind::binary) {
    NNEX_ASSIGN(const Dim a, formula(e.items[0]));
    NNEX_ASSIGN(const Dim b, formula(e.items[1]));
    if (e.op == Tok::plus) return a + b;
    if (e.op == Tok::minus) return a - b;
    if (e.op == Tok::star) return a * b;
    if (e.op == Tok::slash && !(b == Dim(0))) return floor_div(a, b);
  }
  NNEX_ASSIGN(const Item item, evaluate(e));
  if (item.kind == K::integer) return Dim(item.integer);
  return error(e.at, fmt::format("found {}; needed an extent", item.text_of()));
}

/// Arrays are tensors where an operator does not join them.
bool TractReader::is_computed(Tok op, const Item& x, const Item& y) const {
  if (graph_text::operation_of(op, false).empty()) return false;
  return x.kind == K::value || y.kind == K::value || (x.kind == K::array && y.kind == K::array && op != Tok::plus);
}

// ---- Entry

std::optional<ir::Graph> import_tract(std::string_view text, std::string_view file, const TractOptions& options,
                                      Faults& faults, bool fragments_too) {
  graph_text::ParseLimits limits;
  graph_text::Arena memory;
  const size_t before = faults.count();
  graph_text::Parser parser(text, file, limits, faults, memory, graph_text::TextKind::tract);
  graph_text::Document document;
  if (!parser.start() || !parser.head(document)) return std::nullopt;
  if (!parser.body(Tok::close_curly, document.graph.body)) return std::nullopt;
  parser.tail(document.graph.body.empty());
  if (faults.count() > before) return std::nullopt;
  ir::Graph graph;
  TractReader reader(graph, document, file, options);
  if (!faults.check(reader.extensions())) return std::nullopt;
  if (const auto missing = reader.missing(fragments_too); !missing.empty()) {
    faults.add(failure(Code::unsupported, "{} operation{} missing: {}", missing.size(),
                       missing.size() == 1 ? " is" : "s are", joined(missing, ", "))
                   .at(std::string(file)));
    return std::nullopt;
  }
  reader.graph(faults);
  if (faults.count() > before) return std::nullopt;
  return graph;
}

}  // namespace nnex::nnef_format
