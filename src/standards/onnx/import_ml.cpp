// ai.onnx.ml: operators that are sentences over the table's rows.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "ops/cast.h"
#include "ops/matmul.h"
#include "ops/ml.h"
#include "ops/reduce.h"
#include "ops/trees.h"
#include "standards/onnx/import_quirks.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

ValueId as_f32(NodeImport& n, ValueId v) {
  CastAttrs a;
  a.to = DType::f32;
  return n.type(0).dtype == DType::f32 ? v : n.b("cast", {v}, a);
}

Tensor f32_tensor(const Reals& values, const Shape& shape) {
  Tensor t = std::move(Tensor::make(DType::f32, shape)).value();
  std::transform(values.begin(), values.end(), t.mutable_as<float>().begin(),
                 [](double v) { return static_cast<float>(v); });
  return t;
}

Result<PostTransform> post_of(const NodeImport& n) {
  std::string word = n.word("post_transform", "NONE");
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr auto words = enumerators(PostTransform{});
  const auto at = std::find(words.begin(), words.end(), word);
  if (at == words.end()) return n.error(fmt::format("post_transform is '{}'", n.word("post_transform", "")));
  return static_cast<PostTransform>(at - words.begin());
}

/// Texts or integers, whichever list the node has.
Result<Tensor> labels_of(const NodeImport& n, std::string_view texts, std::string_view ints) {
  const Texts words = n.words(texts);
  const Ints numbers = n.ints(ints);
  if (words.empty() == numbers.empty()) return n.error(fmt::format("one of {} and {} must be given", texts, ints));
  const auto count = static_cast<int64_t>(std::max(words.size(), numbers.size()));
  NNEX_ASSIGN(Tensor t, Tensor::make(words.empty() ? DType::i64 : DType::str, Shape{count}));
  if (words.empty())
    std::copy(numbers.begin(), numbers.end(), t.mutable_as<int64_t>().begin());
  else
    std::copy(words.begin(), words.end(), t.mutable_as<std::string>().begin());
  return t;
}

// ---- Linear models

/// x coefficients^T + intercepts for coefficients of `rows` rows.
Result<ValueId> linear_scores(NodeImport& n, int64_t rows) {
  const Reals weights = n.reals("coefficients"), offsets = n.reals("intercepts");
  if (rows < 1 || weights.empty() || weights.size() % static_cast<size_t>(rows) != 0)
    return n.error(fmt::format("{} coefficients for {} rows", weights.size(), rows));
  if (!offsets.empty() && static_cast<int64_t>(offsets.size()) != rows)
    return n.error(fmt::format("{} intercepts for {} rows", offsets.size(), rows));
  const int64_t columns = static_cast<int64_t>(weights.size()) / rows;
  ValueId x = as_f32(n, n.in[0]);
  if (n.rank(0) == 1) x = n.b("unsqueeze", {x, n.b.ints({0})});
  std::vector<ValueId> in = {x, n.b.constant(f32_tensor(weights, Shape{rows, columns}))};
  if (!offsets.empty()) in.push_back(n.b.constant(f32_tensor(offsets, Shape{rows})));
  LinearAttrs a;
  a.transpose_b = true;
  return n.b("linear", std::move(in), a);
}

void bind_classes(NodeImport& n, ValueId scores, ClassifyAttrs a) {
  const NodeId id = n.b.node(op("classify"), {scores}, 2, std::make_shared<ClassifyAttrs>(std::move(a)));
  for (size_t o : {size_t{0}, size_t{1}}) {
    const ValueId y = n.b.graph()[id].out[o];
    if (n.wants(o))
      n.bind(o, y);
    else
      n.b.graph().drop_output(id, o);
  }
}

/// Two labels may share one row of coefficients: the score of the second.
Result<Quirked> linear_classifier(NodeImport& n) {
  ClassifyAttrs a;
  NNEX_ASSIGN(a.labels, labels_of(n, "classlabels_strings", "classlabels_ints"));
  NNEX_ASSIGN(a.post, post_of(n));
  const auto offsets = static_cast<int64_t>(n.reals("intercepts").size());
  NNEX_ASSIGN(ValueId scores, linear_scores(n, offsets ? offsets : a.labels.count()));
  if (offsets == 1 && a.labels.count() == 2) a.one_column = OneColumn::negate;
  bind_classes(n, scores, std::move(a));
  return Quirked::done;
}

Result<Quirked> linear_regressor(NodeImport& n) {
  NNEX_ASSIGN(ValueId y, linear_scores(n, n.integer("targets", 1)));
  NNEX_ASSIGN(PostTransform post, post_of(n));
  if (post != PostTransform::none) y = n.b("post_transform", {y}, PostTransformAttrs{post});
  n.bind(0, y);
  return Quirked::done;
}

/// x / d with d of each row: the largest, the sum of magnitudes, or the root of the sum of squares; 0 counts as 1.
Result<Quirked> normalizer(NodeImport& n) {
  const std::string norm = n.word("norm", "MAX");
  const ValueId x = as_f32(n, n.in[0]), axes = n.b.ints({-1});
  ValueId d;
  if (norm == "MAX")
    d = n.b("max_reduce", {x, axes});
  else if (norm == "L1")
    d = n.b("reduce_l1", {x, axes});
  else if (norm == "L2")
    d = n.b("reduce_l2", {x, axes});
  else
    return n.error(fmt::format("norm is '{}'; needed MAX, L1 or L2", norm));
  const ValueId zero = n.b("eq", {d, n.b.number(DType::f32, 0)});
  n.bind(0, n.b("div", {x, n.b("select", {zero, n.b.number(DType::f32, 1), d})}));
  return Quirked::done;
}

Result<Quirked> scaler(NodeImport& n) {
  const Reals offset = n.reals("offset"), scale = n.reals("scale");
  ValueId y = as_f32(n, n.in[0]);
  const auto list = [&](const Reals& r) { return n.b.constant(f32_tensor(r, Shape{static_cast<int64_t>(r.size())})); };
  if (!offset.empty()) y = n.b("sub", {y, list(offset)});
  if (!scale.empty()) y = n.b("mul", {y, list(scale)});
  n.bind(0, y);
  return Quirked::done;
}

// ---- Trees

/// A list of reals, as numbers or (opset 3) as a tensor of f64.
Reals reals_or_tensor(const NodeImport& n, std::string_view name, bool& wide) {
  const AttrValue* v = n.find(std::string(name) + "_as_tensor");
  const Tensor* t = v ? std::get_if<Tensor>(v) : nullptr;
  if (!t) return n.reals(name);
  wide |= t->dtype() == DType::f64;
  Reals out;
  for (int64_t i = 0; i < t->count(); ++i) out.push_back(real_at(*t, i));
  return out;
}

/// Opsets 1 and 3 name a node by (tree, node) and let a leaf have several targets; `kind` is "target" or "class".
class OldTrees {
 public:
  OldTrees(const NodeImport& n, std::string kind) : n_(n), kind_(std::move(kind)) {}

  Result<TreeAttrs> read() {
    trees_ = n_.ints("nodes_treeids"), ids_ = n_.ints("nodes_nodeids"), features_ = n_.ints("nodes_featureids");
    modes_ = n_.words("nodes_modes"), yes_ = n_.ints("nodes_truenodeids"), no_ = n_.ints("nodes_falsenodeids");
    missing_ = n_.ints("nodes_missing_value_tracks_true");
    splits_ = reals_or_tensor(n_, "nodes_values", a_.wide);
    a_.base = reals_or_tensor(n_, "base_values", a_.wide);
    const size_t count = trees_.size();
    for (size_t size : {ids_.size(), features_.size(), modes_.size(), yes_.size(), no_.size(), splits_.size()})
      if (size != count) return n_.error(fmt::format("{} nodes have trees; another list has {}", count, size));
    if (!missing_.empty() && missing_.size() != count)
      return n_.error(fmt::format("{} nodes; {} flags for missing values", count, missing_.size()));
    for (size_t i = 0; i < count; ++i)
      if (!place_.emplace(std::pair(trees_[i], ids_[i]), i).second)
        return n_.error(fmt::format("node {} of tree {} is given twice", ids_[i], trees_[i]));
    NNEX_TRY(leaves());
    NNEX_TRY(nodes());
    return std::move(a_);
  }

 private:
  bool is_leaf(size_t i) const { return modes_[i] == "LEAF"; }

  /// Leaves in the order of their nodes, their entries side by side.
  Status leaves() {
    const Ints trees = n_.ints(kind_ + "_treeids"), ids = n_.ints(kind_ + "_nodeids"), to = n_.ints(kind_ + "_ids");
    const Reals weights = reals_or_tensor(n_, kind_ + "_weights", a_.wide);
    if (trees.size() != ids.size() || trees.size() != to.size() || trees.size() != weights.size())
      return n_.error(fmt::format("lists of {} entries have {}, {}, {} and {} items", kind_, trees.size(), ids.size(),
                                  to.size(), weights.size()));
    std::map<size_t, std::vector<size_t>> entries;
    for (size_t e = 0; e < trees.size(); ++e) {
      const auto at = place_.find({trees[e], ids[e]});
      if (at == place_.end() || !is_leaf(at->second))
        return n_.error(fmt::format("node {} of tree {} has a {} and is no leaf", ids[e], trees[e], kind_));
      entries[at->second].push_back(e);
    }
    leaf_.assign(trees_.size(), -1);
    for (size_t i = 0; i < trees_.size(); ++i) {
      if (!is_leaf(i)) continue;
      leaf_[i] = static_cast<int64_t>(a_.leaf_counts.size());
      const auto& own = entries[i];
      a_.leaf_counts.push_back(static_cast<int64_t>(own.size()));
      for (size_t e : own) a_.leaf_targets.push_back(to[e]), a_.leaf_weights.push_back(weights[e]);
    }
    return {};
  }

  Status nodes() {
    static constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                  "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    Ints number(trees_.size(), -1);
    int64_t inner = 0;
    for (size_t i = 0; i < trees_.size(); ++i)
      if (!is_leaf(i)) number[i] = inner++;
    std::set<size_t> children;
    for (size_t i = 0; i < trees_.size(); ++i) {
      if (is_leaf(i)) continue;
      const auto mode = std::find(std::begin(kModes), std::end(kModes), modes_[i]);
      if (mode == std::end(kModes)) return n_.error(fmt::format("node {} has mode '{}'", i, modes_[i]));
      a_.modes.push_back(mode - std::begin(kModes));
      a_.features.push_back(features_[i]);
      a_.splits.push_back(splits_[i]);
      a_.missing_true.push_back(missing_.empty() ? 0 : missing_[i]);
      const auto child = [&](int64_t id, Ints& ids, Ints& leafs) -> Status {
        const auto at = place_.find({trees_[i], id});
        if (at == place_.end())
          return n_.error(
              fmt::format("node {} of tree {} leads to node {}, which is not there", ids_[i], trees_[i], id));
        children.insert(at->second);
        leafs.push_back(is_leaf(at->second));
        ids.push_back(is_leaf(at->second) ? leaf_[at->second] : number[at->second]);
        return {};
      };
      NNEX_TRY(child(yes_[i], a_.true_ids, a_.true_leafs));
      NNEX_TRY(child(no_[i], a_.false_ids, a_.false_leafs));
    }
    std::set<int64_t> rooted;
    for (size_t i = 0; i < trees_.size(); ++i) {
      if (children.count(i) || !rooted.insert(trees_[i]).second) continue;
      a_.roots.push_back(is_leaf(i) ? lone_leaf(i) : number[i]);
    }
    for (int64_t tree : trees_)
      if (!rooted.count(tree))
        return n_.error(fmt::format("tree {} has no root: its nodes lead back to each other", tree));
    return {};
  }

  /// A node both of whose ways lead to the leaf that is a whole tree.
  int64_t lone_leaf(size_t i) {
    a_.features.push_back(0), a_.modes.push_back(0), a_.splits.push_back(0), a_.missing_true.push_back(0);
    for (Ints* ids : {&a_.true_ids, &a_.false_ids}) ids->push_back(leaf_[i]);
    for (Ints* leafs : {&a_.true_leafs, &a_.false_leafs}) leafs->push_back(1);
    return static_cast<int64_t>(a_.features.size()) - 1;
  }

  const NodeImport& n_;
  std::string kind_;
  TreeAttrs a_;
  Ints trees_, ids_, features_, yes_, no_, missing_, leaf_;
  Texts modes_;
  Reals splits_;
  std::map<std::pair<int64_t, int64_t>, size_t> place_;
};

Result<Quirked> tree_regressor(NodeImport& n) {
  NNEX_ASSIGN(TreeAttrs a, OldTrees(n, "target").read());
  a.targets = n.integer("n_targets", 1);
  std::string word = n.word("aggregate_function", "SUM");
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr auto words = enumerators(Aggregate{});
  const auto at = std::find(words.begin(), words.end(), word);
  if (at == words.end()) return n.error(fmt::format("aggregate_function is '{}'", word));
  a.aggregate = static_cast<Aggregate>(at - words.begin());
  NNEX_ASSIGN(a.post, post_of(n));
  a.result = DType::f32;
  n.bind(0, n.b("tree_ensemble", {n.in[0]}, std::move(a)));
  return Quirked::done;
}

/// Trees for one of two classes score that class; the other's score follows from it.
Result<Quirked> tree_classifier(NodeImport& n) {
  ClassifyAttrs c;
  NNEX_ASSIGN(c.labels, labels_of(n, "classlabels_strings", "classlabels_int64s"));
  NNEX_ASSIGN(c.post, post_of(n));
  NNEX_ASSIGN(TreeAttrs a, OldTrees(n, "class").read());
  a.targets = c.labels.count();
  a.result = a.wide ? DType::f64 : DType::f32;
  const std::set<int64_t> classes(a.leaf_targets.begin(), a.leaf_targets.end());
  if (a.targets == 2 && classes.size() == 1) {
    const bool positive = std::all_of(a.leaf_weights.begin(), a.leaf_weights.end(), [](double w) { return w >= 0; });
    const bool plain = c.post == PostTransform::none || c.post == PostTransform::probit;
    c.one_column = plain ? OneColumn::complement : OneColumn::negate;
    c.threshold = positive && plain ? 0.5 : 0;
    a.targets = 1;
    std::fill(a.leaf_targets.begin(), a.leaf_targets.end(), 0);
    if (a.base.size() == 2) a.base = {a.base[1]};
  }
  ValueId scores = n.b("tree_ensemble", {n.in[0]}, a);
  if (a.wide) {
    CastAttrs to;
    to.to = DType::f32;
    scores = n.b("cast", {scores}, to);
  }
  bind_classes(n, scores, std::move(c));
  return Quirked::done;
}

/// TreeEnsemble-5: the row's own arrays under other names, numbers for words.
Result<Quirked> tree_ensemble(NodeImport& n) {
  TreeAttrs a;
  const auto tensor = [&](std::string_view name, Reals& to) -> Status {
    const AttrValue* v = n.find(name);
    const Tensor* t = v ? std::get_if<Tensor>(v) : nullptr;
    if (!t) return {};
    a.wide |= t->dtype() == DType::f64;
    for (int64_t i = 0; i < t->count(); ++i) to.push_back(real_at(*t, i));
    return {};
  };
  Reals modes;
  NNEX_TRY(tensor("nodes_splits", a.splits));
  NNEX_TRY(tensor("leaf_weights", a.leaf_weights));
  NNEX_TRY(tensor("membership_values", a.members));
  NNEX_TRY(tensor("nodes_modes", modes));
  a.modes.assign(modes.begin(), modes.end());
  a.features = n.ints("nodes_featureids"), a.true_ids = n.ints("nodes_truenodeids");
  a.false_ids = n.ints("nodes_falsenodeids"), a.true_leafs = n.ints("nodes_trueleafs");
  a.false_leafs = n.ints("nodes_falseleafs"), a.missing_true = n.ints("nodes_missing_value_tracks_true");
  a.roots = n.ints("tree_roots"), a.leaf_targets = n.ints("leaf_targetids");
  a.targets = n.integer("n_targets", 1);
  const int64_t aggregate = n.integer("aggregate_function", 1), post = n.integer("post_transform", 0);
  if (aggregate < 0 || aggregate > 3) return n.error(fmt::format("aggregate_function is {}", aggregate));
  if (post < 0 || post > 4) return n.error(fmt::format("post_transform is {}", post));
  a.aggregate = static_cast<Aggregate>(aggregate), a.post = static_cast<PostTransform>(post);
  n.bind(0, n.b("tree_ensemble", {n.in[0]}, std::move(a)));
  return Quirked::done;
}

/// The quirk of an operator whose first input must be there.
template <Quirk quirk>
Result<Quirked> tree_of_x(NodeImport& n) {
  if (!n.has(0)) return n.error("input X is required");
  return quirk(n);
}

constexpr std::string_view kMlDomain = "ai.onnx.ml";
constexpr QuirkRow kMlRows[] = {{"LinearClassifier", tree_of_x<linear_classifier>, kMlDomain},
                                {"LinearRegressor", tree_of_x<linear_regressor>, kMlDomain},
                                {"Normalizer", tree_of_x<normalizer>, kMlDomain},
                                {"Scaler", tree_of_x<scaler>, kMlDomain},
                                {"TreeEnsembleRegressor", tree_of_x<tree_regressor>, kMlDomain},
                                {"TreeEnsembleClassifier", tree_of_x<tree_classifier>, kMlDomain},
                                {"TreeEnsemble", tree_of_x<tree_ensemble>, kMlDomain}};

}  // namespace

std::span<const QuirkRow> ml_quirks() { return read_of<kMlRows>(); }

}  // namespace nnex::onnx_format
