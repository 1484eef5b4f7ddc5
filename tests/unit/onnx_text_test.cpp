// ONNX's textual syntax: what it says, what is said of faults in it, and that models come back from it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "nnex/check.h"
#include "nnex/model.h"
#include "nnex/save.h"
#include "onnx_bytes.h"
#include "standards/onnx/text.h"
#include "stored.h"
#include "stored_networks.h"

namespace nnex {
namespace {

using test::onnx::attr_int;
using test::onnx::kFloat;
using test::onnx::model;
using test::onnx::msg;
using test::onnx::node;
using test::onnx::num;
using test::onnx::value;

using Messages = test::onnx::Graph;
using onnx_format::parse_model_text;
using onnx_format::print_model_text;

std::string printed(const std::string& model) {
  const auto text = print_model_text(model);
  EXPECT_TRUE(text.ok()) << text.error().text();
  return text.ok() ? text->text : "";
}

std::string parsed(std::string_view text) {
  const auto model = parse_model_text(text);
  EXPECT_TRUE(model.ok()) << model.error().text();
  return model.ok() ? *model : "";
}

std::string fault(std::string_view text) {
  const auto model = parse_model_text(text);
  EXPECT_FALSE(model.ok()) << text;
  return model.ok() ? "" : model.error().text();
}

// The example of the standard's document, as people write it: comments, both places of attributes.
TEST(OnnxText, RunsAsItIsWritten) {
  constexpr std::string_view kText = R"(
# y = softmax(x w + b)
<
  ir_version: 7,
  opset_import: [ "" : 13 ]   # one domain
>
agraph (float[N, 2] X, float[2, 2] W, float[2] B = {0, -1e0}) => (float[N, 2] C)
<float[2,2] two = {2, 2., 2.0, 2e0}, float[N,2] T>
{
    [product] T = MatMul(X, W)
    S = Add(T, B)
    row = ReduceMean<axes = [0], keepdims = 0> (two)
    D = Mul (S, row)
    C = Softmax(D) <axis = -1>
})";
  const auto model = Model::from_bytes(kText);
  ASSERT_TRUE(model.ok()) << model.error().text();
  const auto out = model->session().run(
      std::vector<Value>{Tensor::of<float>({1, 2}, {1, 0}), Tensor::of<float>({2, 2}, {1, 1, 0, 0})});
  ASSERT_TRUE(out.ok()) << out.error().text();
  const double first = 1 / (1 + std::exp(-2.0));  // of the softmax of 2 and 0
  EXPECT_NEAR((*out)[0].tensor()->as<float>()[0], first, 1e-6);
  EXPECT_NEAR((*out)[0].tensor()->as<float>()[1], 1 - first, 1e-6);
  const std::string again = printed(parsed(kText));
  EXPECT_EQ(printed(parsed(again)), again);
}

TEST(OnnxText, EveryKindOfValue) {
  constexpr std::string_view kText =
      R"(<
  ir_version: 10,
  producer_name: "a \"quoted\" name \\",
  domain: "d",
  model_version: -3,
  opset_import: ["" : 21, "f" : 1, "ai.onnx.ml" : 3],
  metadata_props: ["k": "v", "": ""]
>
"a graph" (float[N, 3, ?] x, int8[] "float") => (seq(map(int64, string[2])) s, optional(float[]) o, sparse_tensor(double[4]) p, opaque(a.b, C) q, bool t)
<
  float8e4m3fn[2] w = {0, 255},
  int4[3] packed = {18, 3},
  string[2] words = {"a\"b\\", ""},
  int64 scalar = {-9223372036854775808},
  uint64[1] big = {18446744073709551615},
  double[3] reals = {nan, -inf, 1e-300},
  float[0] none = {},
  float[512] outside = ["location": "w.data", "offset": "4096"],
  int8[] info>
{
  [label] a, "", "b c" = ai.onnx.ml.Op:over <i: int = -1, f: float = 2.0, s: string = "t", ints: ints = [], fs: floats = [1.0, 1e-20, inf], ss: strings = ["a", "b"], t: tensor = float[2] {1, 2}, ts: tensors = [int32 named {7}], ty: type_proto = float[?], tys: type_protos = [seq(float), int8[]]> (x, "", w)
  y = If (t) <then_branch: graph = g () => (float y1)
    {
      y1 = Identity (x)
    }, gs: graphs = [h () => ()
    {
    }]>
}

<
  domain: "f",
  doc_string: "says",
  opset_import: ["" : 21]
>
body <alpha, beta: float = 1.5> (a, b) => (c)
<float[N] c>
{
  c = LeakyRelu <alpha: float = @alpha> (a)
}
)";
  const std::string again = printed(parsed(kText));
  EXPECT_EQ(printed(parsed(again)), again);
  for (const char* part : {"producer_name: \"a \\\"quoted\\\" name \\\\\"",
                           "model_version: -3",
                           "\"a graph\" (float[N,",
                           "int8[] \"float\"",
                           "seq(map(int64, string[2])) s",
                           "optional(float[]) o",
                           "sparse_tensor(double[4]) p",
                           "opaque(a.b, C) q",
                           "bool t)",
                           "float8e4m3fn[2] w = {0, 255}",
                           "int4[3] packed = {18, 3}",
                           "{\"a\\\"b\\\\\", \"\"}",
                           "int64 scalar = {-9223372036854775808}",
                           "{18446744073709551615}",
                           "{nan, -inf, 1e-300}",
                           "float[0] none = {}",
                           "outside = [\"location\": \"w.data\", \"offset\": \"4096\"]",
                           "int8[] info",
                           "[label] a, \"\", \"b c\" = ai.onnx.ml.Op:over",
                           "f: float = 2.0",
                           "ints: ints = []",
                           "fs: floats = [1.0, 1e-20, inf]",
                           "t: tensor = float[2] {1, 2}",
                           "ts: tensors = [int32 named {7}]",
                           "ty: type_proto = float[?]",
                           "tys: type_protos = [seq(float), int8[]]",
                           "(x, \"\", w)",
                           "then_branch: graph = g",
                           "gs: graphs = [h",
                           "doc_string: \"says\"",
                           "body <alpha, beta: float = 1.5> (a, b) => (c)",
                           "= @alpha"})
    EXPECT_NE(again.find(part), std::string::npos) << part << "\nin\n" << again;
}

// Fields without words are told; what a network computes with is refused.
TEST(OnnxText, WhatItCannotSay) {
  const Messages g{{node("Neg", {"x"}, {"y"}, msg(6, "doc") + msg(99, "later"))}, {value("x", {1})}, {value("y", {1})}};
  const auto text = print_model_text(model(g, msg(20, msg(1, g.bytes()))));
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->left_out, (std::vector<std::string>{"field 99 of node", "model.training_info", "node.doc_string"}));
  for (const auto& [what, broken] : std::vector<std::pair<std::string, std::string>>{
           {"sparse initializers", model({{}, {}, {}}) + msg(7, msg(15, ""))},
           {"the operator 'a b' of ''", model({{node("a b", {}, {"y"})}, {}, {}})},
           {"the operator 'Op' of 'my-domain'", model({{node("Op", {}, {"y"}, {}, "my-domain")}, {}, {}})},
           {"the attribute 'a-b'", model({{node("Op", {}, {"y"}, attr_int("a-b", 1))}, {}, {}})},
           {"element type 99", model({{}, {value("x", {1}, 99)}, {}})},
           {"the value of the attribute 's' (type 11)",
            model({{node("Op", {}, {"y"}, msg(5, msg(1, "s") + num(20, 11)))}, {}, {}})}}) {
    const auto refused = print_model_text(broken);
    ASSERT_FALSE(refused.ok()) << what;
    EXPECT_EQ(refused.error().code(), Code::unsupported);
    EXPECT_NE(refused.error().message().find(what), std::string::npos) << refused.error().message();
  }
}

/// Words say the sign of a NaN; the rest of its bits is told where it is not that of "nan".
TEST(OnnxText, PayloadsOfNanAreTold) {
  const auto printed = [](std::string_view raw) {
    const std::string t = msg(8, "w") + num(2, kFloat) + num(1, static_cast<int64_t>(raw.size() / 4)) + msg(9, raw);
    return print_model_text(model({{node("Neg", {"w"}, {"y"})}, {}, {value("y", {1})}, {t}}));
  };
  const auto plain = printed(std::string_view("\0\0\xc0\x7f\0\0\xc0\xff\0\0\x80\xff", 12));
  ASSERT_TRUE(plain.ok());
  EXPECT_NE(plain->text.find("{nan, -nan, -inf}"), std::string::npos) << plain->text;
  EXPECT_EQ(plain->left_out, std::vector<std::string>());
  const auto other = printed(std::string_view("\1\0\xc0\x7f\0\0\xc0\xff\1\0\x80\xff", 12));
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->left_out, std::vector<std::string>{"2 times the payload of a NaN"});
}

TEST(OnnxText, OneRealNumberMakesAListReal) {
  const std::string text =
      printed(parsed("g () => () { y = Op <a = [1, 2.5, -3], b = [1, -2], c = [1.5, 2], d: floats = [1]> () }"));
  for (const char* part :
       {"a: floats = [1.0, 2.5, -3.0]", "b: ints = [1, -2]", "c: floats = [1.5, 2.0]", "d: floats = [1.0]"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

TEST(OnnxText, FaultsHaveTheirPlace) {
  EXPECT_EQ(fault(""), "line 1, column 1: found the end of the text; needed a graph's name");
  EXPECT_EQ(fault("<ir_version: 8>\ng (x) = (y) {}"), "line 2, column 7: found '='; needed '=>'");
  EXPECT_EQ(fault("<ir_versio: 8>"), "line 1, column 2: found 'ir_versio'; needed a key of a model");
  EXPECT_EQ(fault("<overload: \"\">"), "line 1, column 2: found 'overload'; needed a key of a model");
  EXPECT_EQ(fault("<ir_version: \"8\">"), "line 1, column 14: found '\"'; needed a number");
  EXPECT_EQ(fault("<ir_version: 8.5>"), "line 1, column 17: found 8.5; needed a whole number");
  EXPECT_EQ(fault("<ir_version: 99999999999999999999>"),
            "line 1, column 34: found 99999999999999999999, which is out of range");
  EXPECT_EQ(fault("g () => () { y = Op(x }"), "line 1, column 23: found '}'; needed ')'");
  EXPECT_EQ(fault("g () => () { y = Op <a = []> () }"),
            "line 1, column 28: found an empty list; needed its type before '='");
  EXPECT_EQ(fault("g () => () { y = Op <a: ints = [1.5]> () }"),
            "line 1, column 36: found a value of type float; needed int");
  EXPECT_EQ(fault("g () => () { y = Op <a: number = 1> () }"),
            "line 1, column 25: found 'number'; needed a type of attributes");
  EXPECT_EQ(fault("g () => () <float[N] w = {1}> {}"),
            "line 1, column 25: found a constant with an open extent; needed numbers");
  EXPECT_EQ(fault("g () => () <int8[1] w = {1, x}> {}"), "line 1, column 29: found 'x'; needed a number");
  EXPECT_EQ(fault("g () => () <w = {1}> {}"),
            "line 1, column 16: found an initializer without a type; needed one before its name");
  EXPECT_EQ(fault("g () => (float \"y"), "line 1, column 16: found a text whose closing quote is missing");
  EXPECT_EQ(fault("g () => () {} more"), "line 1, column 19: found the end of the text; needed '('");
  std::string deep = "g () => () {";
  for (int i = 0; i < 100; ++i) deep += "y = If <b = g () => () {";
  EXPECT_EQ(fault(deep), "graphs are nested deeper than 64");
  std::string type = "g (";
  for (int i = 0; i < 100; ++i) type += "seq(";
  EXPECT_EQ(fault(type), "types are nested deeper than 64");
}

// Faults of the network are told as of any other model.
TEST(OnnxText, IsCheckedAsAModel) {
  const std::string text = "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = Relu(z) }";
  const auto report = check(ModelSource::memory(text));
  ASSERT_TRUE(report.ok()) << report.error().text();
  ASSERT_FALSE(report->faults.empty());
  EXPECT_EQ(report->faults[0].rule, "onnx/input-unknown");
}

class OnnxTextNetworks : public testing::TestWithParam<stored::Network> {};

TEST_P(OnnxTextNetworks, ComputesTheSame) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("nnex_text_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  ConvertOptions proven;
  proven.proof.emplace();
  proven.save.overwrite = Overwrite::replace;
  const auto done = convert((GetParam().folder / "model.onnx").string(), (folder / "a.onnxtxt").string(), proven);
  ASSERT_TRUE(done.ok()) << done.error().text();
  for (const Probe& p : done->proof->probes) EXPECT_NE(p.outcome, ProbeOutcome::differs) << p.name;
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(All, OnnxTextNetworks, testing::ValuesIn(stored::networks()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace nnex
