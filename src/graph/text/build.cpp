#include "graph/text/build.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/text/signs.h"

namespace nnex::graph_text {
namespace {

using ItemKind = Item::Kind;

constexpr uint16_t kDeepestArray = 32;
/// Of arguments by position.
constexpr std::string_view kPositional[3] = {};
constexpr std::span<const std::string_view, 3> kNoNames(kPositional);

}  // namespace

Error TextBuilder::error(Position at, std::string message, Code code) const {
  return Error(code, std::move(message)).at(place(at));
}

std::string TextBuilder::place(Position at) const { return fmt::format("{}:{}:{}", source_, at.line, at.column); }

// ---- Assignments

Status TextBuilder::run(std::span<const Assignment> assignments) {
  for (const Assignment& a : assignments) {
    Item value;
    if (!evaluated(a.right, value, goal_of(a.left)) || !assign(a, std::move(value))) return *std::move(error_);
  }
  return {};
}

bool TextBuilder::assign(const Assignment& a, Item value) {
  const bool several = a.left.kind == Target::Kind::array || a.left.kind == Target::Kind::tuple;
  if (several && value.kind == ItemKind::value) value = Item::list({value});
  return done(assign(a.left, value));
}

Status TextBuilder::assign(const Target& to, const Item& item) {
  if (to.kind == Target::Kind::none) {
    if (item.kind != ItemKind::value) return {};
    const ValueDef& v = graph_[item.value];
    if (v.producer.valid() && v.uses.empty()) graph_.drop_output(v.producer, v.output);
    return {};
  }
  if (to.kind == Target::Kind::name) {
    // In dumps "w = f32[2](1.0, 2.0);" makes a constant.
    const bool constant = names_ && item.kind == ItemKind::tensor;
    Item held = constant ? Item::of(graph_.add_constant(*item.tensor)) : item;
    if (constant) types_.grow();
    NNEX_TRY(name_value(to, held));
    if (!add(to.name, std::move(held))) return error(to.at, fmt::format("'{}' is assigned twice", to.name));
    return {};
  }
  if (item.kind != ItemKind::array && item.kind != ItemKind::tuple)
    return error(to.at, fmt::format("found {}; needed {} values", item.text_of(), to.items.size()));
  if (item.items.size() != to.items.size())
    return error(to.at, fmt::format("found {} values; needed {}", item.items.size(), to.items.size()));
  for (size_t i = 0; i < to.items.size(); ++i) NNEX_TRY(assign(to.items[i], item.items[i]));
  return {};
}

/// In dumps the value takes the author's name and the declared type.
Status TextBuilder::name_value(const Target& to, const Item& item) {
  const ValueId v = item.value;
  if (!names_ || !v.valid()) return {};
  if (graph_[v].name.empty()) {
    if (to.label())
      graph_.set_name(v, *to.label());
    else if (!stands_for_no_name(to.name))
      graph_.set_name(v, std::string(to.name));
  }
  if (to.type() && !graph_[v].is_constant()) {
    graph_.set_type(v, *to.type());
    types_.bind(v, *to.type());
  }
  return {};
}

Status TextBuilder::graph_text(const GraphText& text) {
  const BlockId block = into_.block();
  for (const Target& p : text.params) {
    if (p.kind != Target::Kind::name) return error(p.at, "a parameter is a name");
    std::string name = p.label() ? *p.label() : stands_for_no_name(p.name) ? std::string() : std::string(p.name);
    ValueId v = graph_.add_param(block, std::move(name), p.type() ? *p.type() : Type{});
    types_.grow();
    types_.bind(v, graph_[v].type);
    if (!add(p.name, Item::of(v))) return error(p.at, fmt::format("'{}' is a parameter twice", p.name));
  }
  NNEX_TRY(run(text.body));
  std::vector<ValueId> results;
  for (const Target& r : text.results) {
    const Item* item = r.kind == Target::Kind::name ? find(r.name) : nullptr;
    if (!item) return error(r.at, fmt::format("nothing is called '{}'", r.name));
    if (item->kind != ItemKind::value)
      return error(r.at, fmt::format("result '{}' is {}; needed a value", r.name, item->text_of()));
    results.push_back(item->value);
  }
  graph_.set_results(block, std::move(results));
  return {};
}

Result<BlockId> TextBuilder::block(const GraphText& text) {
  if (blocks_ == limits_.blocks)
    return error(text.at, fmt::format("blocks nested deeper than {}", blocks_), Code::limit);
  ++blocks_;
  const BlockId b = graph_.add_block();
  const Builder outside = into_;
  into_ = Builder(graph_, b);
  push_scope(false);
  Status s = graph_text(text);
  pop_scope();
  into_ = outside;
  --blocks_;
  NNEX_TRY(std::move(s));
  return b;
}

// ---- Expressions

bool TextBuilder::fail(Error e) {
  error_.emplace(std::move(e));
  return false;
}

Result<Item> TextBuilder::evaluate(const Expr& e, size_t outputs) {
  Item out;
  if (!evaluated(e, out, {nullptr, outputs})) return *std::move(error_);
  return out;
}

bool TextBuilder::enter(const Expr& e, size_t depth) {
  if (depth < static_cast<size_t>(limits_.nesting)) return true;
  return fail(error(e.at, fmt::format("expressions nested deeper than {}", limits_.nesting), Code::limit));
}

/// Arrays are copied wherever they go: what is copied counts.
bool TextBuilder::leave(const Expr& e, const Item& item) {
  if (item.items.empty()) return true;
  if (item.depth > kDeepestArray)
    return fail(error(e.at, fmt::format("arrays nested deeper than {}", kDeepestArray), Code::limit));
  steps_ += item.weight;
  if (steps_ <= limits_.nodes) return true;
  return fail(error(e.at, fmt::format("arrays of more than {} items", limits_.nodes), Code::limit));
}

bool TextBuilder::atom(const Expr& e, Item& out) {
  switch (e.kind) {
    case Expr::Kind::tensor:
      out.kind = ItemKind::tensor, out.tensor = std::make_shared<const Tensor>(*e.tensor);
      return true;
    case Expr::Kind::block:
      out.kind = ItemKind::block, out.block = e.block;
      return true;
    default:
      return literal(e, out);
  }
}

bool TextBuilder::free_name(const Expr& e, Item&) {
  return fail(error(e.at, fmt::format("nothing is called '{}'", e.text)));
}

Item TextBuilder::list(Parts items, bool array) {
  return Item::list(moved(items), array ? ItemKind::array : ItemKind::tuple);
}

bool TextBuilder::index(const Expr& e, Parts parts, Item& out, const Goal&) {
  return done(placed(at_index(parts[0], parts[1]), e.at), out);
}

bool TextBuilder::slice(const Expr& e, Parts parts, Item& out, const Goal&) {
  return done(placed(graph_text::slice(parts[0], parts[1], parts[2]), e.at), out);
}

bool TextBuilder::unary(const Expr& e, Parts parts, Item& out, const Goal&) {
  if (parts[0].kind != ItemKind::value) return done(placed(graph_text::unary(e.op, parts[0]), e.at), out);
  if (e.op == Tok::plus) return out = std::move(parts[0]), true;
  return done(node(op(operation_of(e.op, true)), kNoNames.first<1>(), moved(parts), e.at, 1), out);
}

bool TextBuilder::binary(const Expr& e, Parts parts, Item& out, const Goal&) {
  const Item &x = parts[0], &y = parts[1];
  if (x.kind != ItemKind::value && y.kind != ItemKind::value)
    return done(placed(graph_text::binary(e.op, x, y), e.at), out);
  const std::string_view name = operation_of(e.op, false);
  if (name.empty()) return fail(error(e.at, "'in' does not take a value of the graph"));
  return done(node(op(name), kNoNames.first<2>(), moved(parts), e.at, 1), out);
}

/// Only the chosen side is evaluated; on a condition that a run computes it is a select.
Branch TextBuilder::branch(const Expr& e, const Item& condition) {
  if (condition.kind == ItemKind::boolean) return condition.integer ? Branch::first : Branch::second;
  if (condition.kind == ItemKind::value) return Branch::both;
  fail(error(e.at, fmt::format("the condition is {}; needed true or false", condition.text_of())));
  return Branch::fault;
}

bool TextBuilder::select(const Expr& e, Parts parts, Item& out) {
  return done(node(op("select"), kNoNames, moved(parts), e.at, 1), out);
}

bool TextBuilder::loop(const Expr& e, size_t i, const Item& first, const Item& over) {
  if (over.kind != ItemKind::array)
    return fail(error(e.items[i].at, fmt::format("a loop over {}; needed an array", over.text_of())));
  if (over.items.size() == first.items.size()) return true;
  return fail(error(e.items[i].at,
                    fmt::format("a loop over arrays of {} and {} items", first.items.size(), over.items.size())));
}

bool TextBuilder::turn(const Expr& e) {
  if (++steps_ <= limits_.nodes) return true;
  return fail(error(e.at, fmt::format("loops of more than {} steps", limits_.nodes), Code::limit));
}

bool TextBuilder::twice(const Expr& e, size_t i) {
  return fail(error(e.at, fmt::format("'{}' stands for two loops", e.names[i])));
}

bool TextBuilder::truth(const Expr& condition, const Item& item, bool& out) {
  out = item.integer != 0;
  return item.kind == ItemKind::boolean ||
         fail(error(condition.at, fmt::format("the condition is {}", item.text_of())));
}

// ---- Calls

CallForm TextBuilder::begin_call(const Expr& e) {
  if (e.label || (names_ && e.text == "sparse") || is_port_word(e.text)) return CallForm::whole;
  if (auto f = fragments_.find(e.text); f != fragments_.end()) {
    if (f->second->has_body) return CallForm::parts;
    fail(error(e.at, fmt::format("fragment '{}' has no body", e.text), Code::unsupported));
    return CallForm::fault;
  }
  if (is_keyword(e.text) || find_op(e.text)) return CallForm::parts;
  fail(error(e.at, fmt::format("no operator is called '{}'", e.text)));
  return CallForm::fault;
}

/// Those of a fragment have a parameter each.
ArgumentUse TextBuilder::argument(const Expr& e, size_t i) {
  const auto f = fragments_.find(e.text);
  if (f == fragments_.end()) return ArgumentUse::evaluated;
  const auto& params = f->second->params;
  const size_t at = parameter_of(e, i, params);
  bool given = at >= params.size();
  for (size_t k = 0; k < i && !given; ++k) given = e.names[k].empty() ? k == at : e.names[k] == params[at].name;
  if (!given) return ArgumentUse::evaluated;
  fail(error(e.items[i].at, fmt::format("'{}' has no parameter for argument {}", e.text, i + 1)));
  return ArgumentUse::fault;
}

bool TextBuilder::call(const Expr& e, Parts arguments, Item& out, const Goal& goal) {
  if (arguments.empty() && begin_call(e) == CallForm::whole) return done(whole_call(e, goal.outputs), out);
  std::vector<Item> args = moved(arguments);
  if (auto f = fragments_.find(e.text); f != fragments_.end())
    return done(begin_fragment(e, *f->second, std::move(args)));
  if (!is_keyword(e.text)) return done(node(op(e.text), e.names, std::move(args), e.at, goal.outputs), out);
  if (args.size() != 1 || !e.names[0].empty())
    return fail(error(e.at, fmt::format("{} takes one argument; found {}", e.text, args.size())));
  return done(e.text == "shape_of" ? shape_of(e, args[0]) : placed(built_in(e.text, args[0]), e.at), out);
}

Result<Item> TextBuilder::whole_call(const Expr& e, size_t outputs) {
  if (e.label) return call_custom(e, outputs);
  return is_port_word(e.text) ? port_word(e) : sparse(e);
}

/// sparse(values, indices, shape): a constant (dumps).
Result<Item> TextBuilder::sparse(const Expr& e) {
  if (e.items.size() != 3) return error(e.at, "sparse takes values, indices and extents");
  SparseTensor t;
  for (size_t i = 0; i < 2; ++i) {
    NNEX_ASSIGN(Item item, evaluate(e.items[i]));
    if (item.kind != ItemKind::tensor)
      return error(e.items[i].at, fmt::format("found {}; needed a tensor", item.text_of()));
    (i == 0 ? t.values : t.indices) = *item.tensor;
  }
  NNEX_ASSIGN(Item extents, evaluate(e.items[2]));
  std::vector<int64_t> shape;
  for (const Item& i : extents.items) {
    if (i.kind != ItemKind::integer || i.integer < 0) return error(e.items[2].at, "extents are integers, at least 0");
    shape.push_back(i.integer);
  }
  t.shape = Shape(shape);
  const ValueId v = graph_.add_constant(Value(std::move(t)));
  types_.grow();
  return Item::of(v);
}

/// given(port): whether the node has it; dtype(port), rank(port): what is known of it.
Result<Item> TextBuilder::port_word(const Expr& e) {
  if (e.items.size() != 1 || e.items[0].kind != Expr::Kind::name)
    return error(e.at, fmt::format("{} takes the name of a port", e.text));
  const Item* item = find(e.items[0].text);
  if (!item) return error(e.at, fmt::format("no port is called '{}'", e.items[0].text));
  if (e.text == "given") return Item::boolean(item->kind != ItemKind::none);
  if (item->kind != ItemKind::value)
    return error(e.at, fmt::format("{}({}): it is not given", e.text, e.items[0].text));
  const Type& t = types_.type(item->value);
  if (e.text == "dtype") return Item::of(std::string(name(t.dtype)));
  if (!t.dims) return error(e.at, fmt::format("rank({}): it is not known", e.items[0].text), Code::unsupported);
  return Item::of(static_cast<int64_t>(t.dims->size()));
}

Result<Item> TextBuilder::shape_of(const Expr& e, const Item& x) {
  if (x.kind != ItemKind::value) return error(e.at, fmt::format("shape_of does not take {}", x.text_of()));
  auto shape = concrete(types_.type(x.value));
  if (!shape)
    return error(e.at, fmt::format("the extents {} are no numbers", types_.type(x.value).text()), Code::unsupported);
  std::vector<Item> out;
  for (int64_t extent : *shape) out.push_back(Item::of(extent));
  return Item::list(std::move(out));
}

Status TextBuilder::begin_fragment(const Expr& e, const FragmentText& f, std::vector<Item> given) {
  std::vector<std::optional<Item>> args(f.params.size());
  for (size_t i = 0; i < given.size(); ++i) args[parameter_of(e, i, f.params)] = std::move(given[i]);
  for (size_t p = 0; p < f.params.size(); ++p) {
    if (args[p]) continue;
    if (!f.params[p].otherwise) return error(e.at, fmt::format("'{}' needs '{}'", f.name, f.params[p].name));
    NNEX_ASSIGN(args[p], evaluate(*f.params[p].otherwise));
  }
  begin_body(f.body, {&f, names_});
  names_ = false;
  for (size_t p = 0; p < args.size(); ++p)
    if (!add(f.params[p].name, *std::move(args[p])))
      return error(f.at, fmt::format("'{}' has two parameters of one name", f.name));
  return {};
}

bool TextBuilder::end_body(FragmentCall& call, Item& out) {
  std::vector<Item> results;
  for (const FragmentParam& r : call.fragment->results) {
    const Item* item = find(r.name);
    if (!item) return fail(error(r.at, fmt::format("fragment '{}' does not assign '{}'", call.fragment->name, r.name)));
    results.push_back(*item);
  }
  names_ = call.names;
  out = results.size() == 1 ? std::move(results[0]) : Item::list(std::move(results), ItemKind::tuple);
  return true;
}

// ---- Texts as graphs

namespace {

Result<ir::Graph> read_document(const Document& d, std::string_view name, const BuildLimits& limits) {
  ir::Graph g;
  Inference types(g);
  TextBuilder builder(g, types, Builder(g, kMain), std::string(name), limits);
  builder.keep_names();
  for (const FragmentText& f : d.fragments) builder.define(f);
  g.meta.graph_name = d.graph.label.value_or(d.graph.name);
  NNEX_TRY(builder.graph_text(d.graph));
  return g;
}

}  // namespace

Result<ir::Graph> read_graph(std::string_view text, std::string_view name, const ParseLimits& parse,
                             const BuildLimits& build) {
  NNEX_ASSIGN(OwnedDocument d, parse_document(text, name, parse));
  return read_document(d, name, build);
}

}  // namespace nnex::graph_text
