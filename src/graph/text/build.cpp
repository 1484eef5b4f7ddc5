#include "graph/text/build.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "graph/missing.h"
#include "graph/text/signs.h"
#include "tensor/sparse.h"

namespace nnex::graph_text {
namespace {

using ItemKind = Item::Kind;

constexpr uint16_t kDeepestArray = 32;
/// Of arguments by position.
constexpr std::string_view kPositional[3] = {};
constexpr std::span<const std::string_view, 3> kNoNames(kPositional);

}  // namespace

std::string TextBuilder::place(Position at) const { return fmt::format("{}:{}:{}", source_, at.line, at.column); }

// ---- Assignments

Status TextBuilder::run(std::span<const Assignment> assignments) {
  for (const Assignment& a : assignments) {
    NNEX_ASSIGN(const Item value, evaluate(a.right, goal_of(a.left)));
    NNEX_TRY(assign_to(a.left, value));
  }
  return {};
}

Status TextBuilder::assign_to(const Target& to, const Item& item) {
  const bool several = to.kind == Target::Kind::array || to.kind == Target::Kind::tuple;
  return several && item.kind == ItemKind::value ? assign(to, Item::list({item})) : assign(to, item);
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
    const bool constant = keeps_names() && item.kind == ItemKind::tensor;
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
  if (!keeps_names() || !v.valid()) return {};
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

Status TextBuilder::enter_expression(const Expr& e, size_t depth) {
  if (depth < static_cast<size_t>(limits_.nesting)) return {};
  return error(e.at, fmt::format("expressions nested deeper than {}", limits_.nesting), Code::limit);
}

/// Arrays are copied wherever they go: what is copied counts.
Status TextBuilder::leave_expression(const Expr& e, const Item& item) {
  if (item.items.empty()) return {};
  if (item.depth > kDeepestArray)
    return error(e.at, fmt::format("arrays nested deeper than {}", kDeepestArray), Code::limit);
  steps_ += item.weight;
  if (steps_ <= limits_.nodes) return {};
  return error(e.at, fmt::format("arrays of more than {} items", limits_.nodes), Code::limit);
}

Status TextBuilder::begin_turn(const Expr& e) {
  if (++steps_ <= limits_.nodes) return {};
  return error(e.at, fmt::format("loops of more than {} steps", limits_.nodes), Code::limit);
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

Item TextBuilder::list(Parts items, bool array) {
  return Item::list(moved(items), array ? ItemKind::array : ItemKind::tuple);
}

Result<Item> TextBuilder::named(const Expr& e) { return error(e.at, fmt::format("nothing is called '{}'", e.text)); }

bool TextBuilder::is_computed(Tok, const Item& x, const Item& y) const {
  return x.kind == ItemKind::value || y.kind == ItemKind::value;
}

Result<Item> TextBuilder::operate(std::string_view operation, std::vector<Item> operands, Position at) {
  if (operation.empty()) return error(at, "'in' does not take a value of the graph");
  const std::span<const std::string_view> names = kNoNames.first(operands.size());
  return node(op(operation), names, std::move(operands), at, 1);
}

Result<Item> TextBuilder::part_of(const Item& x, const Item& begin, const Item& end, bool one, Position at) {
  return placed(one ? at_index(x, begin) : graph_text::slice(x, begin, end), at);
}

Result<Branch> TextBuilder::computed_branch(const Expr& e, const Item& condition) {
  if (condition.kind == ItemKind::value) return Branch::both;
  return error(e.at, fmt::format("the condition is {}; needed true or false", condition.text_of()));
}

// ---- Calls

Result<CallForm> TextBuilder::form_of(const Expr& e) {
  if (is_whole(e)) return CallForm::whole;
  const FragmentText* f = callee(e).text;
  if (f && !f->has_body) return error(e.at, fmt::format("fragment '{}' has no body", e.text), Code::unsupported);
  if (f || is_keyword(e.text) || find_op(e.text)) return CallForm::parts;
  if (const std::string other = standards_name(e.text); !other.empty())
    return error(e.at, fmt::format("no operator is called '{}'; {}", e.text, other));
  std::vector<std::string_view> known;
  for (const OpDef* op : all_ops()) known.push_back(op->name);
  for (const auto& [name, fragment] : fragments_) known.push_back(name);
  return error(e.at, fmt::format("no operator is called '{}'{}", e.text, did_you_mean(e.text, known)));
}

ItemEvaluation::Callee TextBuilder::callee(const Expr& e) const {
  const auto f = fragments_.find(e.text);
  if (f == fragments_.end() || is_whole(e)) return {};
  return {f->second, true, false};
}

Result<Item> TextBuilder::make_call(const Expr& e, std::vector<Item> args, const Goal& goal) {
  if (e.label) return call_custom(e, goal.outputs);
  if (is_whole(e)) return is_port_word(e.text) ? port_word(e) : sparse(e);
  if (!is_keyword(e.text)) return node(op(e.text), e.names, std::move(args), e.at, goal.outputs);
  if (args.size() != 1 || !e.names[0].empty())
    return error(e.at, fmt::format("{} takes one argument; found {}", e.text, args.size()));
  return e.text == "shape_of" ? shape_of(e, args[0]) : placed(built_in(e.text, args[0]), e.at);
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
  if (Status sound = check_sparse(t); !sound.ok()) return error(e.at, sound.error().message());
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
