// Rows of the domain ai.onnx.ml, labels and texts: the reverse of the reader's quirks.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/try.h"
#include "ops/label_encoder.h"
#include "ops/maps.h"
#include "ops/matmul.h"
#include "ops/ml.h"
#include "ops/svm.h"
#include "ops/tf_idf.h"
#include "ops/trees.h"
#include "standards/onnx/export_rows.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

constexpr std::string_view kMl = "ai.onnx.ml";

template <class E>
std::string word_of(E value) {
  return capitals(enumerators(value)[static_cast<size_t>(value)]);
}

/// Labels are texts or integers, each under a name of its own.
void set_labels(OnnxNode& to, const Tensor& labels, std::string_view texts, std::string_view ints) {
  if (labels.dtype() == DType::str) {
    const auto words = labels.strings();
    to.set(texts, Texts(words.begin(), words.end()));
  } else {
    to.set(ints, ints_of(labels));
  }
}

// ---- Features

Said label_encoder(const ir::Graph& graph, const Node& node) {
  const auto& a = graph.attrs<LabelEncoderAttrs>(node);
  if (a.missing == MissingKey::fault) return cannot(node, "a key that is not listed is a fault");
  OnnxNode out{"LabelEncoder", std::string(kMl), node.in, {}};
  out.set("keys_tensor", a.keys);
  out.set("values_tensor", a.values);
  if (a.otherwise.count() == 1) out.set("default_tensor", a.otherwise.reshaped(Shape{1}));
  return std::optional(std::move(out));
}

Said zip_map(const ir::Graph& graph, const Node& node) {
  OnnxNode out{"ZipMap", std::string(kMl), node.in, {}};
  set_labels(out, graph.attrs<ZipMapAttrs>(node).keys, "classlabels_strings", "classlabels_int64s");
  return std::optional(std::move(out));
}

Said dict_vectorizer(const ir::Graph& graph, const Node& node) {
  OnnxNode out{"DictVectorizer", std::string(kMl), node.in, {}};
  set_labels(out, graph.attrs<DictVectorizerAttrs>(node).vocabulary, "string_vocabulary", "int64_vocabulary");
  return std::optional(std::move(out));
}

Said cast_map(const ir::Graph& graph, const Node& node) {
  const auto& a = graph.attrs<CastMapAttrs>(node);
  OnnxNode out{"CastMap", std::string(kMl), node.in, {}};
  out.set("cast_to", std::string(a.to == DType::str ? "TO_STRING" : a.to == DType::i64 ? "TO_INT64" : "TO_FLOAT"));
  out.set("map_form", std::string(a.sparse ? "SPARSE" : "DENSE"));
  out.set("max_map", a.length);
  return std::optional(std::move(out));
}

/// Every field of the row under ONNX's name, and a tensor of texts or integers under one of two.
Said with_labels(const ir::Graph& graph, const Node& node, std::string_view theirs, std::string_view domain,
                 std::string_view labels, std::string_view texts, std::string_view ints,
                 std::span<const std::pair<std::string_view, std::string_view>> names) {
  (void)graph;
  const Form& newest = forms_of(domain, theirs).back();
  OnnxNode out{std::string(theirs), std::string(domain), node.in, {}};
  const std::shared_ptr<void> usual = node.op->attrs.make();
  for (const Field& f : node.op->attrs.fields) {
    AttrValue value = f.get(node.attrs.get());
    if (f.name == labels) {
      set_labels(out, std::get<Tensor>(value), texts, ints);
      continue;
    }
    std::string_view name = f.name;
    for (const auto& [ours, onnx] : names)
      if (ours == f.name) name = onnx;
    const auto declared = newest.find(name);
    if (!declared || (!declared->required && same(value, f.get(usual.get())))) continue;
    if (auto* word = std::get_if<std::string>(&value)) *word = capitals(*word);
    out.set(name, std::move(value));
  }
  return std::optional(std::move(out));
}

Said svm_classifier(const ir::Graph& graph, const Node& node) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"kernel", "kernel_type"},
                                                                             {"post", "post_transform"}};
  return with_labels(graph, node, "SVMClassifier", kMl, "labels", "classlabels_strings", "classlabels_ints", kNames);
}

Said tf_idf_vectorizer(const ir::Graph& graph, const Node& node) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"min_gram", "min_gram_length"}, {"max_gram", "max_gram_length"},   {"max_skip", "max_skip_count"},
      {"gram_starts", "ngram_counts"}, {"gram_columns", "ngram_indexes"},
  };
  return with_labels(graph, node, "TfIdfVectorizer", "", "pool", "pool_strings", "pool_int64s", kNames);
}

// ---- Trees and classes

/// Lists of the forms that name a node by its tree and number: nodes of one tree after another.
class TreeLists {
 public:
  TreeLists(const TreeAttrs& a, std::string kind) : a_(a), kind_(std::move(kind)) {}

  Status write(const Node& node, OnnxNode& out) {
    NNEX_TRY(Forest::make(a_));  // every index is in range
    for (size_t t = 0; t < a_.roots.size(); ++t) {
      int64_t next = 0;
      if (!walk(static_cast<int64_t>(t), a_.roots[t], false, next, 0))
        return cannot(node, "trees that share nodes, or are too deep, or test for members of sets");
    }
    const auto wide = [&](std::string name, Reals numbers) {
      if (numbers.empty()) return;
      if (!a_.wide) return out.set(name, std::move(numbers));
      const auto count = static_cast<int64_t>(numbers.size());
      out.set(name + "_as_tensor", Tensor::of(Shape{count}, numbers));
    };
    out.set("nodes_treeids", trees_);
    out.set("nodes_nodeids", ids_);
    out.set("nodes_featureids", features_);
    out.set("nodes_modes", modes_);
    wide("nodes_values", splits_);
    out.set("nodes_truenodeids", yes_);
    out.set("nodes_falsenodeids", no_);
    if (!a_.missing_true.empty()) out.set("nodes_missing_value_tracks_true", missing_);
    out.set(kind_ + "_treeids", leaf_trees_);
    out.set(kind_ + "_nodeids", leaf_ids_);
    out.set(kind_ + "_ids", targets_);
    wide(kind_ + "_weights", weights_);
    wide("base_values", a_.base);
    return {};
  }

 private:
  /// Writes a node and what is below it, the children after it.
  bool walk(int64_t tree, int64_t at, bool leaf, int64_t& next, int depth) {
    static constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                  "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    const auto i = static_cast<size_t>(at);
    const size_t place = trees_.size();
    if (depth > 10000 || !visited_.insert({leaf, at}).second) return false;
    trees_.push_back(tree), ids_.push_back(next++);
    yes_.push_back(0), no_.push_back(0);
    if (leaf) {
      features_.push_back(0), modes_.emplace_back("LEAF"), splits_.push_back(0), missing_.push_back(0);
      return entries(tree, ids_[place], i);
    }
    if (a_.modes[i] < 0 || a_.modes[i] > 5) return false;
    features_.push_back(a_.features[i]), modes_.emplace_back(kModes[a_.modes[i]]), splits_.push_back(a_.splits[i]);
    missing_.push_back(a_.missing_true.empty() ? 0 : a_.missing_true[i]);
    const bool same_leaf = a_.true_leafs[i] && a_.false_leafs[i] && a_.true_ids[i] == a_.false_ids[i];
    yes_[place] = next;
    if (!walk(tree, a_.true_ids[i], a_.true_leafs[i] != 0, next, depth + 1)) return false;
    no_[place] = same_leaf ? yes_[place] : next;
    return same_leaf || walk(tree, a_.false_ids[i], a_.false_leafs[i] != 0, next, depth + 1);
  }

  bool entries(int64_t tree, int64_t id, size_t leaf) {
    size_t first = leaf, count = 1;
    if (!a_.leaf_counts.empty()) {
      first = 0;
      for (size_t k = 0; k < leaf; ++k) first += static_cast<size_t>(a_.leaf_counts[k]);
      count = static_cast<size_t>(a_.leaf_counts[leaf]);
    }
    for (size_t e = first; e < first + count; ++e) {
      leaf_trees_.push_back(tree), leaf_ids_.push_back(id);
      targets_.push_back(a_.leaf_targets[e]), weights_.push_back(a_.leaf_weights[e]);
    }
    return true;
  }

  const TreeAttrs& a_;
  std::string kind_;
  std::set<std::pair<bool, int64_t>> visited_;
  Ints trees_, ids_, features_, yes_, no_, missing_, leaf_trees_, leaf_ids_, targets_;
  Texts modes_;
  Reals splits_, weights_;
};

/// The row's own arrays, where every leaf has one entry and nothing is added.
OnnxNode tree_arrays(const TreeAttrs& a, const Node& node) {
  const auto tensor = [&](const Reals& r) {
    const Shape shape{static_cast<int64_t>(r.size())};
    return a.wide ? Tensor::of(shape, r) : Tensor::of(shape, std::vector<float>(r.begin(), r.end()));
  };
  OnnxNode out{"TreeEnsemble", std::string(kMl), node.in, {}};
  out.set("nodes_featureids", a.features);
  out.set("nodes_modes", Tensor::of(Shape{static_cast<int64_t>(a.modes.size())},
                                    std::vector<uint8_t>(a.modes.begin(), a.modes.end())));
  out.set("nodes_splits", tensor(a.splits));
  out.set("nodes_truenodeids", a.true_ids);
  out.set("nodes_falsenodeids", a.false_ids);
  out.set("nodes_trueleafs", a.true_leafs);
  out.set("nodes_falseleafs", a.false_leafs);
  if (!a.missing_true.empty()) out.set("nodes_missing_value_tracks_true", a.missing_true);
  if (!a.members.empty()) out.set("membership_values", tensor(a.members));
  out.set("tree_roots", a.roots);
  out.set("leaf_targetids", a.leaf_targets);
  out.set("leaf_weights", tensor(a.leaf_weights));
  out.set("n_targets", a.targets);
  out.set("aggregate_function", static_cast<int64_t>(a.aggregate));
  out.set("post_transform", static_cast<int64_t>(a.post));
  return out;
}

Said tree_ensemble(const ir::Graph& graph, const Node& node) {
  const auto& a = graph.attrs<TreeAttrs>(node);
  const bool single = std::all_of(a.leaf_counts.begin(), a.leaf_counts.end(), [](int64_t n) { return n == 1; });
  if (single && a.base.empty() && a.result == DType::none) return std::optional(tree_arrays(a, node));
  if (a.result != DType::f32) return cannot(node, "a result that is neither the input's type nor f32");
  OnnxNode out{"TreeEnsembleRegressor", std::string(kMl), node.in, {}};
  NNEX_TRY(TreeLists(a, "target").write(node, out));
  out.set("n_targets", a.targets);
  out.set("aggregate_function", word_of(a.aggregate));
  out.set("post_transform", word_of(a.post));
  return std::optional(std::move(out));
}

/// The trees whose scores a node classifies, and nobody else reads; null: there are none.
const Node* trees_of(const ir::Graph& graph, const Node& classify) {
  ValueId v = classify.in[0];
  for (int steps = 0; steps < 2 && graph.read_once(v); ++steps) {
    const Node* producer = graph.producer(v);
    if (!producer) return nullptr;
    if (producer->op->name == "tree_ensemble") return producer;
    if (producer->op->name != "cast") return nullptr;
    v = producer->in[0];
  }
  return nullptr;
}

/// What the reader makes of a single column of scores for two classes.
bool follows(const ClassifyAttrs& c, const TreeAttrs& a) {
  const bool positive = std::all_of(a.leaf_weights.begin(), a.leaf_weights.end(), [](double w) { return w >= 0; });
  const bool plain = c.post == PostTransform::none || c.post == PostTransform::probit;
  return c.one_column == (plain ? OneColumn::complement : OneColumn::negate) &&
         c.threshold == (positive && plain ? 0.5 : 0.0);
}

Said classified_trees(const ir::Graph& graph, const Node& node, const Node& trees) {
  const auto& c = graph.attrs<ClassifyAttrs>(node);
  TreeAttrs a = graph.attrs<TreeAttrs>(trees);
  const bool one = a.targets == 1 && c.labels.count() == 2;
  const std::set<int64_t> found(a.leaf_targets.begin(), a.leaf_targets.end());
  const bool usual = one ? follows(c, a) : a.targets == c.labels.count() && (a.targets != 2 || found.size() == 2);
  if (!usual || a.aggregate != Aggregate::sum || a.post != PostTransform::none)
    return cannot(node, "classes that do not follow from scores as those of TreeEnsembleClassifier do");
  OnnxNode out{"TreeEnsembleClassifier", std::string(kMl), trees.in, {}};
  NNEX_TRY(TreeLists(a, "class").write(node, out));
  set_labels(out, c.labels, "classlabels_strings", "classlabels_int64s");
  out.set("post_transform", word_of(c.post));
  return std::optional(std::move(out));
}

/// How many scores are classified, where LinearClassifier has words for what follows from them; 0: it has not.
int64_t classified_scores(const ir::Graph& graph, const Node& classify) {
  const auto& a = graph.attrs<ClassifyAttrs>(classify);
  const int64_t labels = a.labels.count();
  int64_t columns = labels;
  if (const MaybeDims& dims = graph[classify.in[0]].type.dims; dims && dims->size() == 2 && (*dims)[1].is_number())
    columns = (*dims)[1].value();
  const bool one = columns == 1 && labels == 2;
  if (one && (a.one_column != OneColumn::negate || a.threshold != 0)) return 0;
  return columns == labels || one ? columns : 0;
}

/// The linear model that makes the scores for nobody else, which LinearClassifier has in it; null: another node does.
const Node* linear_of(const ir::Graph& graph, const Node& classify) {
  const int64_t rows = classified_scores(graph, classify);
  const Node* linear = graph.read_once(classify.in[0]) ? graph.producer(classify.in[0]) : nullptr;
  if (rows == 0 || !linear || linear->op->name != "linear") return nullptr;
  const auto& a = graph.attrs<LinearAttrs>(*linear);
  const Tensor *filter = graph.constant_in(*linear, 1), *bias = graph.constant_in(*linear, 2);
  const bool biased = linear->in.size() > 2 && linear->in[2].valid();
  const bool plain = a.alpha == 1 && (!biased || a.beta == 1) && !a.transpose_a && a.transpose_b;
  const auto fits = [&](const Tensor* t, int64_t count) {
    return t && t->dtype() == DType::f32 && t->count() == count;
  };
  if (!plain || graph[linear->in[0]].type.dtype != DType::f32 || !filter || filter->shape().rank() != 2) return nullptr;
  if (!fits(filter, rows * filter->shape()[1]) || (biased && !fits(bias, rows))) return nullptr;
  return linear;
}

/// Classes of scores: those of the linear model before, else of one whose matrix is 1 on its diagonal.
Said classify(const ir::Graph& graph, const Node& node) {
  if (const Node* trees = trees_of(graph, node)) return classified_trees(graph, node, *trees);
  const auto& a = graph.attrs<ClassifyAttrs>(node);
  const int64_t columns = classified_scores(graph, node);
  if (columns == 0) return cannot(node, "one score for two classes that is not its negation for the other");
  OnnxNode out{"LinearClassifier", std::string(kMl), node.in, {}};
  Reals offsets(static_cast<size_t>(columns), 0.0);
  if (const Node* linear = linear_of(graph, node)) {
    out.in = {linear->in[0]};
    out.set("coefficients", reals_of(*graph.constant_in(*linear, 1)));
    if (const Tensor* bias = graph.constant_in(*linear, 2)) offsets = reals_of(*bias);
  } else {
    if (columns > 2048) return cannot(node, "more than 2048 classes");  // the matrix has their square
    Reals unit(static_cast<size_t>(columns * columns), 0.0);
    for (int64_t i = 0; i < columns; ++i) unit[static_cast<size_t>(i * (columns + 1))] = 1;
    out.set("coefficients", std::move(unit));
  }
  out.set("intercepts", std::move(offsets));
  out.set("post_transform", word_of(a.post));
  set_labels(out, a.labels, "classlabels_strings", "classlabels_ints");
  return std::optional(std::move(out));
}

}  // namespace

bool is_absorbed(const ir::Graph& graph, const Node& node) {
  if (is_column_of_regions(graph, node)) return true;
  if (node.op->name == "linear" && graph.read_once(node.out[0])) {
    const Node& reader = graph[graph[node.out[0]].uses[0].node];
    return reader.op && reader.op->name == "classify" && linear_of(graph, reader) == &node;
  }
  if (node.op->name != "tree_ensemble" && node.op->name != "cast") return false;
  ValueId v = node.out[0];
  for (int steps = 0; steps < 2 && v.valid() && graph.read_once(v); ++steps) {
    const Node& reader = graph[graph[v].uses[0].node];
    if (reader.op->name == "classify") {
      const Node* trees = trees_of(graph, reader);
      return trees && (trees == &node || graph.producer(node.in[0]) == trees);
    }
    if (reader.op->name != "cast") return false;
    v = reader.out[0];
  }
  return false;
}

Say find_ml_say(std::string_view row) {
  static const std::map<std::string_view, Say> table = {
      {"label_encoder", label_encoder},     {"zip_map", zip_map},
      {"dict_vectorizer", dict_vectorizer}, {"cast_map", cast_map},
      {"svm_classifier", svm_classifier},   {"tf_idf_vectorizer", tf_idf_vectorizer},
      {"tree_ensemble", tree_ensemble},     {"classify", classify}};
  const auto it = table.find(row);
  return it == table.end() ? nullptr : it->second;
}

}  // namespace nnex::onnx_format
