#include "ops/trees.h"
#include "ops/answer.h"

#include <algorithm>
#include <cmath>

#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

Error bad(std::string text) { return Error(Code::invalid_model, std::move(text)); }

}  // namespace

Result<Forest> Forest::make(const TreeAttrs& a) {
  Forest f;
  const size_t n = a.features.size();
  for (const Ints* list : {&a.modes, &a.true_ids, &a.false_ids, &a.true_leafs, &a.false_leafs})
    if (list->size() != n) return bad(fmt::format("{} nodes have features; another list has {}", n, list->size()));
  if (a.splits.size() != n) return bad(fmt::format("{} nodes; {} splits", n, a.splits.size()));
  if (!a.missing_true.empty() && a.missing_true.size() != n)
    return bad(fmt::format("{} nodes; {} flags for missing values", n, a.missing_true.size()));
  if (a.targets < 1) return bad(fmt::format("targets is {}", a.targets));
  if (!a.base.empty() && a.base.size() != 1 && static_cast<int64_t>(a.base.size()) != a.targets)
    return bad(fmt::format("{} base values; {} targets", a.base.size(), a.targets));
  f.aggregate_ = a.aggregate, f.targets_ = a.targets, f.base_ = a.base;
  int32_t entries = 0;
  const size_t leaves = a.leaf_counts.empty() ? a.leaf_targets.size() : a.leaf_counts.size();
  f.leaf_first_.push_back(0);
  for (size_t i = 0; i < leaves; ++i) {
    const int64_t count = a.leaf_counts.empty() ? 1 : a.leaf_counts[i];
    if (count < 0 || count > static_cast<int64_t>(a.leaf_targets.size()) - entries)
      return bad(fmt::format("leaf {} has {} entries of {} left", i, count,
                             a.leaf_targets.size() - static_cast<size_t>(entries)));
    entries += static_cast<int32_t>(count);
    f.leaf_first_.push_back(entries);
  }
  if (a.leaf_weights.size() != a.leaf_targets.size())
    return bad(fmt::format("{} leaf targets; {} leaf weights", a.leaf_targets.size(), a.leaf_weights.size()));
  for (int64_t t : a.leaf_targets) {
    if (t < 0 || t >= a.targets) return bad(fmt::format("leaf target {} is outside [0, {})", t, a.targets));
    f.entry_target_.push_back(static_cast<int32_t>(t));
  }
  f.entry_weight_ = a.leaf_weights;
  NNEX_TRY(f.link(a));
  NNEX_TRY(f.check_acyclic());
  return f;
}

/// Nodes, roots and the sets of member nodes.
Status Forest::link(const TreeAttrs& a) {
  const auto nodes = static_cast<int64_t>(a.features.size()), leaves = static_cast<int64_t>(leaf_first_.size()) - 1;
  for (double v : a.members) {
    if (sets_.empty() || v != v) sets_.emplace_back();
    if (v == v) sets_.back().push_back(v);
  }
  if (!a.members.empty() && a.members.back() != a.members.back()) sets_.pop_back();
  int32_t member_nodes = 0;
  for (size_t i = 0; i < a.features.size(); ++i) {
    Node& n = nodes_.emplace_back();
    if (a.modes[i] < 0 || a.modes[i] > static_cast<int64_t>(Branch::member))
      return bad(fmt::format("node {} has mode {}", i, a.modes[i]));
    if (a.features[i] < 0 || a.features[i] > INT32_MAX)
      return bad(fmt::format("node {} has feature {}", i, a.features[i]));
    n.mode = static_cast<Branch>(a.modes[i]);
    n.feature = static_cast<int32_t>(a.features[i]);
    n.split = a.splits[i];
    n.missing = !a.missing_true.empty() && a.missing_true[i] != 0;
    features_ = std::max(features_, a.features[i] + 1);
    if (n.mode == Branch::member) n.set = member_nodes++;
    const auto child = [&](int64_t id, bool leaf, int32_t& to) -> Status {
      if (id < 0 || id >= (leaf ? leaves : nodes))
        return bad(fmt::format("node {} leads to {} {}, which is outside [0, {})", i, leaf ? "leaf" : "node", id,
                               leaf ? leaves : nodes));
      to = static_cast<int32_t>(leaf ? ~id : id);
      return {};
    };
    NNEX_TRY(child(a.true_ids[i], a.true_leafs[i] != 0, n.yes));
    NNEX_TRY(child(a.false_ids[i], a.false_leafs[i] != 0, n.no));
  }
  if (member_nodes > static_cast<int32_t>(sets_.size()))
    return bad(fmt::format("{} nodes test membership; there are {} sets", member_nodes, sets_.size()));
  for (int64_t r : a.roots) {
    if (r < 0 || r >= nodes) return bad(fmt::format("root {} is outside [0, {})", r, nodes));
    roots_.push_back(static_cast<int32_t>(r));
  }
  return {};
}

Status Forest::check_acyclic() const {
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> state(nodes_.size(), kNew);
  std::vector<int32_t> stack;
  for (int32_t root : roots_) {
    stack.push_back(root);
    while (!stack.empty()) {
      const int32_t at = stack.back();
      const Node& n = nodes_[static_cast<size_t>(at)];
      uint8_t& s = state[static_cast<size_t>(at)];
      if (s == kOpen || s == kDone) {  // back from its children, or reached before
        s = kDone;
        stack.pop_back();
        continue;
      }
      s = kOpen;
      for (int32_t child : {n.yes, n.no}) {
        if (child < 0) continue;
        if (state[static_cast<size_t>(child)] == kOpen) return bad(fmt::format("node {} leads back to itself", child));
        if (state[static_cast<size_t>(child)] == kNew) stack.push_back(child);
      }
    }
  }
  return {};
}

template <class X>
bool Forest::test(const Node& n, X x) const {
  const auto v = static_cast<double>(x);
  bool yes = false;
  switch (n.mode) {
    case Branch::leq:
      yes = v <= n.split;
      break;
    case Branch::lt:
      yes = v < n.split;
      break;
    case Branch::gte:
      yes = v >= n.split;
      break;
    case Branch::gt:
      yes = v > n.split;
      break;
    case Branch::eq:
      yes = v == n.split;
      break;
    case Branch::neq:
      yes = v != n.split;
      break;
    case Branch::member: {
      const auto& set = sets_[static_cast<size_t>(n.set)];
      yes = std::find(set.begin(), set.end(), v) != set.end();
      break;
    }
  }
  return yes || (n.missing && v != v);
}

template <class T, class X>
void Forest::predict(const X* row, T* scores) const {
  const bool extreme = aggregate_ == Aggregate::min || aggregate_ == Aggregate::max;
  const T start = aggregate_ == Aggregate::min ? std::numeric_limits<T>::infinity()
                  : extreme                    ? -std::numeric_limits<T>::infinity()
                                               : T(0);
  std::fill_n(scores, targets_, start);
  for (int32_t at : roots_) {
    while (at >= 0) {
      const Node& n = nodes_[static_cast<size_t>(at)];
      at = test(n, row[n.feature]) ? n.yes : n.no;
    }
    const size_t leaf = ~static_cast<size_t>(at);
    for (int32_t e = leaf_first_[leaf]; e < leaf_first_[leaf + 1]; ++e) {
      T& score = scores[entry_target_[static_cast<size_t>(e)]];
      const T weight = static_cast<T>(entry_weight_[static_cast<size_t>(e)]);
      if (aggregate_ == Aggregate::min)
        score = std::min(score, weight);
      else if (aggregate_ == Aggregate::max)
        score = std::max(score, weight);
      else
        score += weight;
    }
  }
  const T base = base_.empty() ? T(0) : static_cast<T>(base_[0]);
  for (int64_t t = 0; t < targets_; ++t) {
    if (extreme && scores[t] == start) scores[t] = 0;
    if (aggregate_ == Aggregate::average && !roots_.empty()) scores[t] /= static_cast<T>(roots_.size());
    scores[t] += base_.size() > 1 ? static_cast<T>(base_[static_cast<size_t>(t)]) : base;
  }
}
template void Forest::predict(const float*, float*) const;
template void Forest::predict(const double*, float*) const;
template void Forest::predict(const double*, double*) const;

namespace {

Status infer_trees(InferCall& c) {
  const auto& a = c.attr<TreeAttrs>();
  auto forest = Forest::make(a);
  if (!forest.ok()) return c.error("{}", forest.error().message());
  Dim n = c.unknown();
  if (c.dims(0)) {
    const Dims& d = *c.dims(0);
    if (d.empty() || d.size() > 2) return c.error("x has {} axes; needed 1 or 2", d.size());
    n = d.size() == 2 ? d[0] : Dim(1);
    if (d.back().is_number() && d.back().value() < forest->features())
      return c.error("x has {} features; the trees test feature {}", d.back().value(), forest->features() - 1);
  }
  c.result(0, Dims{n, Dim(a.targets)});
  return {};
}

Status run_trees(Call& c) {
  const auto& a = c.attr<TreeAttrs>();
  NNEX_ASSIGN(Forest forest, Forest::make(a));
  NNEX_ASSIGN(Tensor x, convert(c.in(0), DType::f64));
  if (x.shape().rank() < 1 || x.shape().rank() > 2) return c.fault("x has {} axes; needed 1 or 2", x.shape().rank());
  const int64_t n = x.shape().rank() == 2 ? x.shape()[0] : 1, columns = x.shape()[x.shape().rank() - 1];
  if (n > 0 && columns < forest.features())
    return c.fault("x has {} features; the trees test feature {}", columns, forest.features() - 1);
  NNEX_ASSIGN(Tensor scores, Tensor::make(a.wide ? DType::f64 : DType::f32, c.out(0).shape()));
  const auto targets = static_cast<size_t>(a.targets);
  for (int64_t i = 0; i < n; ++i) {
    const double* row = x.as<double>().data() + i * columns;
    const auto at = static_cast<size_t>(i) * targets;
    if (a.wide) {
      forest.predict(row, scores.mutable_as<double>().data() + at);
      post_transform(a.post, scores.mutable_as<double>().subspan(at, targets));
    } else {
      forest.predict(row, scores.mutable_as<float>().data() + at);
      post_transform(a.post, scores.mutable_as<float>().subspan(at, targets));
    }
  }
  NNEX_ASSIGN(Tensor y, convert(scores, c.out(0).dtype()));
  std::copy_n(y.data(), y.bytes(), c.out(0).mutable_data());
  return {};
}

constexpr OpRow kTreeOps[] = {
    {.name = "tree_ensemble",
     .summary = "The aggregate of the leaves that decision trees lead each row of features to.",
     .source = "ONNX ai.onnx.ml TreeEnsemble-5; older forms become it",
     .inputs = {{"x", kN}},
     .outputs = {{"y", type_among(kF, "result", "x")}},
     .attrs = attrs_of<TreeAttrs>(
         {field<&TreeAttrs::features>("features", "Column of x each node tests."),
          field<&TreeAttrs::modes>("modes", "Test of each node: 0 <=, 1 <, 2 >=, 3 >, 4 ==, 5 !=, 6 member of a set."),
          field<&TreeAttrs::splits>("splits", "What it is compared with."),
          field<&TreeAttrs::true_ids>("true_ids", "Node, or leaf, where the test holds."),
          field<&TreeAttrs::false_ids>("false_ids", "Node, or leaf, where it does not."),
          field<&TreeAttrs::true_leafs>("true_leafs", "1: true_ids names a leaf."),
          field<&TreeAttrs::false_leafs>("false_leafs", "1: false_ids names a leaf."),
          field<&TreeAttrs::missing_true>("missing_true", "1: NaN holds; empty: never."),
          field<&TreeAttrs::members>("members", "Sets of member nodes, in their order, each ended by NaN."),
          field<&TreeAttrs::roots>("roots", "First node of each tree."),
          field<&TreeAttrs::leaf_counts>("leaf_counts", "Entries of each leaf; empty: one."),
          field<&TreeAttrs::leaf_targets>("leaf_targets", "Target of each entry of a leaf."),
          field<&TreeAttrs::leaf_weights>("leaf_weights", "What it adds."),
          field<&TreeAttrs::targets>("targets", "Columns of y."),
          field<&TreeAttrs::aggregate>("aggregate", "How trees meet."),
          field<&TreeAttrs::base>("base", "What every row starts from: none, one, or one a target."),
          field<&TreeAttrs::post>("post", "What becomes of a row of scores."),
          field<&TreeAttrs::wide>("wide", "Sums in f64, else f32."),
          field<&TreeAttrs::result>("result", "Element type of y; none: x's.")}),
     .infer = infer_trees,
     .reference = any(run_trees)},
};
}  // namespace

std::span<const OpDef> tree_ops() { return stored<kTreeOps>(); }

}  // namespace nnex
