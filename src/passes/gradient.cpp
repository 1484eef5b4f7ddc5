#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/failure.h"
#include "base/joined.h"
#include "graph/infer.h"
#include "graph/text/build.h"
#include "ops/cast.h"
#include "ops/reduce.h"
#include "ops/training.h"
#include "passes/derivatives.h"
#include "passes/passes.h"

namespace nnex::passes {
namespace {

using graph_text::Item;

/// The derivatives of one value by others of its block, written as nodes before a gradient node.
class Differentiation {
 public:
  Differentiation(ir::Graph& graph, NodeId at)
      : graph_(graph),
        at_(at),
        first_(static_cast<uint32_t>(graph.value_count())),
        types_(graph, first_),
        b_(graph, at) {}

  /// Puts the derivatives in the place of the node's results.
  Status run();

 private:
  Status find_ends();
  Result<ValueId> named(const std::string& name) const;
  void collect();
  Status copy_what_is_replaced();
  Status check_rules() const;
  Status check_order() const;
  Status backward(const std::vector<NodeId>& nodes);
  Status through(NodeId id);
  Status through_body(NodeId id);
  Status define(const Node& node, graph_text::TextBuilder& text);
  Result<Item> derivative_by_outputs(const Node& node);
  Status take(const Node& node, size_t port, const Item& item);
  Status take_one(const Node& node, size_t port, size_t i, const Item& item);
  Status add_to(ValueId v, ValueId derivative);
  Result<ValueId> shaped_like(ValueId derivative, ValueId v);
  Result<ValueId> summed(ValueId derivative, Ints axes, bool keepdims);
  ValueId filled_like(ValueId v, double number);
  const Type& type(ValueId v) { return types_.type(v); }
  Status infer_new(ValueId v);
  void settle();
  Error missing(const Node& node, std::string_view why) const;

  ir::Graph& graph_;
  NodeId at_;
  uint32_t first_;  ///< Values from here on are made here.
  Inference types_;
  Builder b_;
  ValueId y_;
  std::vector<ValueId> by_;        ///< The values derived by, and those held beside them: xs, then zs.
  std::vector<NodeId> path_;       ///< Nodes between by_ and y_, in order.
  std::set<uint32_t> depends_;     ///< Real values that change with xs.
  std::map<uint32_t, ValueId> d_;  ///< Derivative of y_ by a value, as far as it is summed.
};

Error Differentiation::missing(const Node& node, std::string_view why) const {
  return failure(Code::unsupported, "no derivative of {}{}{}", node.op->name, why.empty() ? "" : ": ", why)
      .at(graph_.place(node.where));
}

Result<ValueId> Differentiation::named(const std::string& name) const {
  for (uint32_t n = 0; n < graph_.value_count(); ++n)
    if (graph_[ValueId{n}].name == name) return ValueId{n};
  return failure(Code::invalid_model, "gradient: no value is called '{}'", name).at(graph_.place_of(at_));
}

Status Differentiation::find_ends() {
  const auto& a = graph_.attrs<GradientAttrs>(at_);
  NNEX_ASSIGN(y_, named(a.y));
  for (const Texts* names : {&a.xs, &a.zs})
    for (const std::string& name : *names) {
      NNEX_ASSIGN(ValueId v, named(name));
      by_.push_back(v);
    }
  return {};
}

/// The nodes of the block that lie between by_ and y_, and what depends on xs.
void Differentiation::collect() {
  const std::vector<NodeId> order = graph_.order(graph_[at_].parent);
  const size_t xs = graph_.attrs<GradientAttrs>(at_).xs.size();
  std::set<uint32_t> needed = {y_.n}, held;
  for (ValueId v : by_) held.insert(v.n);
  std::vector<NodeId> above;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node& node = graph_[*it];
    if (*it == at_) continue;
    const bool makes = std::any_of(node.out.begin(), node.out.end(),
                                   [&](ValueId v) { return v.valid() && needed.count(v.n) && !held.count(v.n); });
    if (!makes) continue;
    above.push_back(*it);
    for (ValueId v : node.in)
      if (v.valid()) needed.insert(v.n);
    for (ValueId v : graph_.captures(*it)) needed.insert(v.n);
  }
  depends_.clear();
  for (size_t i = 0; i < xs; ++i) depends_.insert(by_[i].n);
  path_.clear();
  for (auto it = above.rbegin(); it != above.rend(); ++it) {
    const Node& node = graph_[*it];
    const std::vector<ValueId> captured = graph_.captures(*it);
    const auto depends = [&](ValueId v) { return v.valid() && depends_.count(v.n) > 0; };
    if (std::none_of(node.in.begin(), node.in.end(), depends) &&
        std::none_of(captured.begin(), captured.end(), depends))
      continue;
    bool carries = false;  // booleans and integers do not
    for (ValueId v : node.out)
      if (v.valid() && !held.count(v.n) && is_real(type(v).dtype)) depends_.insert(v.n), carries = true;
    if (carries) path_.push_back(*it);
  }
}

/// The gradient node may be given other values than those its names stand for: y is then computed again from them.
Status Differentiation::copy_what_is_replaced() {
  std::map<uint32_t, ValueId> now;
  for (size_t i = 0; i < by_.size(); ++i)
    if (graph_[at_].in[i] != by_[i]) now[by_[i].n] = graph_[at_].in[i];
  if (now.empty()) return {};
  for (NodeId id : path_) {
    const Node& node = graph_[id];
    if (!node.blocks.empty()) return missing(node, "it has blocks");
    std::vector<ValueId> in = node.in;
    bool changed = false;
    for (ValueId& v : in)
      if (auto it = now.find(v.n); v.valid() && it != now.end()) v = it->second, changed = true;
    if (!changed) continue;
    const std::vector<ValueId> old = node.out;
    const NodeId copy = b_.node(*node.op, std::move(in), old.size(), node.attrs);
    types_.grow();
    NNEX_TRY(types_.node(copy));
    for (size_t o = 0; o < old.size(); ++o)
      if (old[o].valid()) now[old[o].n] = graph_[copy].out[o];
  }
  const auto follow = [&](ValueId& v) {
    if (auto it = now.find(v.n); it != now.end()) v = it->second;
  };
  follow(y_);
  for (ValueId& v : by_) follow(v);
  collect();
  return {};
}

/// Every operator on the way that has no rule, at once.
Status Differentiation::check_rules() const {
  std::set<std::string> names;
  const Node* first = nullptr;
  for (NodeId id : path_) {
    const Node& node = graph_[id];
    if (find_derivative(node.op->name) || (!node.op->body.empty() && node.blocks.empty())) continue;
    if (!first) first = &node;
    names.insert(std::string(node.op->name));
  }
  if (!first) return {};
  return failure(Code::unsupported, "no derivative of {}", joined(names, ", ")).at(graph_.place(first->where));
}

/// The nodes that compute the derivatives stand where the gradient node stands, after what they read.
Status Differentiation::check_order() const {
  for (NodeId id : graph_.order(graph_[at_].parent)) {
    if (id == at_) break;
    if (path_.empty() || id == path_.back()) return {};
  }
  if (path_.empty()) return {};
  return Error(Code::unsupported, "gradient: it stands before the nodes that compute y").at(graph_.place_of(at_));
}

Status Differentiation::infer_new(ValueId v) {
  types_.grow();
  return types_.node(graph_[v].producer);
}

/// Writes what is known of the values made so far into the graph.
void Differentiation::settle() {
  types_.grow();
  for (uint32_t n = first_; n < graph_.value_count(); ++n)
    if (const ValueId v{n}; !graph_[v].is_constant() && type(v).kind != Kind::unknown) graph_.set_type(v, type(v));
}

/// A number everywhere, of v's type and shape.
ValueId Differentiation::filled_like(ValueId v, double number) {
  const Type t = type(v);
  const auto shape = concrete(t);
  const ValueId one = b_.number(t.dtype, number);
  types_.grow();
  if (shape && shape->rank() == 0) return one;
  const ValueId extents = shape ? b_.ints(Ints(shape->begin(), shape->end())) : b_("shape", {v});
  const ValueId filled = b_("expand", {one, extents});
  types_.grow();
  types_.bind(filled, t);
  return filled;
}

Result<ValueId> Differentiation::summed(ValueId derivative, Ints axes, bool keepdims) {
  ReduceAttrs a;
  a.keepdims = keepdims;
  const ValueId sum = b_("sum_reduce", {derivative, b_.ints(axes)}, a);
  NNEX_TRY(infer_new(sum));
  return sum;
}

/// Sums over the axes along which v broadcast, or repeats along those where the derivative has fewer elements.
Result<ValueId> Differentiation::shaped_like(ValueId derivative, ValueId v) {
  const MaybeDims have = type(derivative).dims, want = type(v).dims;
  if (!have || !want)
    return Error(Code::unsupported, "the rank of a value on the way to a derivative is not known")
        .at(graph_.place_of(at_));
  if (*have == *want) return derivative;
  if (have->size() > want->size()) {
    Ints leading;
    for (size_t i = 0; i < have->size() - want->size(); ++i) leading.push_back(static_cast<int64_t>(i));
    NNEX_ASSIGN(derivative, summed(derivative, leading, false));
    return shaped_like(derivative, v);
  }
  if (have->size() == want->size()) {
    Ints ones;
    for (size_t i = 0; i < want->size(); ++i)
      if ((*want)[i] == Dim(1) && (*have)[i] != Dim(1)) ones.push_back(static_cast<int64_t>(i));
    if (!ones.empty()) {
      NNEX_ASSIGN(derivative, summed(derivative, ones, true));
      return shaped_like(derivative, v);
    }
  }
  const ValueId spread = b_("expand", {derivative, b_("shape", {v})});
  types_.grow();
  types_.bind(spread, type(v));
  return spread;
}

Status Differentiation::add_to(ValueId v, ValueId derivative) {
  NNEX_ASSIGN(derivative, shaped_like(derivative, v));
  ValueId& sum = d_[v.n];
  if (!sum.valid()) {
    sum = derivative;
    return {};
  }
  sum = b_("add", {sum, derivative});
  return infer_new(sum);
}

/// g of a rule: the derivative by the first output; a list where their number varies.
Result<Item> Differentiation::derivative_by_outputs(const Node& node) {
  const auto of = [&](size_t o) -> Item {
    const ValueId v = o < node.out.size() ? node.out[o] : ValueId();
    if (!v.valid()) return {};
    auto it = d_.find(v.n);
    return Item::of(it != d_.end() ? it->second : filled_like(v, 0));
  };
  if (node.op->outputs[0].arity == Arity::variadic) {
    std::vector<Item> all;
    for (size_t o = 0; o < node.out.size(); ++o) {
      if (!node.out[o].valid()) return missing(node, "some of its outputs have no name");
      all.push_back(of(o));
    }
    return Item::list(std::move(all));
  }
  for (size_t o = 1; o < node.out.size(); ++o)
    if (node.out[o].valid() && d_.count(node.out[o].n)) return missing(node, fmt::format("by its output {}", o));
  return of(0);
}

Status Differentiation::define(const Node& node, graph_text::TextBuilder& text) {
  const auto item = [](ValueId v) { return v.valid() ? Item::of(v) : Item{}; };
  const auto define_ports = [&](const auto& ports, const std::vector<ValueId>& values) {
    for (size_t p = 0; p < ports.size(); ++p) {
      Item one = p < values.size() ? item(values[p]) : Item{};
      if (ports[p].arity == Arity::variadic) {
        std::vector<Item> all;
        for (size_t i = p; i < values.size(); ++i) all.push_back(item(values[i]));
        one = Item::list(std::move(all));
      }
      text.define(ports[p].name, std::move(one));
    }
  };
  define_ports(node.op->inputs, node.in);
  define_ports(node.op->outputs, node.out);
  for (const Field& f : node.op->attrs.fields) text.define(f.name, graph_text::item_of(f.get(node.attrs.get())));
  NNEX_ASSIGN(Item g, derivative_by_outputs(node));
  text.define("g", std::move(g));
  return {};
}

/// What a rule says of one input.
Status Differentiation::take_one(const Node& node, size_t port, size_t i, const Item& item) {
  const ValueId v = node.in[i];
  if (!v.valid() || !depends_.count(v.n) || !is_real(type(v).dtype)) return {};
  switch (item.kind) {
    case Item::Kind::value:
      return add_to(v, item.value);
    case Item::Kind::real:
      return {};
    case Item::Kind::string:
      return missing(node, item.text);
    default:
      return missing(node, fmt::format("by {}", node.op->inputs[port].name));
  }
}

Status Differentiation::take(const Node& node, size_t port, const Item& item) {
  if (node.op->inputs[port].arity != Arity::variadic) return take_one(node, port, port, item);
  for (size_t i = port; i < node.in.size(); ++i) {
    const bool listed = item.kind == Item::Kind::array || item.kind == Item::Kind::tuple;
    const size_t k = i - port;
    NNEX_TRY(take_one(node, port, i, !listed ? item : k < item.items.size() ? item.items[k] : Item{}));
  }
  return {};
}

/// The derivatives by a node's inputs from those by its outputs.
Status Differentiation::through(NodeId id) {
  const Node& node = graph_[id];
  const Derivative* rule = find_derivative(node.op->name);
  if (!rule) return through_body(id);
  const std::string source = fmt::format("derivative of {}", node.op->name);
  const std::string whole = fmt::format("{}{}{}", text_before(rule->frame), rule->text, text_after(rule->frame));
  NNEX_ASSIGN(auto body, graph_text::parse_body(whole, source));
  graph_text::TextBuilder text(graph_, types_, b_, source);
  text.allow_port_words();
  NNEX_TRY(define(node, text));
  for (const graph_text::Assignment& a : body) {
    const bool several = a.left.name.substr(0, 2) == "d_" &&
                         std::any_of(node.op->inputs.begin(), node.op->inputs.end(), [&](const Port& p) {
                           return p.arity == Arity::variadic && p.name == a.left.name.substr(2);
                         });
    if (!several) {
      if (Status s = text.run({&a, 1}); !s.ok()) return std::move(s).error().at(graph_.place_of(id));
      continue;
    }
    auto made = text.evaluate(a.right, node.in.size());
    if (!made.ok()) return std::move(made).error().at(graph_.place_of(id));
    text.define(a.left.name, std::move(*made));
  }
  for (size_t p = 0; p < node.op->inputs.size() && p < node.in.size(); ++p) {
    const Item* item = text.find(fmt::format("d_{}", node.op->inputs[p].name));
    NNEX_TRY(take(node, p, item ? *item : Item{}));
  }
  return {};
}

/// A compound operator: the chain rule runs through the nodes of its body, which are made for it; what computes the
/// operator itself stays whole.
Status Differentiation::through_body(NodeId id) {
  const Node& node = graph_[id];
  NNEX_ASSIGN(Item g, derivative_by_outputs(node));
  const NodeId copy = b_.node(*node.op, node.in, node.out.size(), node.attrs);
  types_.grow();
  NNEX_TRY(types_.node(copy));
  settle();
  const ValueId whole = graph_[copy].out[0], reader = b_("copy", {whole});
  const auto first = static_cast<uint32_t>(graph_.node_count());
  NNEX_TRY(expand_body(graph_, copy));
  types_.grow();
  std::vector<NodeId> inner;
  for (uint32_t n = first; n < graph_.node_count(); ++n) {
    const NodeId made{n};
    if (graph_[made].erased) continue;
    NNEX_TRY(types_.node(made));
    inner.push_back(made);
    for (ValueId v : graph_[made].in)
      if (v.valid() && depends_.count(v.n))
        for (ValueId o : graph_[made].out)
          if (o.valid()) depends_.insert(o.n);
  }
  const ValueId result = graph_[graph_[reader].producer].in[0];
  graph_.erase(graph_[reader].producer);
  d_[result.n] = g.value;
  return backward(inner);
}

Status Differentiation::backward(const std::vector<NodeId>& nodes) {
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node& node = graph_[*it];
    const bool reached =
        std::any_of(node.out.begin(), node.out.end(), [&](ValueId v) { return v.valid() && d_.count(v.n) > 0; });
    if (reached) NNEX_TRY(through(*it));
  }
  return {};
}

Status Differentiation::run() {
  NNEX_TRY(find_ends());
  if (graph_[at_].in.size() < by_.size())
    return failure(Code::invalid_model, "gradient: {} inputs for {} names", graph_[at_].in.size(), by_.size())
        .at(graph_.place_of(at_));
  if (graph_[at_].out.size() > by_.size())
    return failure(Code::invalid_model, "gradient: {} outputs for {} names", graph_[at_].out.size(), by_.size())
        .at(graph_.place_of(at_));
  collect();
  NNEX_TRY(copy_what_is_replaced());
  NNEX_TRY(check_rules());
  NNEX_TRY(check_order());
  if (!is_real(type(y_).dtype))
    return failure(Code::invalid_model, "gradient: y has elements of {}; needed real ones", name(type(y_).dtype))
        .at(graph_.place_of(at_));
  d_[y_.n] = filled_like(y_, 1);
  NNEX_TRY(backward(path_));
  const std::vector<ValueId> results = graph_[at_].out;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].valid()) continue;
    const auto it = d_.find(by_[i].n);
    const ValueId made = b_("copy", {it != d_.end() ? it->second : filled_like(by_[i], 0)});
    graph_.replace_uses(results[i], made);
    graph_.set_name(made, graph_[results[i]].name);
    graph_.set_type(made, graph_[results[i]].type);
  }
  graph_.erase(at_);
  settle();
  return {};
}

}  // namespace

/// dx = gradient(x...)   ->   the graph that computes the derivatives of y (a vector's are those of its sum) by xs, in
/// reverse through the nodes between them. Needs inferred types. Errors: operators without a derivative, all named;
/// names that nothing has; limit. Returns how many nodes went.
Result<int> differentiate(ir::Graph& graph) {
  constexpr int kMaxGradients = 1000;
  constexpr size_t kMaxNodes = 4'000'000;
  int count = 0;
  for (NodeId id : graph.order_with_blocks()) {
    if (graph[id].erased || graph[id].op->name != "gradient") continue;
    if (count++ == kMaxGradients || graph.node_count() > kMaxNodes)
      return failure(Code::limit, "more than {} gradients, or {} nodes with them", kMaxGradients, kMaxNodes)
          .at(graph.place_of(id));
    NNEX_TRY(Differentiation(graph, id).run());
  }
  return count;
}

}  // namespace nnex::passes
