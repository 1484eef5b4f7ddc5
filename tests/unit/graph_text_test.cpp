// Graph text: tokens and rules, errors with their places, and printing that reads back.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "api/read.h"
#include "base/faults.h"
#include "graph/infer.h"
#include "graph/text/build.h"
#include "graph/text/printer.h"
#include "nnex/graph.h"
#include "nnex/model.h"
#include "run/compile.h"
#include "source.h"

namespace nnex::graph_text {
namespace {

std::string shown_error(const Error& e) { return e.where() + ": " + e.message(); }

/// The text after reading and printing; or the error.
std::string again(std::string_view text, const PrintOptions& options = {}) {
  auto g = read_graph(text, "g");
  return g.ok() ? print(*g, options) : shown_error(g.error());
}

TEST(GraphText, PrintsWhatItReads) {
  const char* texts[] = {
      "graph main(x: f32[N,2]) -> (y)\n{\n  y = relu(x);\n}\n",
      // Names that are no identifiers, values without names, a value named like one of those.
      "graph main 'torch-jit'(in_0 'in:0': f32[2*N+1,'floor(H/2)',3], _1: i64[?]) -> (_2, in_)\n{\n"
      "  _2 = neg(in_0);\n  in_ 'in' = abs(in_0);\n}\n",
      "graph main(x: f32[2]) -> (y, z)\n{\n  w = f32[2](1.0, -0.5);\n  y = add(x, w);\n  z = mul(y, f32[](nan));\n}\n",
      "graph main(x: f32[4,4]) -> (y)\n{\n  y: f32[2,2] = max_pool(x, size = [2, 2], padding = [(0,0), (0,1)], border "
      "= "
      "'ignore', ceil = true);\n}\n",
      "graph main(x: f32[2,6]) -> (a, c)\n{\n  [a, none, c] = split(x, axis = 1);\n}\n",
      "graph main(x: f32[3], n: i64[]) -> (s, t)\n{\n  [s, t] = loop(count = n, state = [x], body = graph (i: i64[], "
      "go: "
      "bool[], v) -> (go, u, u)\n  {\n    u = mul(v, x);\n  });\n}\n",
      "graph main(x: f32[?]) -> (y)\n{\n  [y] = custom 'com.example:Rotate:'([x, none], angle = 0.25, axes = [1, 2], "
      "'odd-name' = 'it\\'s');\n}\n",
      "graph main(a: sequence(f32[?]), b: map(i64, str[?]), c: optional(bool[]), d: sparse f32[3]) -> (a, b, c, "
      "d)\n{\n}\n",
  };
  for (const char* text : texts) {
    SCOPED_TRACE(text);
    const std::string first = again(text);
    EXPECT_EQ(again(first), first);
    EXPECT_EQ(first, text);
  }
}

TEST(GraphText, ExtentsThatAreComputedReadBack) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[N,3,H,W]");
  const ValueId w = *g.add_constant(Tensor::of<float>(Shape{1, 3, 1, 1}, {1, 2, 3}));
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("conv", {x, w}, {{"stride", Ints{2, 2}}})}}).ok());
  const std::string text = g.text();
  EXPECT_NE(text.find("'floor("), std::string::npos) << text;
  auto again = Graph::parse(text);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->text(), text);
}

TEST(GraphText, TensorsKeepTheirBits) {
  const char* literals[] = {
      "f32[3](nan, -inf, -0.0)",
      "f64[2](0.1, 1e-320)",
      "f16[2](65504.0, 6e-08)",
      "u64[1](18446744073709551615)",
      "i4[3](-8, 7, 1)",
      "bool[2](true, false)",
      "str[2]('a\\x0ab', '')",
      // UTF-8 as it is, all other bytes as escapes: alone, cut off, longer than need be, halves of UTF-16, beyond
      // Unicode.
      "str[7]('\xc3\xbc\xe2\x82\xac\xf0\x9f\x8e\x89', '\\xff', 'a\\xe2\\x82', '\\xc0\\x80', '\\xed\\xa0\\x80', "
      "'\\xf4\\x90\\x80\\x80', '\\x00')",
      "c64[1]((1.5,-2))",
      "i64[0]()",
      "f32[]('010000ff')",
      "f8e4m3fn[2](448.0, nan)",
      "i64[](-9223372036854775808)",
      "f32[1]('0100c07f')",
  };
  for (const char* text : literals) {
    SCOPED_TRACE(text);
    auto e = parse_expression(text, "t");
    ASSERT_TRUE(e.ok()) << e.error().text();
    const std::string shown = literal(*e->tensor);
    auto back = parse_expression(shown, "t");
    ASSERT_TRUE(back.ok()) << shown;
    EXPECT_TRUE(same(AttrValue(*e->tensor), AttrValue(*back->tensor))) << shown;
    if (std::string_view(text).starts_with("str")) {
      EXPECT_EQ(shown, text);
    }
  }
  auto odd = parse_expression("f32[1]('0100c07f')", "t");
  EXPECT_EQ(literal(*odd->tensor), "f32[1]('0100c07f')") << "a NaN with bits of its own";
}

TEST(GraphText, ErrorsSayWhereAndWhatWasNeeded) {
  const struct {
    const char *text, *says;
  } rows[] = {
      {"", "g:1:1: found the end; needed 'graph'"},
      {"graph g(x) -> (y)\n{ y = relu(x) }", "g:2:15: found '}'; needed ';'"},
      {"graph g(x) -> (y) { y = relu(x,); }", "g:1:32: found ')'; needed a value"},
      {"graph g(x) -> (y) { y = nothing(x); }", "g:1:25: no operator is called 'nothing'"},
      {"graph g(x) -> (y) { y = relo(x); }", "g:1:25: no operator is called 'relo' (did you mean 'relu'?)"},
      {"graph g(x) -> (y) { y = relu(z); }", "g:1:30: nothing is called 'z'"},
      {"graph g(x) -> (y) { y = relu(x, alpha = 1); }", "g:1:25: relu has no input and no attribute 'alpha'"},
      {"graph g(x) -> (y) { y = relu(x, x); }", "g:1:25: relu takes 1 inputs; found argument 2"},
      {"graph g(x) -> (y) { y = relu(); }", "g:1:25: relu needs input 'x'"},
      {"graph g(x) -> (y) { y = softmax(x, axes = 'a'); }", "g:1:25: softmax: attribute 'axes' (ints) cannot be 'a'"},
      {"graph g(x) -> (y) { y = x; y = x; }", "g:1:28: 'y' is assigned twice"},
      {"graph g(x) -> (z) { y = neg(x); }", "g:1:16: nothing is called 'z'"},
      {"graph g(x) -> (y) { (y, z) = neg(x); }", "g:1:30: neg has 1 outputs; 2 are assigned"},
      {"graph g(x) -> (y) { y = 99999999999999999999; }", "g:1:25: 99999999999999999999 does not fit in 64 bits"},
      {"graph g(x) -> (y) { y = 'a\n'; }", "g:1:25: the string does not end in its line"},
      {"graph g(x) -> (y) { y = Gemm(x); }", "g:1:25: no operator is called 'Gemm'; ONNX's Gemm is 'linear'"},
      {"graph g(x) -> (y) { y = neg(x); @ }", "g:1:33: '@' begins nothing"},
      {"graph g(x) -> (y) { y = com.example:Foo(x); }",
       "g:1:28: '.' begins nothing; an operator of a domain is written custom 'com.example:Name:'(...)"},
      {"graph g(x) -> (y) { y = f32[1000000000](1); }", "g:1:25: 1000000000 elements; the text is too short for them"},
      {"graph g(x) -> (y) { y = i8[1](200); }", "g:1:31: 200 does not fit in i8"},
      {"graph g(x) -> (y) { y = f32[3](...); }", "g:1:32: the tensor's elements were left out of this text"},
      {"graph g(x) -> (y) { if = x; }", "g:1:21: 'if' is a keyword; needed a name"},
      {"graph g(x: f33[2]) -> (x) { }", "g:1:12: 'f33' is no element type"},
      {"graph g(x) -> (y) { y = [1, 2][2]; }", "g:1:31: index 2 is outside [0, 2)"},
      {"graph g(x) -> (y) { y = 1 / 0; }", "g:1:27: 1 / 0 has no value"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    auto g = read_graph(row.text, "g");
    ASSERT_FALSE(g.ok());
    EXPECT_EQ(shown_error(g.error()), row.says);
  }
}

TEST(GraphText, ErrorsInFragmentsTellTheirCalls) {
  const std::string head =
      "version 1.0;\nextension KHR_enable_fragment_definitions KHR_enable_operator_expressions;\n"
      "fragment f(x: tensor<scalar>, a: integer[]) -> (y: tensor<scalar>) { y = softmax(x, axes = [a[2]]); }\n"
      "fragment h(x: tensor<scalar>) -> (y: tensor<scalar>) { y = f(x, a = [1, 2]); }\n"
      "graph g(x) -> (y) { y = ";
  const struct {
    const char *call, *says;
  } rows[] = {
      {"h(x)", "g:3:94: index 2 is outside [0, 2)\n  while in f at g:4:60\n  while in h at g:5:25"},
      {"f(x)", "g:5:25: 'f' needs 'a'"},
      {"f(x, b = [1])", "g:5:34: 'f' has no parameter 'b'"},
      {"f(x, [1], [2])", "g:5:35: 'f' takes 2 arguments"},
      {"f(x, x = x, a = [1])", "g:5:34: 'x' of 'f' is given twice"},
      {"f(x, a = [for i in [1, 2], j in [3] yield i])", "g:5:57: a loop over arrays of 2 and 1 items"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.call);
    auto g = read_graph(head + row.call + "; }", "g");
    ASSERT_FALSE(g.ok());
    EXPECT_EQ(g.error().text(), row.says);
  }
}

TEST(GraphText, NothingBlowsTheStackOrTheMemory) {
  auto code = [](const std::string& text) {
    auto g = read_graph(text, "g");
    return g.ok() ? Code::internal : g.error().code();
  };
  const std::string head = "graph g(x: f32[2]) -> (y) { ";
  EXPECT_EQ(code(head + "y = " + std::string(100000, '(') + "x"), Code::limit);
  EXPECT_EQ(code(head + "y = " + std::string(100000, '[')), Code::limit);
  EXPECT_EQ(code(head + "y = " + std::string(100000, '-') + "x;"), Code::limit);
  EXPECT_EQ(code(head + std::string(100000, '[') + "y"), Code::limit);
  std::string sum = "x", index = "x", doubling = "a0 = [1, 1]; ", deep = "a0 = [1]; ";
  for (int i = 0; i < 5000; ++i) sum += " + x", index += "[0]";
  for (int i = 0; i < 60; ++i) doubling += fmt::format("a{} = [a{}, a{}]; ", i + 1, i, i);
  for (int i = 0; i < 60; ++i) deep += fmt::format("a{} = [a{}]; ", i + 1, i);
  EXPECT_EQ(code(head + "y = " + sum + ";"), Code::limit);
  EXPECT_EQ(code(head + "y = " + index + ";"), Code::limit);
  EXPECT_EQ(code(head + doubling + "}"), Code::limit);
  EXPECT_EQ(code(head + deep + "}"), Code::limit);
  std::string bomb = "fragment f0(x: tensor<scalar>) -> (y: tensor<scalar>) { y = neg(x); }\n";
  for (int i = 1; i < 40; ++i)
    bomb +=
        fmt::format("fragment f{}(x: tensor<scalar>) -> (y: tensor<scalar>) {{ y = f{}(f{}(x)); }}\n", i, i - 1, i - 1);
  BuildLimits small;
  small.nodes = 1000;
  auto g = read_graph(bomb + head + "y = f39(x); }", "g", {}, small);
  ASSERT_FALSE(g.ok());
  EXPECT_EQ(g.error().code(), Code::limit);
  EXPECT_EQ(code("fragment f(x: tensor<scalar>) -> (y: tensor<scalar>) { y = f(x); }\n" + head + "y = f(x); }"),
            Code::limit);
}

TEST(GraphText, FragmentsAndExpressionsBecomeNodes) {
  const char* text =
      "version 1.0;\nextension KHR_enable_fragment_definitions KHR_enable_operator_expressions;\n"
      "fragment scaled(x: tensor<scalar>, by: scalar[] = [2.0, 4.0]) -> (y: tensor<scalar>)\n"
      "{\n  parts = [for b in by if b > 1.0 yield x * b];\n"
      "  y = parts[0] + parts[1] if length_of(parts) == 2 else x;\n}\n"
      "graph g(x: f64[2]) -> (y) { y = scaled(x) ^ 2 - -x; }";
  auto g = read_graph(text, "g");
  ASSERT_TRUE(g.ok()) << g.error().text();
  auto model = compile(std::move(g).value());
  ASSERT_TRUE(model.ok()) << model.error().text();
  std::vector<Value> in = {Value(Tensor::of<double>(Shape{2}, {1, -3}))};
  auto out = model->session().run(in);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor()->as<double>()[0], 37);   // (2 + 4)^2 + 1
  EXPECT_EQ((*out)[0].tensor()->as<double>()[1], 321);  // 18^2 - 3
}

TEST(GraphText, ModelsReadBack) {
  size_t models = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_dir() + "/models")) {
    if (entry.path().extension() != ".onnx" || entry.file_size() > 1 << 20) continue;
    SCOPED_TRACE(entry.path());
    auto graph = read_model(entry.path().string(), {});
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    Faults faults;
    infer_types(*graph, faults);
    const std::string text = print(*graph);
    auto back = read_graph(text, "g");
    ASSERT_TRUE(back.ok()) << back.error().text() << text.substr(0, 2000);
    EXPECT_EQ(print(*back), text);
    ++models;
  }
  EXPECT_GT(models, 0u);
}

}  // namespace
}  // namespace nnex::graph_text
