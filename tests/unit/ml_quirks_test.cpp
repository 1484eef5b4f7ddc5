// Operators of ai.onnx.ml that are sentences over other rows, from a model's bytes to its answer.

#include <gtest/gtest.h>

#include <cmath>

#include "nnex/model.h"
#include "onnx_bytes.h"
#include "tensor/convert.h"
#include "tensor_of.h"

namespace nnex {
namespace {

using namespace test::onnx;
using test::f;

std::string fixed(float v) { return raw_bytes(std::vector<float>{v}); }

std::string real(std::string_view name, float v) {
  return msg(5, msg(1, name) + varint(2 << 3 | 5) + fixed(v) + num(20, 1));
}
std::string integer(std::string_view name, int64_t v) { return attr_int(name, v); }
std::string word(std::string_view name, std::string_view v) { return msg(5, msg(1, name) + msg(4, v) + num(20, 3)); }
std::string reals(std::string_view name, const std::vector<float>& v) {
  std::string items;
  for (float x : v) items += varint(7 << 3 | 5) + fixed(x);
  return msg(5, msg(1, name) + items + num(20, 6));
}
std::string ints(std::string_view name, const std::vector<int64_t>& v) {
  std::string items;
  for (int64_t x : v) items += num(8, x);
  return msg(5, msg(1, name) + items + num(20, 7));
}
std::string words(std::string_view name, const std::vector<std::string>& v) {
  std::string items;
  for (const std::string& x : v) items += msg(9, x);
  return msg(5, msg(1, name) + items + num(20, 8));
}

int64_t number_of(DType t) {
  return t == DType::f32 ? 1 : t == DType::i32 ? 6 : t == DType::f64 ? 11 : t == DType::i64 ? 7 : 8;
}

std::string shown(const Value& v) {
  if (!v.tensor()) return v.text();
  std::string s = v.text();
  for (int64_t i = 0; i < v.tensor()->count(); ++i) s += " " + element_text(*v.tensor(), i);
  return s;
}

/// Every answer of a model of one node; its outputs declare only their types, no extents.
std::string run(std::string_view op, const std::string& attrs, const std::vector<Tensor>& inputs,
                std::vector<int64_t> outputs = {1}, int64_t version = 3, std::string_view domain = "ai.onnx.ml") {
  test::onnx::Graph g;
  std::vector<std::string> in, out;
  std::vector<Value> fed;
  for (size_t i = 0; i < inputs.size(); ++i) {
    in.push_back("x" + std::to_string(i));
    const Shape& s = inputs[i].shape();
    g.inputs.push_back(value(in.back(), {s.begin(), s.end()}, number_of(inputs[i].dtype())));
    fed.emplace_back(inputs[i]);
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    out.push_back("y" + std::to_string(o));
    g.outputs.push_back(outputs[o] ? msg(1, out.back()) + msg(2, msg(1, num(1, outputs[o]))) : msg(1, out.back()));
  }
  g.nodes = {node(op, in, out, attrs, domain)};
  auto m = Model::from_bytes(model(g, domain.empty() ? "" : opset(domain, version), domain.empty() ? version : 17));
  if (!m.ok()) return m.error().message();
  auto answers = m->session().run(fed);
  if (!answers.ok()) return answers.error().message();
  std::string s;
  for (const Value& v : *answers) s += (s.empty() ? "" : "; ") + shown(v);
  return s;
}

Tensor i(const std::vector<int64_t>& v) { return Tensor::of(Shape{static_cast<int64_t>(v.size())}, v); }
Tensor t(const std::vector<std::string>& v) { return Tensor::of(Shape{static_cast<int64_t>(v.size())}, v); }

TEST(MlQuirks, Encoders) {
  EXPECT_EQ(
      run("LabelEncoder", words("classes_strings", {"a", "b"}) + integer("default_int64", 9), {t({"b", "z"})}, {7}, 1),
      "i64[2] 1 9");
  EXPECT_EQ(run("LabelEncoder", words("classes_strings", {"a", "b"}), {i({0, 5})}, {8}, 1), "str[2] \"a\" \"_Unused\"");
  EXPECT_EQ(
      run("LabelEncoder", reals("keys_floats", {1, 2}) + words("values_strings", {"x", "y"}), {f({2}, {2, 3})}, {8}, 2),
      "str[2] \"y\" \"_Unused\"");
  EXPECT_EQ(
      run("CategoryMapper", words("cats_strings", {"a", "b"}) + ints("cats_int64s", {7, 8}), {t({"b", "c"})}, {7}),
      "i64[2] 8 -1");
  EXPECT_EQ(run("CategoryMapper", words("cats_strings", {"a", "b"}) + ints("cats_int64s", {7, 8}), {i({7, 1})}, {8}),
            "str[2] \"a\" \"_Unused\"");
  EXPECT_EQ(run("OneHotEncoder", ints("cats_int64s", {4, 5}), {i({5, 4, 9})}), "f32[3,2] 0 1 1 0 0 0");
  EXPECT_EQ(run("OneHotEncoder", ints("cats_int64s", {4, 5}), {f({1, 2}, {5.7F, 4})}), "f32[1,2,2] 0 1 1 0");
  EXPECT_EQ(run("OneHotEncoder", words("cats_strings", {"a"}) + integer("zeros", 0), {t({"b"})}),
            "label_encoder: \"b\" is not among the 1 keys");
}

TEST(MlQuirks, Features) {
  const Tensor x = f({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run("ArrayFeatureExtractor", "", {x, i({2, 0})}), "f32[2,2] 3 1 6 4");
  EXPECT_EQ(run("ArrayFeatureExtractor", "", {f({3}, {1, 2, 3}), i({1})}), "f32[1,1] 2");
  EXPECT_EQ(run("Binarizer", real("threshold", 3), {x}), "f32[2,3] 0 0 0 1 1 1");
  EXPECT_EQ(run("Binarizer", real("threshold", -0.5F), {i({-1, 0, 1})}, {7}), "i64[3] 0 1 1");
  EXPECT_EQ(run("FeatureVectorizer", ints("inputdimensions", {2, 1}), {x, Tensor::of<int64_t>(Shape{2, 1}, {8, 9})}),
            "f32[2,3] 1 2 8 4 5 9");
  EXPECT_EQ(run("FeatureVectorizer", "", {f({2}, {1, 2}), f({1}, {3})}), "f32[1,3] 1 2 3");
  EXPECT_EQ(
      run("Imputer", reals("imputed_value_floats", {7}) + real("replaced_value_float", NAN), {f({3}, {1, NAN, 3})}),
      "f32[3] 1 7 3");
  EXPECT_EQ(run("Imputer", reals("imputed_value_floats", {7, 8, 9}) + real("replaced_value_float", 5), {x}),
            "f32[2,3] 1 2 3 4 8 6");
  EXPECT_EQ(run("Imputer", ints("imputed_value_int64s", {-1}) + integer("replaced_value_int64", 2), {i({1, 2})}, {7}),
            "i64[2] 1 -1");
  EXPECT_EQ(run("Normalizer", word("norm", "MAX"), {f({3, 2}, {1, -4, -2, -4, 0, 0})}), "f32[3,2] 1 -4 1 2 0 0");
  EXPECT_EQ(run("Normalizer", word("norm", "L1"), {f({2, 2}, {1, -3, 0, 0})}), "f32[2,2] 0.25 -0.75 0 0");
  EXPECT_EQ(run("Scaler", reals("offset", {1, 2, 3}) + reals("scale", {10}), {x}), "f32[2,3] 0 0 0 30 30 30");
}

TEST(MlQuirks, Models) {
  const Tensor x = f({2, 2}, {1, 2, -3, 4});
  EXPECT_EQ(run("LinearRegressor", reals("coefficients", {1, 10}) + reals("intercepts", {0.5F}), {x}),
            "f32[2,1] 21.5 37.5");
  EXPECT_EQ(run("LinearClassifier",
                reals("coefficients", {1, 0}) + reals("intercepts", {0}) + words("classlabels_strings", {"no", "yes"}) +
                    word("post_transform", "LOGISTIC"),
                {f({1, 2}, {0, 2})}, {8, 1}),
            "str[1] \"no\"; f32[1,2] 0.5 0.5");
  EXPECT_EQ(run("SVMRegressor",
                reals("coefficients", {2}) + reals("support_vectors", {1, 1}) + reals("rho", {1}) +
                    integer("n_supports", 1) + word("kernel_type", "LINEAR"),
                {x}),
            "f32[2,1] 7 3");
  EXPECT_EQ(
      run("SVMClassifier",
          reals("coefficients", {1, -1}) + reals("support_vectors", {1, 0, -1, 0}) + reals("rho", {0.5F}) +
              ints("vectors_per_class", {1, 1}) + ints("classlabels_ints", {4, 7}) + word("kernel_type", "LINEAR"),
          {x}, {7, 1}),
      "i64[2] 4 7; f32[2,2] -2.5 2.5 5.5 -5.5");
  EXPECT_EQ(run("ZipMap", ints("classlabels_int64s", {1, 2}), {x}, {0}), "sequence of 2");
}

/// Defaults would be computed in their place.
TEST(MlQuirks, AttributesThatTheyDoNotHaveAreRefused) {
  const Tensor x = f({1, 2}, {1, -3});
  EXPECT_EQ(run("Normalizer", word("nrom", "L1"), {x}), "Normalizer: it has no attribute 'nrom'");
  EXPECT_EQ(run("Normalizer", integer("norm", 1), {x}), "Normalizer: attribute 'norm' is an integer; needed a text");
  EXPECT_EQ(run("Scaler", reals("offset", {1}) + word("__note", "of a tool"), {x}), "f32[1,2] 0 -4");
}

TEST(MlQuirks, NodesWithoutInputsAreRefused) {
  for (const char* op :
       {"LabelEncoder", "CategoryMapper", "OneHotEncoder", "ArrayFeatureExtractor", "Binarizer", "FeatureVectorizer",
        "Imputer", "SVMClassifier", "SVMRegressor", "ZipMap", "DictVectorizer", "CastMap", "LinearClassifier",
        "LinearRegressor", "Normalizer", "Scaler", "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"}) {
    const std::string said = run(op, "", {});
    EXPECT_NE(said.find("required"), said.npos) << op << ": " << said;
  }
}

}  // namespace
}  // namespace nnex
