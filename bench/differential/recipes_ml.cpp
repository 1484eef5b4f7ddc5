// Operators of ai.onnx.ml, and of texts as features.
#include <algorithm>

#include "recipes.h"
#include "tensor/convert.h"

namespace nnex::differential {
namespace {

DType feature(Maker& m) { return m.dice.one_of({DType::f32, DType::f32, DType::f64, DType::i64, DType::i32}); }

std::vector<float> floats(Maker& m, int64_t count) {
  std::vector<float> out;
  while (count-- > 0) out.push_back(float(m.dice.in(-12, 12)) / 4);
  return out;
}

void array_feature_extractor(Maker& m) {
  const Extents x = m.positive_shape(1, 3);
  const DType type = m.dice.one_of({DType::f32, DType::i64, DType::str, DType::f64, DType::i32});
  m.finish({m.add(m.any(type, x)), m.add(m.whole(DType::i64, {m.dice.in(1, 4)}, 0, x.back() - 1))});
}

void binarizer(Maker& m) {
  m.maybe(0.7, "threshold", float(m.dice.in(-6, 6)) / 4);
  m.finish({m.add(m.reals(DType::f32, m.shape(1, 3), Fill::exact))});
}

void normalizer(Maker& m) {
  m.attribute("norm", m.dice.word({"MAX", "L1", "L2"}));
  m.finish({m.add(m.any(feature(m), m.positive_shape(1, 2)))});
}

void scaler(Maker& m) {
  const Extents x = {m.positive_extent(), m.positive_extent()};
  const bool single = m.dice.chance(0.3);
  m.attribute("offset", floats(m, single ? 1 : x[1]));
  m.attribute("scale", floats(m, single ? 1 : x[1]));
  m.finish({m.add(m.any(feature(m), x))});
}

void imputer(Maker& m) {
  const Extents x = {m.positive_extent(), m.positive_extent()};
  const bool whole = m.dice.chance(0.3);
  const int64_t count = m.dice.chance(0.4) ? 1 : x[1];
  if (whole) {
    Extents values(size_t(count), 5);
    m.attribute("imputed_value_int64s", values);
    m.attribute("replaced_value_int64", m.dice.in(-2, 2));
    m.finish({m.add(m.whole(DType::i64, x, -3, 3))});
  } else {
    m.attribute("imputed_value_floats", floats(m, count));
    m.maybe(0.7, "replaced_value_float", m.dice.one_of({1.0f, -2.0f}));
    m.finish({m.add(m.whole(DType::f32, x, -3, 3))});
  }
}

void feature_vectorizer(Maker& m) {
  const int64_t rows = m.positive_extent();
  const DType type = m.dice.one_of({DType::f32, DType::i64, DType::i32, DType::f64});
  Names in;
  Extents widths;
  for (int64_t n = m.dice.in(1, 3); n-- > 0;) {
    widths.push_back(m.dice.in(1, 5));
    in.push_back(m.add(m.any(type, {rows, widths.back()})));
  }
  m.attribute("inputdimensions", widths);
  m.finish(in);
}

void label_encoder(Maker& m) {
  const int kind = int(m.dice.in(0, 3));
  if (kind == 0) {
    m.attribute("keys_strings", Names{"a", "ab", ""});
    m.attribute("values_int64s", Extents{7, 8, 9});
    m.maybe(0.5, "default_int64", int64_t(-3));
    m.finish({m.add(m.any(DType::str, m.shape(1, 2)))});
  } else if (kind == 1) {
    m.attribute("keys_int64s", Extents{-1, 0, 3});
    m.attribute("values_floats", std::vector<float>{0.5f, 1.5f, -2});
    m.maybe(0.5, "default_float", 4.5f);
    m.finish({m.add(m.whole(DType::i64, m.shape(1, 2), -4, 4))});
  } else if (kind == 2) {
    m.attribute("keys_int64s", Extents{-1, 0, 3});
    m.attribute("values_strings", Names{"x", "y", "z"});
    m.maybe(0.5, "default_string", std::string("none"));
    m.finish({m.add(m.whole(DType::i64, m.shape(1, 2), -4, 4))});
  } else {
    m.attribute("keys_floats", std::vector<float>{0, 1, 2});
    m.attribute("values_floats", std::vector<float>{10, 11, 12});
    m.finish({m.add(m.whole(DType::f32, m.shape(1, 2), -3, 3))});
  }
}

void one_hot_encoder(Maker& m) {
  if (m.dice.chance(0.5)) {
    m.attribute("cats_int64s", Extents{0, 2, 3});
    m.finish({m.add(m.whole(m.dice.one_of({DType::i64, DType::f32, DType::i32}), m.shape(1, 2), 0, 4))});
  } else {
    m.attribute("cats_strings", Names{"a", "b", ""});
    m.finish({m.add(m.any(DType::str, m.shape(1, 2)))});
  }
}

std::string post_transform(Maker& m) { return m.dice.word({"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "NONE"}); }

void linear_regressor(Maker& m) {
  const int64_t targets = m.dice.in(1, 3), width = m.dice.in(1, 5);
  m.attribute("coefficients", floats(m, targets * width));
  m.maybe(targets > 1 ? 1 : 0.5, "targets", targets);
  m.maybe(0.6, "intercepts", floats(m, targets));
  m.maybe(0.6, "post_transform", post_transform(m));
  m.finish({m.add(m.any(DType::f32, {m.positive_extent(), width}))});
}

void linear_classifier(Maker& m) {
  const int64_t classes = m.dice.in(2, 4), width = m.dice.in(1, 5);
  m.attribute("coefficients", floats(m, classes * width));
  m.attribute("intercepts", floats(m, classes));
  Extents labels;
  for (int64_t i = 0; i < classes; ++i) labels.push_back(10 * i - 5);
  m.attribute("classlabels_ints", labels);
  m.maybe(0.6, "post_transform", post_transform(m));
  m.finish({m.add(m.any(feature(m), {m.positive_extent(), width}))}, 2);
}

void svm_regressor(Maker& m) {
  const int64_t width = m.dice.in(1, 4), vectors = m.dice.in(1, 4);
  m.attribute("kernel_type", m.dice.word({"LINEAR", "POLY", "RBF", "SIGMOID"}));
  m.attribute("kernel_params", std::vector<float>{0.25f, 0.5f, 2});
  m.attribute("n_supports", vectors);
  m.attribute("support_vectors", floats(m, vectors * width));
  m.attribute("coefficients", floats(m, vectors));
  m.attribute("rho", floats(m, 1));
  m.finish({m.add(m.any(DType::f32, {m.positive_extent(), width}))});
}

void svm_classifier(Maker& m) {
  const int64_t width = m.dice.in(1, 4), each = m.dice.in(1, 2);
  m.attribute("kernel_type", m.dice.word({"LINEAR", "POLY", "RBF", "SIGMOID"}));
  m.attribute("kernel_params", std::vector<float>{0.25f, 0.5f, 2});
  m.attribute("vectors_per_class", Extents{each, each});
  m.attribute("support_vectors", floats(m, 2 * each * width));
  m.attribute("coefficients", floats(m, 2 * each));
  m.attribute("rho", floats(m, 1));
  m.attribute("classlabels_ints", Extents{3, 7});
  m.finish({m.add(m.any(DType::f32, {m.positive_extent(), width}))}, 2);
}

/// Trees of one decision each: node 0 branches to the leaves 1 and 2. `leaf` is what the attributes of leaves begin
/// with.
void trees(Maker& m, const std::string& leaf, int64_t count, int64_t targets, int64_t width) {
  Extents tree, node, feature_of, yes, no, leaf_tree, leaf_node, leaf_target;
  Names modes;
  std::vector<float> split, weights;
  for (int64_t t = 0; t < count; ++t) {
    const std::string mode =
        m.dice.word({"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"});
    for (int64_t n = 0; n < 3; ++n) {
      tree.push_back(t);
      node.push_back(n);
      feature_of.push_back(n ? 0 : m.dice.in(0, width - 1));
      yes.push_back(n ? 0 : 1);
      no.push_back(n ? 0 : 2);
      modes.push_back(n ? "LEAF" : mode);
      split.push_back(n ? 0.0f : float(m.dice.in(-4, 4)) / 4);
      if (n == 0) continue;
      leaf_tree.push_back(t);
      leaf_node.push_back(n);
      leaf_target.push_back(count > targets ? t % targets : m.dice.in(0, targets - 1));
      weights.push_back(float(m.dice.in(-12, 12)) / 4);
    }
  }
  m.attribute("nodes_treeids", tree);
  m.attribute("nodes_nodeids", node);
  m.attribute("nodes_featureids", feature_of);
  m.attribute("nodes_truenodeids", yes);
  m.attribute("nodes_falsenodeids", no);
  m.attribute("nodes_modes", modes);
  m.attribute("nodes_values", split);
  m.attribute(leaf + "_treeids", leaf_tree);
  m.attribute(leaf + "_nodeids", leaf_node);
  m.attribute(leaf + "_ids", leaf_target);
  m.attribute(leaf + "_weights", weights);
}

void tree_regressor(Maker& m) {
  const int64_t targets = m.dice.in(1, 2), width = m.dice.in(1, 3);
  trees(m, "target", m.dice.in(1, 3), targets, width);
  m.attribute("n_targets", targets);
  m.maybe(0.5, "aggregate_function", m.dice.word({"SUM", "AVERAGE", "MIN", "MAX"}));
  m.maybe(0.3, "base_values", floats(m, targets));
  m.maybe(0.5, "post_transform", post_transform(m));
  m.finish({m.add(m.any(DType::f32, {m.positive_extent(), width}))});
}

/// Three classes, each with trees of its own: of a class without scores, and of two, the text says little.
void tree_classifier(Maker& m) {
  const int64_t classes = 3, width = m.dice.in(1, 3);
  trees(m, "class", 2 * classes, classes, width);
  Extents labels;
  for (int64_t i = 0; i < classes; ++i) labels.push_back(5 * i + 2);
  m.attribute("classlabels_int64s", labels);
  m.maybe(0.3, "base_values", floats(m, classes));
  m.maybe(0.5, "post_transform", post_transform(m));
  m.finish({m.add(m.any(feature(m), {m.positive_extent(), width}))}, 2);
}

/// Words 1 to 5: three of one word, two of two.
void tf_idf(Maker& m) {
  const int64_t longest = m.dice.in(1, 2);
  m.attribute("mode", m.dice.word({"TF", "IDF", "TFIDF"}));
  m.attribute("min_gram_length", m.dice.in(1, longest));
  m.attribute("max_gram_length", longest);
  m.attribute("max_skip_count", m.dice.in(0, 2));
  m.attribute("ngram_counts", Extents{0, 3});
  m.attribute("ngram_indexes", Extents{0, 1, 2, 3, 4});
  m.attribute("pool_int64s", Extents{2, 3, 5, 5, 1, 2, 3});
  m.maybe(0.6, "weights", std::vector<float>{1, 0.5f, 2, 3, 0.25f});
  m.finish({m.add(m.whole(m.dice.one_of({DType::i64, DType::i32}), m.positive_shape(1, 2), 1, 5))});
}

constexpr std::string_view kMl = "ai.onnx.ml";
constexpr Recipe kRecipes[] = {
    {"ArrayFeatureExtractor", 1, array_feature_extractor, kMl},
    {"Binarizer", 1, binarizer, kMl},
    {"FeatureVectorizer", 1, feature_vectorizer, kMl},
    {"Imputer", 1, imputer, kMl},
    {"LabelEncoder", 2, label_encoder, kMl},
    {"LinearClassifier", 1, linear_classifier, kMl},
    {"LinearRegressor", 1, linear_regressor, kMl},
    {"Normalizer", 1, normalizer, kMl},
    {"OneHotEncoder", 1, one_hot_encoder, kMl},
    {"SVMClassifier", 1, svm_classifier, kMl},
    {"SVMRegressor", 1, svm_regressor, kMl},
    {"Scaler", 1, scaler, kMl},
    {"TfIdfVectorizer", 9, tf_idf},
    {"TreeEnsembleClassifier", 1, tree_classifier, kMl},
    {"TreeEnsembleRegressor", 1, tree_regressor, kMl},
};

}  // namespace

std::span<const Recipe> ml_recipes() { return kRecipes; }

}  // namespace nnex::differential
