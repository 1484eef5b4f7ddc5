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

struct Deeper {
  explicit Deeper(int& n) : n_(n) { ++n_; }
  ~Deeper() { --n_; }
  int& n_;
};

}  // namespace

const Item* Scopes::find(const std::string& name) const {
  for (size_t i = scopes_.size(); i-- > 0;)
    if (auto it = scopes_[i].find(name); it != scopes_[i].end()) return &it->second;
  return nullptr;
}

std::vector<std::unordered_map<std::string, Item>> Scopes::hide() {
  auto hidden = std::move(scopes_);
  scopes_.assign(1, {});
  return hidden;
}

Error TextBuilder::error(Position at, std::string message, Code code) const {
  return Error(code, std::move(message)).at(place(at));
}

std::string TextBuilder::place(Position at) const { return fmt::format("{}:{}:{}", source_, at.line, at.column); }

// ---- Assignments

Status TextBuilder::run(std::span<const Assignment> assignments) {
  for (const Assignment& a : assignments) {
    const bool several = a.left.kind == Target::Kind::array || a.left.kind == Target::Kind::tuple;
    NNEX_ASSIGN(Item value, evaluate(a.right, several ? a.left.items.size() : 1));
    if (several && value.kind == ItemKind::value) value = Item::list({value});
    NNEX_TRY(assign(a.left, value));
  }
  return {};
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
    if (!scopes_.add(std::string(to.name), std::move(held)))
      return error(to.at, fmt::format("'{}' is assigned twice", to.name));
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
    if (!scopes_.add(std::string(p.name), Item::of(v)))
      return error(p.at, fmt::format("'{}' is a parameter twice", p.name));
  }
  NNEX_TRY(run(text.body));
  std::vector<ValueId> results;
  for (const Target& r : text.results) {
    const Item* item = r.kind == Target::Kind::name ? scopes_.find(std::string(r.name)) : nullptr;
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
  Deeper deeper(blocks_);
  const BlockId b = graph_.add_block();
  const Builder outside = into_;
  into_ = Builder(graph_, b);
  scopes_.push();
  Status s = graph_text(text);
  scopes_.pop();
  into_ = outside;
  NNEX_TRY(std::move(s));
  return b;
}

// ---- Expressions

Result<Item> TextBuilder::evaluate(const Expr& e, size_t outputs) {
  if (nesting_ >= limits_.nesting)
    return error(e.at, fmt::format("expressions nested deeper than {}", limits_.nesting), Code::limit);
  Deeper deeper(nesting_);
  NNEX_ASSIGN(Item item, value_of(e, outputs));
  if (item.items.empty()) return item;
  // Arrays are copied wherever they go: what is copied counts.
  if (item.depth > kDeepestArray)
    return error(e.at, fmt::format("arrays nested deeper than {}", kDeepestArray), Code::limit);
  steps_ += item.weight;
  if (steps_ > limits_.nodes)
    return error(e.at, fmt::format("arrays of more than {} items", limits_.nodes), Code::limit);
  return item;
}

Result<Item> TextBuilder::value_of(const Expr& e, size_t outputs) {
  switch (e.kind) {
    case Expr::Kind::none:
      return Item{};
    case Expr::Kind::boolean:
      return Item::boolean(e.integer != 0);
    case Expr::Kind::integer:
      return Item::of(e.integer);
    case Expr::Kind::real:
      return Item::of(e.real);
    case Expr::Kind::string:
      return Item::of(e.text);
    case Expr::Kind::name: {
      const Item* item = scopes_.find(std::string(e.text));
      if (!item) return error(e.at, fmt::format("nothing is called '{}'", e.text));
      return *item;
    }
    case Expr::Kind::array:
    case Expr::Kind::tuple: {
      std::vector<Item> items;
      for (const Expr& i : e.items) {
        NNEX_ASSIGN(Item item, evaluate(i));
        items.push_back(std::move(item));
      }
      return Item::list(std::move(items), e.kind == Expr::Kind::array ? ItemKind::array : ItemKind::tuple);
    }
    case Expr::Kind::tensor:
    case Expr::Kind::block: {
      Item item;
      item.kind = e.kind == Expr::Kind::tensor ? ItemKind::tensor : ItemKind::block;
      if (e.kind == Expr::Kind::tensor)
        item.tensor = std::make_shared<const Tensor>(*e.tensor);
      else
        item.block = e.block;
      return item;
    }
    case Expr::Kind::call:
      return call(e, outputs);
    case Expr::Kind::unary:
      return unary_of(e);
    case Expr::Kind::binary:
      return binary_of(e);
    case Expr::Kind::index: {
      NNEX_ASSIGN(Item x, evaluate(e.items[0]));
      NNEX_ASSIGN(Item i, evaluate(e.items[1]));
      return placed(at_index(x, i), e.at);
    }
    case Expr::Kind::slice: {
      NNEX_ASSIGN(Item x, evaluate(e.items[0]));
      NNEX_ASSIGN(Item begin, evaluate(e.items[1]));
      NNEX_ASSIGN(Item end, evaluate(e.items[2]));
      return placed(slice(x, begin, end), e.at);
    }
    case Expr::Kind::choice:
      return choice(e);
    case Expr::Kind::comprehension:
      return comprehension(e);
  }
  return error(e.at, "no value");
}

Result<Item> TextBuilder::unary_of(const Expr& e) {
  NNEX_ASSIGN(Item x, evaluate(e.items[0]));
  if (x.kind != ItemKind::value) return placed(unary(e.op, x), e.at);
  if (e.op == Tok::plus) return x;
  return node(op(operation_of(e.op, true)), kNoNames.first<1>(), {std::move(x)}, e.at, 1);
}

Result<Item> TextBuilder::binary_of(const Expr& e) {
  NNEX_ASSIGN(Item x, evaluate(e.items[0]));
  NNEX_ASSIGN(Item y, evaluate(e.items[1]));
  if (x.kind != ItemKind::value && y.kind != ItemKind::value) return placed(binary(e.op, x, y), e.at);
  const std::string_view name = operation_of(e.op, false);
  if (name.empty()) return error(e.at, "'in' does not take a value of the graph");
  return node(op(name), kNoNames.first<2>(), {std::move(x), std::move(y)}, e.at, 1);
}

/// Only the chosen side is evaluated; on a condition that a run computes it is a select.
Result<Item> TextBuilder::choice(const Expr& e) {
  NNEX_ASSIGN(Item condition, evaluate(e.items[1]));
  if (condition.kind == ItemKind::boolean) return evaluate(e.items[condition.integer ? 0 : 2]);
  if (condition.kind != ItemKind::value)
    return error(e.at, fmt::format("the condition is {}; needed true or false", condition.text_of()));
  NNEX_ASSIGN(Item x, evaluate(e.items[0]));
  NNEX_ASSIGN(Item y, evaluate(e.items[2]));
  return node(op("select"), kNoNames, {std::move(condition), std::move(x), std::move(y)}, e.at, 1);
}

Result<Item> TextBuilder::comprehension(const Expr& e) {
  std::vector<Item> over;
  for (size_t i = 0; i < e.names.size(); ++i) {
    NNEX_ASSIGN(Item x, evaluate(e.items[i]));
    if (x.kind != ItemKind::array)
      return error(e.items[i].at, fmt::format("a loop over {}; needed an array", x.text_of()));
    if (!over.empty() && x.items.size() != over[0].items.size())
      return error(e.items[i].at,
                   fmt::format("a loop over arrays of {} and {} items", over[0].items.size(), x.items.size()));
    over.push_back(std::move(x));
  }
  std::vector<Item> out;
  scopes_.push();
  Status s = unroll(e, over, out);
  scopes_.pop();
  NNEX_TRY(std::move(s));
  return Item::list(std::move(out));
}

Status TextBuilder::unroll(const Expr& e, const std::vector<Item>& over, std::vector<Item>& out) {
  const Expr &condition = e.items[e.items.size() - 2], &value = e.items.back();
  for (size_t i = 0; i < over[0].items.size(); ++i) {
    if (++steps_ > limits_.nodes)
      return error(e.at, fmt::format("loops of more than {} steps", limits_.nodes), Code::limit);
    scopes_.pop(), scopes_.push();
    for (size_t k = 0; k < over.size(); ++k)
      if (!scopes_.add(std::string(e.names[k]), over[k].items[i]))
        return error(e.at, fmt::format("'{}' stands for two loops", e.names[k]));
    if (condition.kind != Expr::Kind::none) {
      NNEX_ASSIGN(Item c, evaluate(condition));
      if (c.kind != ItemKind::boolean) return error(condition.at, fmt::format("the condition is {}", c.text_of()));
      if (!c.integer) continue;
    }
    NNEX_ASSIGN(Item item, evaluate(value));
    out.push_back(std::move(item));
  }
  return {};
}

// ---- Calls

Result<Item> TextBuilder::call(const Expr& e, size_t outputs) {
  if (e.label) return call_custom(e, outputs);
  if (names_ && e.text == "sparse") return sparse(e);
  if (port_words_ && (e.text == "given" || e.text == "dtype" || e.text == "rank")) return port_word(e);
  if (auto f = fragments_.find(e.text); f != fragments_.end()) return call_fragment(e, *f->second);
  const bool function = is_keyword(e.text);
  const OpDef* def = function ? nullptr : find_op(e.text);
  if (!function && !def) return error(e.at, fmt::format("no operator is called '{}'", e.text));
  std::vector<Item> args;
  for (const Expr& a : e.items) {
    NNEX_ASSIGN(Item item, evaluate(a));
    args.push_back(std::move(item));
  }
  if (!function) return node(*def, e.names, std::move(args), e.at, outputs);
  if (args.size() != 1 || !e.names[0].empty())
    return error(e.at, fmt::format("{} takes one argument; found {}", e.text, args.size()));
  if (e.text == "shape_of") return shape_of(e, args[0]);
  return placed(built_in(e.text, args[0]), e.at);
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
  const Item* item = scopes_.find(std::string(e.items[0].text));
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

Result<Item> TextBuilder::call_fragment(const Expr& e, const FragmentText& f) {
  if (!f.has_body) return error(e.at, fmt::format("fragment '{}' has no body", f.name), Code::unsupported);
  std::vector<Item> args(f.params.size());
  std::vector<bool> given(f.params.size());
  for (size_t i = 0; i < e.items.size(); ++i) {
    auto it = std::find_if(f.params.begin(), f.params.end(), [&](const auto& p) { return p.name == e.names[i]; });
    const size_t at = e.names[i].empty() ? i : static_cast<size_t>(it - f.params.begin());
    if (at >= f.params.size() || given[at])
      return error(e.items[i].at, fmt::format("'{}' has no parameter for argument {}", f.name, i + 1));
    NNEX_ASSIGN(args[at], evaluate(e.items[i]));
    given[at] = true;
  }
  for (size_t i = 0; i < f.params.size(); ++i) {
    if (given[i]) continue;
    if (!f.params[i].otherwise) return error(e.at, fmt::format("'{}' needs '{}'", f.name, f.params[i].name));
    NNEX_ASSIGN(args[i], evaluate(*f.params[i].otherwise));
  }
  auto hidden = scopes_.hide();
  const bool named = names_;
  names_ = false;
  Status s;
  for (size_t i = 0; s.ok() && i < args.size(); ++i)
    if (!scopes_.add(std::string(f.params[i].name), std::move(args[i])))
      s = error(f.at, fmt::format("'{}' has two parameters of one name", f.name));
  if (s.ok()) s = run(f.body);
  std::vector<Item> results;
  for (const FragmentParam& r : f.results) {
    const Item* item = s.ok() ? scopes_.find(std::string(r.name)) : nullptr;
    if (s.ok() && !item) s = error(r.at, fmt::format("fragment '{}' does not assign '{}'", f.name, r.name));
    results.push_back(item ? *item : Item{});
  }
  scopes_.restore(std::move(hidden));
  names_ = named;
  NNEX_TRY(std::move(s));
  return results.size() == 1 ? std::move(results[0]) : Item::list(std::move(results), ItemKind::tuple);
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
