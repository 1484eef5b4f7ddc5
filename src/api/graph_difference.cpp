// What differs between two networks as they stand.

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "base/content_hash.h"
#include "nnex/edit.h"
#include "nnex/elements.h"
#include "nnex/operators.h"

namespace nnex {
namespace {

/// A node of one of the networks.
struct Standing {
  NodeInfo info;
  std::string tensor;              ///< Its first output's name; empty: it has none.
  std::vector<std::string> reads;  ///< What its inputs are: names, types of constants, and how the rest is made.

  /// What it is known by where it has no name.
  std::string made() const {
    std::string out = info.domain + ":" + info.op;
    for (const std::string& r : reads) out += " " + r;
    return out;
  }
};

/// How values that nobody named are made, down to what has a name.
class Makings {
 public:
  explicit Makings(const Graph& g) : g_(g) {}

  std::string of(ValueId v) const {
    if (!v.valid()) return "-";
    const auto value = g_.value(v);
    if (!value->name.empty()) return "'" + value->name + "'";
    if (const Tensor* t = value->constant.tensor()) return Value(*t).text();
    const auto known = known_.find(v.n);
    return known == known_.end() ? "?" : known->second;
  }
  void add(const Standing& s) {
    const std::string made = content_hash(s.made()).text();
    for (size_t i = 0; i < s.info.outputs.size(); ++i)
      if (const ValueId v = s.info.outputs[i]; v.valid()) known_.emplace(v.n, fmt::format("({} {})", made, i));
  }

 private:
  const Graph& g_;
  std::unordered_map<uint32_t, std::string> known_;
};

std::vector<Standing> nodes_of(const Graph& g, const std::vector<NodeId>& nodes, Makings& makings) {
  std::vector<Standing> out;
  for (NodeId id : nodes) {
    auto info = g.node(id);
    if (!info.ok()) continue;
    std::string tensor;
    for (ValueId v : info->outputs)
      if (tensor.empty() && v.valid()) tensor = g.value(v)->name;
    out.push_back({std::move(*info), std::move(tensor), {}});
    for (ValueId v : out.back().info.inputs) out.back().reads.push_back(makings.of(v));
    makings.add(out.back());
  }
  return out;
}

std::string shown(const Standing& s) {
  if (!s.tensor.empty()) return fmt::format("{} ({})", s.tensor, s.info.op);
  return fmt::format("({}) at {}", s.info.op, s.info.location);
}

class NetworkDifference {
 public:
  NetworkDifference(const Graph& a, const Graph& b) : a_(a), b_(b), makings_a_(a), makings_b_(b) {}

  GraphDifference run() && {
    ports(a_.inputs(), b_.inputs(), out_.inputs);
    ports(a_.outputs(), b_.outputs(), out_.outputs);
    nodes(a_.nodes(), b_.nodes());
    return std::move(out_);
  }

 private:
  void ports(const std::vector<ValueId>& a, const std::vector<ValueId>& b, std::vector<std::string>& out) const;
  void nodes(const std::vector<NodeId>& a, const std::vector<NodeId>& b);
  void node(const Standing& a, const Standing& b);
  void attributes(const Standing& a, const Standing& b);
  void blocks(const Standing& a, const Standing& b);
  void block(const Standing& owner, const std::string& part, const BlockInfo& a, const BlockInfo& b);
  /// What a node or a block of it reads in one place.
  void operand(const Standing& s, const std::string& at, ValueId x, ValueId y);
  void changed(const Standing& s, std::string what) {
    out_.changed.push_back({inside_ + (s.tensor.empty() ? shown(s) : s.tensor), std::move(what)});
  }

  const Graph &a_, &b_;
  Makings makings_a_, makings_b_;
  std::string inside_;  ///< Of nodes in blocks: "y/then_branch/".
  GraphDifference out_;
};

void NetworkDifference::ports(const std::vector<ValueId>& a, const std::vector<ValueId>& b,
                              std::vector<std::string>& out) const {
  std::map<std::string, std::string> in_b;
  for (ValueId v : b) in_b[b_.value(v)->name] = b_.value(v)->type.text;
  std::vector<std::string> order_a, order_b;
  for (ValueId v : a) {
    const auto value = a_.value(v);
    const auto it = in_b.find(value->name);
    if (it == in_b.end()) {
      out.push_back(fmt::format("{}: only in the first", value->name));
      continue;
    }
    if (it->second != value->type.text)
      out.push_back(fmt::format("{}: {} -> {}", value->name, value->type.text, it->second));
    order_a.push_back(value->name);
    in_b.erase(it);
  }
  for (ValueId v : b) {
    const std::string name = b_.value(v)->name;
    if (in_b.count(name))
      out.push_back(fmt::format("{}: only in the second", name));
    else
      order_b.push_back(name);
  }
  if (order_a != order_b) out.push_back("they stand in another order");
}

void NetworkDifference::nodes(const std::vector<NodeId>& a, const std::vector<NodeId>& b) {
  const auto in_a = nodes_of(a_, a, makings_a_), in_b = nodes_of(b_, b, makings_b_);
  std::unordered_map<std::string, const Standing*> by_tensor;
  std::unordered_map<std::string, std::deque<const Standing*>> by_making;
  for (const Standing& s : in_b)
    if (s.tensor.empty())
      by_making[s.made()].push_back(&s);
    else
      by_tensor[s.tensor] = &s;
  std::set<const Standing*> paired;
  for (const Standing& s : in_a) {
    const Standing* other = nullptr;
    if (s.tensor.empty()) {
      auto& alike = by_making[s.made()];
      if (!alike.empty()) other = alike.front(), alike.pop_front();
    } else if (const auto it = by_tensor.find(s.tensor); it != by_tensor.end()) {
      other = it->second;
      by_tensor.erase(it);
    }
    if (!other) {
      out_.only_a.push_back(inside_ + shown(s));
      continue;
    }
    paired.insert(other);
    node(s, *other);
  }
  for (const Standing& s : in_b)
    if (!paired.count(&s)) out_.only_b.push_back(inside_ + shown(s));
}

void NetworkDifference::node(const Standing& a, const Standing& b) {
  if (a.info.op != b.info.op || a.info.domain != b.info.domain)
    return changed(a, fmt::format("operator {} -> {}", a.info.op, b.info.op));
  attributes(a, b);
  blocks(a, b);
  if (a.info.inputs.size() != b.info.inputs.size())
    return changed(a, fmt::format("{} inputs -> {}", a.info.inputs.size(), b.info.inputs.size()));
  for (size_t i = 0; i < a.info.inputs.size(); ++i)
    operand(a, fmt::format("input {}", i), a.info.inputs[i], b.info.inputs[i]);
}

void NetworkDifference::blocks(const Standing& a, const Standing& b) {
  if (a.info.blocks.size() != b.info.blocks.size())
    return changed(a, fmt::format("{} blocks -> {}", a.info.blocks.size(), b.info.blocks.size()));
  const auto op = find_operator(a.info.op);
  for (size_t i = 0; i < a.info.blocks.size(); ++i) {
    const auto x = a_.block(a.info.blocks[i]), y = b_.block(b.info.blocks[i]);
    const bool has_name = op.ok() && i < op->blocks.size();
    if (x.ok() && y.ok()) block(a, has_name ? std::string(op->blocks[i]) : fmt::format("block {}", i), *x, *y);
  }
}

void NetworkDifference::block(const Standing& owner, const std::string& part, const BlockInfo& a, const BlockInfo& b) {
  const auto count = [&](std::string_view what, size_t in_a, size_t in_b) {
    if (in_a != in_b) changed(owner, fmt::format("{} {} of {} -> {}", in_a, what, part, in_b));
    return std::min(in_a, in_b);
  };
  const size_t parameters = count("parameters", a.parameters.size(), b.parameters.size());
  const size_t results = count("results", a.results.size(), b.results.size());
  for (size_t i = 0; i < parameters; ++i) {
    const auto x = a_.value(a.parameters[i]), y = b_.value(b.parameters[i]);
    if (x->name != y->name || x->type.text != y->type.text)
      changed(owner, fmt::format("parameter {} of {}: '{}' {} -> '{}' {}", i, part, x->name, x->type.text, y->name,
                                 y->type.text));
  }
  const std::string outside = inside_;
  inside_ += fmt::format("{}/{}/", owner.tensor.empty() ? owner.info.op : owner.tensor, part);
  nodes(a.nodes, b.nodes);
  inside_ = outside;
  for (size_t i = 0; i < results; ++i)
    operand(owner, fmt::format("result {} of {}", i, part), a.results[i], b.results[i]);
}

void NetworkDifference::attributes(const Standing& a, const Standing& b) {
  for (const auto& [name, value] : a.info.attributes) {
    const Attribute* other = find_attribute(b.info.attributes, name);
    if (other && same(value, *other)) continue;
    changed(a, fmt::format("attribute {}: {} -> {}", name, text(value), other ? text(*other) : "none"));
  }
  for (const auto& [name, value] : b.info.attributes)
    if (!find_attribute(a.info.attributes, name))
      changed(a, fmt::format("attribute {}: none -> {}", name, text(value)));
}

void NetworkDifference::operand(const Standing& s, const std::string& at, ValueId x, ValueId y) {
  if (!x.valid() || !y.valid()) {
    if (x.valid() != y.valid())
      changed(s, fmt::format("{}: {}", at, x.valid() ? "given -> absent" : "absent -> given"));
    return;
  }
  const auto value_a = a_.value(x), value_b = b_.value(y);
  const Tensor *t = value_a->constant.tensor(), *u = value_b->constant.tensor();
  if (!t && !u) {
    if (value_a->name != value_b->name)
      changed(s, fmt::format("{}: '{}' -> '{}'", at, value_a->name, value_b->name));
    else if (makings_a_.of(x) != makings_b_.of(y))
      changed(s, fmt::format("{}: it is made in another way", at));
    return;
  }
  const auto described = [&](const Tensor* c, const std::string& name) {
    return c ? fmt::format("constant {}", Value(*c).text()) : fmt::format("'{}'", name);
  };
  if (!t || !u || t->dtype() != u->dtype() || !(t->shape() == u->shape()))
    return changed(s, fmt::format("{}: {} -> {}", at, described(t, value_a->name), described(u, value_b->name)));
  if (same(Attribute(*t), Attribute(*u))) return;
  Tolerance exact;
  exact.atol = exact.rtol = 0;
  const Difference d = difference(Value(*t), Value(*u), exact);
  std::string apart = fmt::format("by {:.3g} at most", d.max_absolute);
  if (d.nan_mismatch > 0)
    apart = fmt::format("{} of them NaN on one side", d.nan_mismatch);
  else if (d.infinity_mismatch > 0)
    apart = fmt::format("{} of them infinite on one side", d.infinity_mismatch);
  if (d.differing == 0) apart = "in their bits alone";
  changed(s, fmt::format("constant '{}' {}: {} of {} elements differ, {}", value_a->name, Value(*t).text(), d.differing,
                         d.count, apart));
}

}  // namespace

GraphDifference graph_difference(const Graph& a, const Graph& b) { return NetworkDifference(a, b).run(); }

}  // namespace nnex
