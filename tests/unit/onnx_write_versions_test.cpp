// The opset that a graph is written with as ONNX, and what is said in the words of an older one.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "api/export.h"
#include "api/read.h"
#include "cpu_time.h"
#include "nnex/check.h"
#include "nnex/edit.h"
#include "nnex/load.h"
#include "nnex/model.h"
#include "nnex/save.h"
#include "onnx_bytes.h"
#include "onnx_written.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

namespace fs = std::filesystem;
using namespace test::onnx_written;

/// The opset that the model is written with, once it was found sound by the forms of that opset.
int64_t opset_of(const std::string& bytes) {
  ir::Graph graph = read(bytes);
  auto model = to_onnx(graph, {});
  EXPECT_TRUE(model.ok()) << model.error().text();
  if (!model.ok()) return 0;
  const auto report = check(ModelSource::memory(model->model.text()));
  EXPECT_TRUE(report.ok());
  for (const Fault& f : report->faults) ADD_FAILURE() << f.text();
  return model->opset;
}

TEST(OnnxWriteVersions, TheLowestOpsetThatTakesEveryNode) {
  using test::onnx::attr_int;
  using test::onnx::node;
  using test::onnx::value;
  constexpr int64_t kU8 = 2, kU16 = 4, kText = 8, kBool = 9, kHalf = 10;
  const auto one = [](const std::string& n, const std::vector<std::string>& inputs, const std::string& output) {
    return test::onnx::model({{n}, inputs, {output}}, {}, 25, 13);
  };
  const auto texts = [](const char* name) { return value(name, {2}, kText); };
  const auto scale = [](const char* name) { return value(name, {}, kHalf); };
  const auto zero = [](const char* name) { return value(name, {}, kU8); };
  const auto tokens = [](const char* name) { return value(name, {1, 2, 4, 8}); };
  const struct {
    const char* name;
    std::string bytes;
    int64_t opset;
    bool has_formula = false;  ///< By which an earlier opset says it.
  } rows[] = {
      {"nothing new", one(node("Relu", {"x"}, {"y"}), {value("x", {2})}, value("y", {2})), 17},
      {"padding of named axes",
       one(node("Pad", {"x", "p", "", "a"}, {"y"}), {value("x", {2, 3}), value("p", {2}, 7), value("a", {1}, 7)},
           value("y", {-1, -1})),
       18},
      {"texts that are equal", one(node("Equal", {"x", "z"}, {"y"}), {texts("x"), texts("z")}, value("y", {2}, kBool)),
       19},
      {"the largest truth",
       one(node("ReduceMax", {"x"}, {"y"}), {value("x", {2, 3}, kBool)}, value("y", {1, 1}, kBool)), 20},
      {"steps of 16 bits",
       one(node("QuantizeLinear", {"x", "s", "z"}, {"y"}), {value("x", {4}), value("s", {}), value("z", {}, kU16)},
           value("y", {4}, kU16)),
       21, true},
      {"scales of half precision",
       one(node("QLinearMatMul", {"a", "as", "az", "b", "bs", "bz", "ys", "yz"}, {"y"}),
           {value("a", {2, 3}, kU8), scale("as"), zero("az"), value("b", {3, 2}, kU8), scale("bs"), zero("bz"),
            scale("ys"), zero("yz")},
           value("y", {2, 2}, kU8)),
       21, true},
      {"a convolution of bfloat16",
       one(node("Conv", {"x", "w"}, {"y"}), {value("x", {1, 1, 3, 3}, 16), value("w", {1, 1, 2, 2}, 16)},
           value("y", {1, 1, 2, 2}, 16)),
       22},
      {"lengths of keys",
       one(node("Attention", {"q", "k", "v", "", "", "", "n"}, {"y"}),
           {tokens("q"), tokens("k"), tokens("v"), value("n", {1}, 7)}, tokens("y")),
       24},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(opset_of(row.bytes), row.opset);
    ir::Graph graph = read(row.bytes);
    for (const int64_t asked : {row.opset, row.opset + 1}) {
      const auto model = to_onnx(graph, {{}, false, {}, asked});
      ASSERT_TRUE(model.ok()) << model.error().text();
      EXPECT_EQ(model->opset, asked);
    }
    if (row.opset == 17) continue;
    const auto model = to_onnx(graph, {{}, false, {}, row.opset - 1});
    ASSERT_EQ(model.ok(), row.has_formula);
    if (row.has_formula) continue;
    EXPECT_EQ(model.error().code(), Code::unsupported);
    EXPECT_NE(model.error().text().find(
                  fmt::format("is so from opset {} on; opset {} was asked for", row.opset, row.opset - 1)),
              std::string::npos)
        << model.error().text();
  }
}

/// What means other things in an older opset is said in the words that it has.
TEST(OnnxWriteVersions, WhatMeantOtherThingsIsSaidInOtherWords) {
  using namespace test::onnx;
  constexpr int64_t kHalf = 10;
  const auto norm = [](int64_t opset, int64_t scales, const std::vector<std::string>& weights, int64_t type = 1) {
    return test::onnx::model({{node("GroupNormalization", {"x", "s", "b"}, {"y"}, attr_int("num_groups", 2))},
                              {value("x", {2, 4, 3}, type), value("s", {scales}, type), value("b", {scales}, type)},
                              {value("y", {2, 4, 3}, type)},
                              weights},
                             {}, opset);
  };
  const auto weights = [](const std::vector<float>& s, const std::vector<float>& b) {
    const auto count = static_cast<int64_t>(s.size());
    return std::vector<std::string>{tensor("s", {count}, raw_bytes(s)), tensor("b", {count}, raw_bytes(b))};
  };
  const struct {
    const char* name;
    std::string bytes;
    std::vector<Shape> in;
    DType type;
  } rows[] = {
      {"scales by group", norm(18, 2, {}), {{2, 4, 3}, {2}, {2}}, DType::f32},
      {"constant scales by group", norm(18, 2, weights({1, -2}, {0.5, 1})), {{2, 4, 3}}, DType::f32},
      {"scales by channel", norm(21, 4, {}), {{2, 4, 3}, {4}, {4}}, DType::f32},
      {"constant scales by channel", norm(21, 4, weights({1, 2, 3, 4}, {0, 1, 0, 2})), {{2, 4, 3}}, DType::f32},
      {"constants that are alike in a group",
       norm(21, 4, weights({1, 1, 3, 3}, {0, 0, 2, 2})),
       {{2, 4, 3}},
       DType::f32},
      {"halves, by single precision", norm(21, 4, {}, kHalf), {{2, 4, 3}, {4}, {4}}, DType::f16},
      {"a transform of the axis that goes without saying",
       test::onnx::model({{node("DFT", {"x"}, {"y"})}, {value("x", {1, 2, 4, 1})}, {value("y", {1, 2, 4, 2})}}, {}, 20),
       {{1, 2, 4, 1}},
       DType::f32},
  };
  for (const auto& row : rows) {
    std::vector<Value> in;
    for (const Shape& shape : row.in) in.emplace_back(*convert(ramp(shape), row.type));
    const ir::Graph graph = read(row.bytes);
    const std::vector<Value> expected = answers_to(ir::Graph(graph), in);
    ASSERT_EQ(expected.size(), 1U);
    for (const int64_t opset : {int64_t{17}, int64_t{18}, int64_t{20}, int64_t{21}}) {
      SCOPED_TRACE(fmt::format("{}, opset {}", row.name, opset));
      ir::Graph copy(graph);
      const auto model = to_onnx(copy, {{}, false, {}, opset});
      ASSERT_TRUE(model.ok()) << model.error().text();
      EXPECT_EQ(model->opset, opset);
      const std::vector<Value> found = answers_to(read(model->model.text()), in);
      ASSERT_EQ(found.size(), 1U);
      EXPECT_TRUE(difference(expected[0], found[0]).same());
    }
  }
}

/// Before opset 11 a negative index of OneHot was none; since then it counts from the end.
TEST(OnnxWriteVersions, OneHotCountsAsItsOpsetDoes) {
  using namespace test::onnx;
  const std::vector<Value> in = {Tensor::of(Shape{6}, std::vector<int64_t>{0, 2, 3, -1, -3, -4})};
  for (const int64_t from : {9, 11}) {
    const ir::Graph graph =
        read(test::onnx::model({{node("OneHot", {"x", "d", "v"}, {"y"})},
                                {value("x", {6}, 7)},
                                {value("y", {6, 3})},
                                {longs("d", {3}), tensor("v", {2}, raw_bytes(std::vector<float>{0, 1}))}},
                               {}, from));
    for (const int64_t to : {9, 10, 11, 17}) {
      SCOPED_TRACE(fmt::format("from {} to {}", from, to));
      ir::Graph copy(graph);
      const auto model = to_onnx(copy, {{}, false, {}, to});
      ASSERT_TRUE(model.ok()) << model.error().text();
      expect_same(answers_to(ir::Graph(graph), in), answers_to(read(model->model.text()), in));
    }
  }
}

/// Who edits a model says nothing of its opset.
TEST(OnnxWriteVersions, AModelOfOnnxKeepsItsOpset) {
  using namespace test::onnx;
  const std::string bytes = model({{node("Neg", {"x"}, {"y"})}, {value("x", {4}, 6)}, {value("y", {4}, 6)}}, {}, 11);
  auto graph = load_graph(ModelSource::memory(bytes));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const std::string path = testing::TempDir() + "/nnex_keeps_its_opset.onnx";
  SaveOptions options;
  options.overwrite = Overwrite::replace;
  auto saved = save(*graph, path, options);
  ASSERT_TRUE(saved.ok()) << saved.error().text();
  EXPECT_EQ(saved->opset, 11);
  EXPECT_TRUE(saved->notes.empty());
  const ValueId y = graph->outputs()[0];
  ASSERT_TRUE(graph->set_outputs({{"y", *graph->add("bitwise_and", {y, y})}}).ok());
  saved = save(*graph, path, options);
  ASSERT_TRUE(saved.ok()) << saved.error().text();
  EXPECT_EQ(saved->opset, 18);
  ASSERT_EQ(saved->notes.size(), 1U);
  EXPECT_EQ(saved->notes[0].find("opset 18 instead of 11: ONNX cannot say 1 operation: bitwise_and: "), 0U)
      << saved->notes[0];
  EXPECT_EQ(saved->notes[0].find('\n'), std::string::npos) << saved->notes[0];
  fs::remove(path);
}

TEST(OnnxWriteVersions, OldOpsetsCountAxesFromTheStart) {
  using namespace test::onnx;
  const auto of = [](const std::string& n, const std::string& y, const std::vector<std::string>& weights = {}) {
    return test::onnx::model({{n}, {value("x", {2, 3, 4})}, {y}, weights});
  };
  const std::string axis = attr_int("axis", -1);
  const struct {
    const char* name;
    std::string bytes;
    int64_t opset;
  } rows[] = {
      {"Concat", of(node("Concat", {"x", "x"}, {"y"}, axis), value("y", {2, 3, 8})), 8},
      {"Softmax", of(node("Softmax", {"x"}, {"y"}, axis), value("y", {2, 3, 4})), 8},
      {"ArgMax", of(node("ArgMax", {"x"}, {"y"}, axis), value("y", {2, 3, 1}, kInt64)), 8},
      {"Unsqueeze", of(node("Unsqueeze", {"x", "a"}, {"y"}), value("y", {2, 3, 4, 1}), {longs("a", {-1})}), 8},
      {"ReduceMax",
       of(node("ReduceMax", {"x"}, {"y"}, msg(5, msg(1, "axes") + num(8, -2) + num(20, 7))), value("y", {2, 1, 4})),
       10},
      {"Slice",
       of(node("Slice", {"x", "b", "e", "a"}, {"y"}), value("y", {2, 3, 2}),
          {longs("b", {1}), longs("e", {3}), longs("a", {-1})}),
       10},
      {"Slice of attributes",
       of(node("Slice", {"x", "b", "e", "a"}, {"y"}), value("y", {2, 3, 2}),
          {longs("b", {1}), longs("e", {3}), longs("a", {-1})}),
       9},
      {"TopK of a known number",
       of(node("TopK", {"x", "k"}, {"y", ""}, attr_int("axis", -2)), value("y", {2, 2, 4}), {longs("k", {2})}), 9},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    ir::Graph graph = read(row.bytes);
    const auto model = to_onnx(graph, {{}, false, {}, row.opset});
    ASSERT_TRUE(model.ok()) << model.error().text();
    const auto report = check(ModelSource::memory(model->model.text()));
    ASSERT_TRUE(report.ok());
    for (const Fault& f : report->faults) ADD_FAILURE() << f.text();
    const std::vector<Value> in = {ramp({2, 3, 4})};
    expect_same(answers_to(read(row.bytes), in), answers_to(read(model->model.text()), in));
  }
  ir::Graph open = read(test::onnx::model({{node("Concat", {"x", "x"}, {"y"}, axis)},
                                           {msg(1, "x") + msg(2, msg(1, num(1, 1)))},
                                           {msg(1, "y") + msg(2, msg(1, num(1, 1)))}}));
  const auto refused = to_onnx(open, {{}, false, {}, 8});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::unsupported);
}

TEST(OnnxWriteVersions, AClassifierTakesItsLinearModelBack) {
  using namespace test::onnx;
  const auto reals = [](std::string_view name, const std::vector<float>& list) {
    std::string bytes = msg(1, name);
    for (float x : list) bytes += varint(7 << 3 | 5) + raw_bytes(std::vector<float>{x});
    return msg(5, bytes + num(20, 6));
  };
  const std::string labels = msg(5, msg(1, "classlabels_ints") + num(8, 4) + num(8, 5) + num(8, 6) + num(20, 7));
  std::string bytes = test::onnx::model(
      {{node("LinearClassifier", {"x"}, {"l", "p"},
             reals("coefficients", {1, 2, 3, 4, 5, 6}) + reals("intercepts", {1, 0, -1}) + labels, "ai.onnx.ml")},
       {value("x", {2, 2})},
       {value("l", {2}, kInt64), value("p", {2, 3})}},
      opset("ai.onnx.ml", 3));
  const std::vector<Value> in = {Tensor::of<float>({2, 2}, {1, -2, INFINITY, 1})};
  const auto want = answers_to(read(bytes), in);
  for (int again = 0; again < 2; ++again) {
    const auto once = written(read(bytes));
    ASSERT_TRUE(once.ok()) << once.error().text();
    expect_same(answers_to(read(*once), in), want);
    EXPECT_TRUE(again == 0 || *once == bytes);
    bytes = *once;
  }
  EXPECT_EQ(read(bytes).order().size(), 2U);  // linear, classify
}

/// Branches in branches, `levels` deep, each with two.
std::string nested_branches(int levels) {
  using namespace test::onnx;
  std::string inner = test::onnx::Graph{{node("Identity", {"x"}, {"r"})}, {}, {value("r", {2})}}.bytes();
  for (int i = 1; i < levels; ++i) {
    const std::string branches = attr_graph("then_branch", inner) + attr_graph("else_branch", inner);
    inner = test::onnx::Graph{{node("If", {"c"}, {"r"}, branches)}, {}, {value("r", {2})}}.bytes();
  }
  const std::string branches = attr_graph("then_branch", inner) + attr_graph("else_branch", inner);
  return model({{node("If", {"c"}, {"y"}, branches)}, {value("x", {2}), value("c", {}, 9)}, {value("y", {2})}});
}

TEST(OnnxWriteVersions, TimeGrowsWithTheNumberOfBranches) {
  const auto seconds = [](int levels) {
    const std::string bytes = nested_branches(levels);
    double min = 1e9;
    for (int i = 0; i < 3; ++i) {
      const double begin = test::cpu_seconds();
      EXPECT_TRUE(written(read(bytes)).ok());
      min = std::min(min, test::cpu_seconds() - begin);
    }
    return min;
  };
  // Sixteen times the branches, a third deeper: 21 times the work; by the square it would be 256.
  EXPECT_LT(seconds(12), 64 * seconds(8));
}

}  // namespace
}  // namespace nnex
