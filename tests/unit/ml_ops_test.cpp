// Trees, support vectors, encoders and maps: numbers worked out by hand from the rules.

#include <gtest/gtest.h>

#include "op_run.h"
#include "ops/ml.h"

namespace nnex {
namespace {

using test::attrs_with;
using test::run_op;
using test::shown;

const float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor column(std::vector<float> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Tensor::of(Shape{n, 1}, v);
}
Tensor texts(const std::vector<std::string>& v) { return Tensor::of(Shape{static_cast<int64_t>(v.size())}, v); }
Tensor longs(const std::vector<int64_t>& v) { return Tensor::of(Shape{static_cast<int64_t>(v.size())}, v); }
Tensor floats(const std::vector<float>& v) { return Tensor::of(Shape{static_cast<int64_t>(v.size())}, v); }

AttrMap with(AttrMap base, const AttrMap& more) {
  for (const auto& [name, value] : more) {
    auto at =
        std::find_if(base.begin(), base.end(), [n = std::string_view(name)](const auto& a) { return a.first == n; });
    if (at == base.end())
      base.emplace_back(name, value);
    else
      at->second = value;
  }
  return base;
}

// ---- Trees

/// x[0] (test) 2: 10 where it holds, else 20.
AttrMap stump(int64_t mode) {
  return {{"features", Ints{0}},        {"modes", Ints{mode}},          {"splits", Reals{2}},     {"true_ids", Ints{0}},
          {"false_ids", Ints{1}},       {"true_leafs", Ints{1}},        {"false_leafs", Ints{1}}, {"roots", Ints{0}},
          {"leaf_targets", Ints{0, 0}}, {"leaf_weights", Reals{10, 20}}};
}

/// Two stumps with x[0] <= 2: 10 or 20, and 1 or 2.
AttrMap two_stumps() {
  return {{"features", Ints{0, 0}},
          {"modes", Ints{0, 0}},
          {"splits", Reals{2, 2}},
          {"true_ids", Ints{0, 2}},
          {"false_ids", Ints{1, 3}},
          {"true_leafs", Ints{1, 1}},
          {"false_leafs", Ints{1, 1}},
          {"roots", Ints{0, 1}},
          {"leaf_targets", Ints{0, 0, 0, 0}},
          {"leaf_weights", Reals{10, 20, 1, 2}}};
}

TEST(Trees, EveryTestAndMissingValues) {
  const Tensor x = column({1, 2, 3, kNan});
  const struct {
    int64_t mode;
    const char *plain, *tracked;
  } rows[] = {
      {0, "f32[4,1] 10 10 20 20", "f32[4,1] 10 10 20 10"},  // <=
      {1, "f32[4,1] 10 20 20 20", "f32[4,1] 10 20 20 10"},  // <
      {2, "f32[4,1] 20 10 10 20", "f32[4,1] 20 10 10 10"},  // >=
      {3, "f32[4,1] 20 20 10 20", "f32[4,1] 20 20 10 10"},  // >
      {4, "f32[4,1] 20 10 20 20", "f32[4,1] 20 10 20 10"},  // ==
      {5, "f32[4,1] 10 20 10 10", "f32[4,1] 10 20 10 10"},  // != holds for NaN of itself
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.mode);
    EXPECT_EQ(shown(run_op("tree_ensemble", {x}, stump(row.mode))), row.plain);
    EXPECT_EQ(shown(run_op("tree_ensemble", {x}, with(stump(row.mode), {{"missing_true", Ints{1}}}))), row.tracked);
  }
  const AttrMap members = with(stump(6), {{"members", Reals{1, 3, kNan}}});
  EXPECT_EQ(shown(run_op("tree_ensemble", {x}, members)), "f32[4,1] 10 20 10 20");
  EXPECT_EQ(shown(run_op("tree_ensemble", {x}, with(members, {{"missing_true", Ints{1}}}))), "f32[4,1] 10 20 10 10");
}

TEST(Trees, AggregatesAndBase) {
  const Tensor x = column({1, 3});
  const struct {
    const char *how, *plain, *based;
  } rows[] = {{"sum", "f32[2,1] 11 22", "f32[2,1] 111 122"},
              {"average", "f32[2,1] 5.5 11", "f32[2,1] 105.5 111"},
              {"min", "f32[2,1] 1 2", "f32[2,1] 101 102"},
              {"max", "f32[2,1] 10 20", "f32[2,1] 110 120"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.how);
    const AttrMap a = with(two_stumps(), {{"aggregate", std::string(row.how)}});
    EXPECT_EQ(shown(run_op("tree_ensemble", {x}, a)), row.plain);
    EXPECT_EQ(shown(run_op("tree_ensemble", {x}, with(a, {{"base", Reals{100}}}))), row.based);
  }
  // A target no leaf of the row speaks of is 0, for the extremes too.
  for (const char* how : {"sum", "average", "min", "max"})
    EXPECT_EQ(shown(run_op("tree_ensemble", {column({1})},
                           with(stump(0), {{"targets", int64_t{2}}, {"aggregate", std::string(how)}}))),
              "f32[1,2] 10 0");
}

TEST(Trees, LeavesOfSeveralEntriesAndWideSums) {
  const AttrMap a = with(stump(0), {{"targets", int64_t{3}},
                                    {"leaf_counts", Ints{2, 1}},
                                    {"leaf_targets", Ints{0, 2, 1}},
                                    {"leaf_weights", Reals{1, 2, 3}}});
  EXPECT_EQ(shown(run_op("tree_ensemble", {column({1, 3})}, a)), "f32[2,3] 1 0 2 0 3 0");
  // 1 + 2^-30 needs f64.
  const AttrMap b = with(two_stumps(), {{"leaf_weights", Reals{1, 0, std::ldexp(1.0, -30), 0}}});
  EXPECT_EQ(shown(run_op("tree_ensemble", {Tensor::of<double>(Shape{1, 1}, {1})},
                         with(b, {{"wide", true}, {"base", Reals{-1}}}))),
            "f64[1,1] 9.313225746154785e-10");
  EXPECT_EQ(shown(run_op("tree_ensemble", {column({1})}, with(b, {{"base", Reals{-1}}}))), "f32[1,1] 0");
}

TEST(Trees, PostTransforms) {
  const auto rows = [](PostTransform kind, std::vector<float> row) {
    post_transform(kind, std::span<float>(row));
    return row;
  };
  const auto soft = rows(PostTransform::softmax, {1, 2, 3});
  EXPECT_NEAR(soft[0], 0.0900306F, 1e-6F);
  EXPECT_NEAR(soft[1], 0.2447285F, 1e-6F);
  EXPECT_NEAR(soft[2], 0.6652410F, 1e-6F);
  const auto large = rows(PostTransform::softmax, {1000, 1000});
  EXPECT_EQ(large[0], 0.5F);
  const auto zeros = rows(PostTransform::softmax_zero, {0, 2, 2});
  EXPECT_EQ(zeros, (std::vector<float>{0, 0.5F, 0.5F}));
  EXPECT_EQ(rows(PostTransform::softmax_zero, {0, 0}), (std::vector<float>{0, 0}));
  const auto logistic = rows(PostTransform::logistic, {0, -1000, 1000, 2});
  EXPECT_EQ(logistic[0], 0.5F);
  EXPECT_EQ(logistic[1], 0.0F);
  EXPECT_EQ(logistic[2], 1.0F);
  EXPECT_NEAR(logistic[3], 0.8807971F, 1e-6F);
  const auto probit = rows(PostTransform::probit, {0.5F, 0.8413447F});
  EXPECT_NEAR(probit[0], 0, 1e-6);
  EXPECT_NEAR(probit[1], 1, 5e-3);
  EXPECT_EQ(shown(run_op("tree_ensemble", {column({1})},
                         with(stump(0), {{"leaf_weights", Reals{0, 1}}, {"post", "logistic"}}))),
            "f32[1,1] 0.5");
}

TEST(Trees, BrokenOnesAreRefused) {
  const Tensor x = column({1});
  const struct {
    AttrMap change;
    const char* says;
  } rows[] = {
      {{{"true_leafs", Ints{0}}}, "tree_ensemble: node 0 leads back to itself"},
      {{{"true_ids", Ints{7}}}, "tree_ensemble: node 0 leads to leaf 7, which is outside [0, 2)"},
      {{{"false_ids", Ints{-1}}}, "tree_ensemble: node 0 leads to leaf -1, which is outside [0, 2)"},
      {{{"modes", Ints{0, 0}}}, "tree_ensemble: 1 nodes have features; another list has 2"},
      {{{"modes", Ints{7}}}, "tree_ensemble: node 0 has mode 7"},
      {{{"modes", Ints{6}}}, "tree_ensemble: 1 nodes test membership; there are 0 sets"},
      {{{"features", Ints{3}}}, "tree_ensemble: x has 1 features; the trees test feature 3"},
      {{{"features", Ints{-3}}}, "tree_ensemble: node 0 has feature -3"},
      {{{"roots", Ints{1}}}, "tree_ensemble: root 1 is outside [0, 1)"},
      {{{"leaf_targets", Ints{0, 1}}}, "tree_ensemble: leaf target 1 is outside [0, 1)"},
      {{{"leaf_weights", Reals{1}}}, "tree_ensemble: 2 leaf targets; 1 leaf weights"},
      {{{"base", Reals{1, 2}}}, "tree_ensemble: 2 base values; 1 targets"},
      {{{"leaf_counts", Ints{1, 5}}}, "tree_ensemble: leaf 1 has 5 entries of 1 left"},
  };
  for (const auto& row : rows) EXPECT_EQ(shown(run_op("tree_ensemble", {x}, with(stump(0), row.change))), row.says);
  // Round about: 0 -> 1 -> 2 -> 1.
  const AttrMap round = {{"features", Ints{0, 0, 0}},    {"modes", Ints{0, 0, 0}},     {"splits", Reals{0, 0, 0}},
                         {"true_ids", Ints{1, 2, 1}},    {"false_ids", Ints{0, 0, 0}}, {"true_leafs", Ints{0, 0, 0}},
                         {"false_leafs", Ints{1, 1, 1}}, {"roots", Ints{0}},           {"leaf_targets", Ints{0}},
                         {"leaf_weights", Reals{1}}};
  EXPECT_EQ(shown(run_op("tree_ensemble", {x}, round)), "tree_ensemble: node 1 leads back to itself");
  // Two ways to one node are no cycle.
  EXPECT_EQ(shown(run_op("tree_ensemble", {x},
                         with(round, {{"true_ids", Ints{1, 2, 0}},
                                      {"false_ids", Ints{2, 2, 0}},
                                      {"true_leafs", Ints{0, 0, 1}},
                                      {"false_leafs", Ints{0, 0, 1}}}))),
            "f32[1,1] 1");
}

TEST(Trees, RandomLinksNeverRunForever) {
  uint32_t state = 1;
  const auto roll = [&](uint32_t n) { return static_cast<int64_t>((state = state * 1664525 + 1013904223) >> 8) % n; };
  int sound = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto n = static_cast<size_t>(roll(6) + 1);
    Ints zeros(n), yes(n), no(n), yes_leaf(n), no_leaf(n);
    for (size_t i = 0; i < n; ++i) {
      yes[i] = roll(static_cast<uint32_t>(n)), no[i] = roll(static_cast<uint32_t>(n));
      yes_leaf[i] = roll(2), no_leaf[i] = roll(3) > 0;
    }
    const AttrMap a = {{"features", zeros},      {"modes", zeros},
                       {"splits", Reals(n)},     {"true_ids", yes},
                       {"false_ids", no},        {"true_leafs", yes_leaf},
                       {"false_leafs", no_leaf}, {"roots", Ints{0}},
                       {"leaf_targets", zeros},  {"leaf_weights", Reals(n, 1.0)}};
    // Both ways from the root to a leaf in at most n steps, or refused.
    const std::string left = shown(run_op("tree_ensemble", {column({-1})}, a));
    const std::string right = shown(run_op("tree_ensemble", {column({1})}, a));
    EXPECT_EQ(left == "f32[1,1] 1", right == "f32[1,1] 1") << left << " " << right;
    sound += left == "f32[1,1] 1";
  }
  EXPECT_GT(sound, 300);
  EXPECT_LT(sound, 2900);
}

// ---- Scores to labels

TEST(Classify, OneColumnForTwoLabels) {
  const Tensor x = column({-1, 0, 2});
  const AttrMap base = {{"labels", texts({"no", "yes"})}};
  const auto negate = run_op("classify", {x}, with(base, {{"one_column", "negate"}}), 2);
  EXPECT_EQ(shown(negate), "str[3] \"no\" \"no\" \"yes\"");
  EXPECT_EQ(shown(negate, 1), "f32[3,2] 1 -1 -0 0 -2 2");
  const auto other = run_op("classify", {x}, with(base, {{"one_column", "complement"}, {"threshold", -0.5}}), 2);
  EXPECT_EQ(shown(other), "str[3] \"no\" \"yes\" \"yes\"");
  EXPECT_EQ(shown(other, 1), "f32[3,2] 2 -1 1 0 -1 2");
  EXPECT_EQ(shown(run_op("classify", {Tensor::of<float>(Shape{1, 3}, {4, 5, 5})}, {{"labels", longs({7, 8, 9})}})),
            "i64[1] 8");  // the first of equal ones
}

// ---- Support vectors

AttrMap pair_machine() {
  // s = x * 1 * 1 + x * -1 * -1 + 0.5 = 2 x + 0.5
  return {{"labels", longs({4, 7})},
          {"coefficients", Reals{1, -1}},
          {"support_vectors", Reals{1, -1}},
          {"vectors_per_class", Ints{1, 1}},
          {"rho", Reals{0.5}}};
}

TEST(Svm, TwoClasses) {
  const Tensor x = column({1, -1});
  auto run = run_op("svm_classifier", {x}, pair_machine(), 2);
  EXPECT_EQ(shown(run), "i64[2] 4 7");
  EXPECT_EQ(shown(run, 1), "f32[2,2] -2.5 2.5 1.5 -1.5");
  run = run_op("svm_classifier", {x}, with(pair_machine(), {{"prob_a", Reals{-1}}, {"prob_b", Reals{0}}}), 2);
  ASSERT_TRUE(run.ok());
  const auto p = (*run)[1].as<float>();
  EXPECT_NEAR(p[0], 0.9241418, 1e-6);  // 1 / (1 + exp(-2.5))
  EXPECT_NEAR(p[1], 0.0758582, 1e-6);
  EXPECT_NEAR(p[2], 0.1824255, 1e-6);  // 1 / (1 + exp(1.5))
}

TEST(Svm, ThreeClassesVote) {
  // One vector a class, all 1, coefficients so that pairs score a x + rho: (0,1) x, (0,2) -x, (1,2) x - 3.
  const AttrMap a = {{"labels", texts({"a", "b", "c"})},
                     {"support_vectors", Reals{1, 1, 1}},
                     {"vectors_per_class", Ints{1, 1, 1}},
                     {"coefficients", Reals{1, 0, 0, /**/ 0, 0, 0}},
                     {"rho", Reals{0, 0, -3}}};
  // Row 0 holds coefficients against class 1 for class 0 and against class 0 for the others.
  // (0,1): c[0][0] + c[0][1] = 1; (0,2): c[1][0] + c[0][2] = 0; (1,2): c[1][1] + c[1][2] = 0.
  const auto run = run_op("svm_classifier", {column({2, -2})}, a, 2);
  EXPECT_EQ(shown(run, 1), "f32[2,3] 2 0 -3 -2 0 -3");
  EXPECT_EQ(shown(run), "str[2] \"c\" \"c\"");  // votes 1 0 2, then 0 1 2
}

TEST(Svm, CoupledProbabilities) {
  // r = p_i / (p_i + p_j) of p = (0.5, 0.3, 0.2) couples back to p; prob_a = 0, prob_b = log(1 / r - 1).
  const auto offset = [](double p, double q) { return std::log(q / p); };
  const AttrMap a = {{"labels", longs({0, 1, 2})},
                     {"support_vectors", Reals{1, 1, 1}},
                     {"vectors_per_class", Ints{1, 1, 1}},
                     {"coefficients", Reals(6)},
                     {"rho", Reals(3)},
                     {"prob_a", Reals(3)},
                     {"prob_b", Reals{offset(.5, .3), offset(.5, .2), offset(.3, .2)}}};
  const auto run = run_op("svm_classifier", {column({1})}, a, 2);
  ASSERT_TRUE(run.ok()) << run.error().message();
  const auto p = (*run)[1].as<float>();
  EXPECT_NEAR(p[0], 0.5, 5e-3);
  EXPECT_NEAR(p[1], 0.3, 5e-3);
  EXPECT_NEAR(p[2], 0.2, 5e-3);
  EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-6);
}

TEST(Svm, WithoutVectorsOneScoreAClass) {
  const AttrMap a = {{"labels", longs({5, 6, 7})}, {"coefficients", Reals{1, 0, 0, 1, -1, -1}}, {"rho", Reals{0.5}}};
  const auto run = run_op("svm_classifier", {Tensor::of<float>(Shape{1, 2}, {1, 3})}, a, 2);
  EXPECT_EQ(shown(run), "i64[1] 6");
  EXPECT_EQ(shown(run, 1), "f32[1,3] 1.5 3.5 -3.5");
}

TEST(Svm, KernelsOfTheRegressor) {
  const Tensor x = Tensor::of<float>(Shape{1, 2}, {0.5F, 1});
  const AttrMap a = {
      {"coefficients", Reals{2}}, {"support_vectors", Reals{1, 0}}, {"supports", int64_t{1}}, {"rho", Reals{1}}};
  EXPECT_EQ(shown(run_op("svm_regressor", {x}, a)), "f32[1,1] 2");  // 2 * 0.5 + 1
  EXPECT_EQ(shown(run_op("svm_regressor", {x}, with(a, {{"kernel", "poly"}, {"kernel_params", Reals{2, 1, 3}}}))),
            "f32[1,1] 17");  // 2 * (2 * 0.5 + 1)^3 + 1
  EXPECT_EQ(shown(run_op("svm_regressor", {x}, with(a, {{"kernel", "rbf"}, {"kernel_params", Reals{0}}}))),
            "f32[1,1] 3");
  const auto rbf = run_op("svm_regressor", {x}, with(a, {{"kernel", "rbf"}, {"kernel_params", Reals{0.8}}}));
  EXPECT_NEAR((*rbf)[0].as<float>()[0], 2 * std::exp(-1.0) + 1, 1e-6);  // |x - v|^2 = 1.25
  const auto sigmoid = run_op("svm_regressor", {x}, with(a, {{"kernel", "sigmoid"}, {"kernel_params", Reals{2, 1}}}));
  EXPECT_NEAR((*sigmoid)[0].as<float>()[0], 2 * std::tanh(2.0) + 1, 1e-6);
  EXPECT_EQ(shown(run_op("svm_regressor", {x}, with(a, {{"one_class", true}, {"rho", Reals{-1}}}))), "f32[1,1] -1");
  EXPECT_EQ(shown(run_op("svm_regressor", {x}, {{"coefficients", Reals{3, 4}}, {"rho", Reals{1}}})), "f32[1,1] 6.5");
}

TEST(Svm, BrokenOnesAreRefused) {
  const Tensor x = column({1});
  const struct {
    AttrMap change;
    const char* says;
  } rows[] = {
      {{{"rho", Reals{}}}, "svm_classifier: 0 numbers in rho; needed one for each of 1 pairs of labels"},
      {{{"coefficients", Reals{1}}}, "svm_classifier: 1 coefficients; needed 1 for each of 2 vectors"},
      {{{"vectors_per_class", Ints{1}}}, "svm_classifier: 1 vectors_per_class; 2 labels"},
      {{{"vectors_per_class", Ints{-1, 1}}},
       "svm_classifier: a class has -1 vectors; there are 2 numbers in support_vectors"},
      {{{"support_vectors", Reals{1, 2, 3}}}, "svm_classifier: 3 numbers in support_vectors for 2 rows"},
      {{{"support_vectors", Reals{1, 2, 3, 4}}}, "svm_classifier: x has 1 features; needed 2"},
      {{{"prob_a", Reals{1}}}, "svm_classifier: 1 prob_a; 0 prob_b"},
      {{{"kernel", "poly"}}, "svm_classifier: 0 kernel_params; needed 3"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(shown(run_op("svm_classifier", {x}, with(pair_machine(), row.change), 2)), row.says);
}

// ---- Encoders and maps

TEST(LabelEncoder, KeysOfEveryKind) {
  const AttrMap words = {{"keys", texts({"a", "b", "a"})}, {"values", longs({1, 2, 3})}};
  EXPECT_EQ(shown(run_op("label_encoder", {texts({"a", "b", "z"})}, words)), "i64[3] 3 2 -1");  // the last "a"
  EXPECT_EQ(shown(run_op("label_encoder", {texts({"z"})}, with(words, {{"missing", "fault"}}))),
            "label_encoder: \"z\" is not among the 3 keys");
  const AttrMap reals = {{"keys", floats({kNan, 0, 1})}, {"values", texts({"nan", "zero", "one"})}};
  EXPECT_EQ(shown(run_op("label_encoder", {floats({-0.0F, kNan, 1, 5})}, reals)),
            "str[4] \"zero\" \"nan\" \"one\" \"_Unused\"");
  const AttrMap halves = {{"keys", longs({1})}, {"values", floats({0.5F})}};
  EXPECT_EQ(shown(run_op("label_encoder", {longs({1, 2})}, halves)), "f32[2] 0.5 -0");
  EXPECT_EQ(shown(run_op("label_encoder", {longs({2})}, with(halves, {{"default", floats({9})}}))), "f32[1] 9");
  EXPECT_EQ(shown(run_op("label_encoder", {longs({2})}, words)), "label_encoder: x is i64; keys are str");
  EXPECT_EQ(shown(run_op("label_encoder", {longs({2})}, {{"keys", longs({1, 2})}, {"values", longs({1})}})),
            "label_encoder: 2 keys; 1 values");
}

/// An operator on any values.
Result<Value> run_value(std::string_view name, Value in, const AttrMap& given) {
  const OpDef& def = op(name);
  const auto attrs = attrs_with(def, given);
  ir::Graph graph;
  const ValueId x = graph.add_param(kMain, "x", type_of(in));
  const NodeId id = graph.add_node(kMain, def, {x}, 1, attrs);
  NNEX_TRY(Inference(graph).node(id));
  Value out;
  const Value* ins[] = {&in};
  Value* outs[] = {&out};
  Call call(def, attrs.get(), ins, outs);
  NNEX_TRY(run_reference(call));
  return out;
}

std::string told(const Result<Value>& v) {
  if (!v.ok()) return v.error().message();
  std::string s;
  const auto add = [&](const Tensor& t) {
    s += std::string(name(t.dtype())) + t.shape().text();
    for (int64_t i = 0; i < t.count(); ++i) s += " " + element_text(t, i);
  };
  if (v->tensor()) add(*v->tensor());
  if (v->sequence())
    for (const Value& item : v->sequence()->items)
      for (size_t i = 0; i < item.map()->values.size(); ++i)
        s += (i           ? ", "
              : s.empty() ? ""
                          : "; ") +
             element_text(item.map()->keys, static_cast<int64_t>(i)) + ": " +
             element_text(*item.map()->values[i].tensor(), 0);
  return s;
}

Map map_of(const Tensor& keys, const std::vector<float>& values) {
  Map m{keys, {}};
  for (float v : values) m.values.emplace_back(Tensor::scalar(v));
  return m;
}

TEST(Maps, ZipMap) {
  const Tensor x = Tensor::of<float>(Shape{2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(told(run_value("zip_map", x, {{"keys", longs({9, 3})}})), "3: 2, 9: 1; 3: 4, 9: 3");  // keys ascend
  EXPECT_EQ(told(run_value("zip_map", x, {{"keys", texts({"b", "a"})}})), "\"a\": 2, \"b\": 1; \"a\": 4, \"b\": 3");
  EXPECT_EQ(told(run_value("zip_map", floats({5}), {{"keys", texts({"b"})}})), "\"b\": 5");
  EXPECT_EQ(told(run_value("zip_map", x, {{"keys", longs({1})}})), "zip_map: x has 2 columns; there are 1 keys");
  EXPECT_EQ(told(run_value("zip_map", x, {{"keys", longs({1, 1})}})), "zip_map: a key is given twice");
}

TEST(Maps, CastMap) {
  const Map m = map_of(longs({1, 4}), {0.5F, 2.25F});
  EXPECT_EQ(told(run_value("cast_map", m, {})), "f32[1,2] 0.5 2.25");
  EXPECT_EQ(told(run_value("cast_map", m, {{"to", DType::str}})), "str[1,2] \"0.5\" \"2.25\"");
  EXPECT_EQ(told(run_value("cast_map", m, {{"to", DType::i64}, {"sparse", true}, {"length", int64_t{6}}})),
            "i64[1,6] 0 0 0 0 2 0");
  EXPECT_EQ(told(run_value("cast_map", m, {{"sparse", true}, {"length", int64_t{4}}})),
            "cast_map: key 4 is outside [0, 4)");
  EXPECT_EQ(told(run_value("cast_map", map_of(texts({"a"}), {1}), {})), "cast_map: keys are str; needed i64");
}

TEST(Maps, DictVectorizer) {
  const Map m = map_of(texts({"a", "c"}), {4, 8});
  EXPECT_EQ(told(run_value("dict_vectorizer", m, {{"vocabulary", texts({"a", "c", "b", "z"})}})), "f32[1,4] 4 8 0 0");
  EXPECT_EQ(told(run_value("dict_vectorizer", map_of(longs({5}), {1}), {{"vocabulary", longs({4, 5})}})),
            "f32[1,2] 0 1");
  EXPECT_EQ(told(run_value("dict_vectorizer", m, {{"vocabulary", longs({1})}})),
            "dict_vectorizer: keys are str; the vocabulary is i64");
}

}  // namespace
}  // namespace nnex
