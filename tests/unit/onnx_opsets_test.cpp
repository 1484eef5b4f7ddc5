// Models written in opsets that are asked for: sound by the forms of that opset, with the words that other readers
// need, and the same numbers.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "api/export.h"
#include "api/read.h"
#include "nnex/check.h"
#include "nnex/compare.h"
#include "nnex/load.h"
#include "nnex/save.h"
#include "onnx_written.h"
#include "passes/passes.h"
#include "standards/onnx/text.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

std::string model_of(int64_t opset, std::string_view graph) {
  return *onnx_format::parse_model_text(fmt::format("<ir_version: 8, opset_import: [\"\" : {}]> g {}", opset, graph));
}

/// Numbers of both signs; truths of both kinds; a NaN among many reals.
Value filled(const Type& type) {
  Shape shape = *concrete(type);
  Tensor t = std::move(Tensor::make(type.dtype, shape)).value();
  for (int64_t i = 0; i < t.count(); ++i) {
    const double number = static_cast<double>(i * 37 % 19) / 4 - 2;
    if (is_real(t.dtype()))
      set_real(t, i, i == 5 && t.count() > 20 ? NAN : number);
    else
      set_int(t, i, t.dtype() == DType::boolean ? i % 3 == 0 : i % 2);
  }
  return t;
}

std::vector<Value> answers(ir::Graph graph) {
  std::vector<Value> in;
  for (ValueId v : graph.inputs()) in.push_back(filled(graph[v].type));
  return test::onnx_written::answers_to(std::move(graph), in);
}

/// The model in that opset as a text, once it was found sound and to compute the same.
std::string in_opset(const std::string& bytes, int64_t opset, double tolerance = 0) {
  ir::Graph graph = test::onnx_written::read(bytes);
  const std::vector<Value> wanted = answers(ir::Graph(graph));
  auto model = to_onnx(graph, {{}, false, {}, opset});
  EXPECT_TRUE(model.ok()) << model.error().text();
  if (!model.ok()) return {};
  EXPECT_EQ(model->opset, opset);
  const std::string found = model->model.text();
  auto report = check(ModelSource::memory(found));
  EXPECT_TRUE(report.ok());
  for (const Fault& f : report->faults) ADD_FAILURE() << f.text();
  const std::vector<Value> made = answers(test::onnx_written::read(found));
  EXPECT_EQ(made.size(), wanted.size());
  for (size_t i = 0; i < std::min(made.size(), wanted.size()); ++i) {
    const Difference d = difference(wanted[i], made[i], {tolerance, 0});
    EXPECT_TRUE(d.same()) << "output " << i << ": " << d.mismatch << " differs by " << d.max_absolute;
  }
  return onnx_format::print_model_text(found)->text;
}

struct Row {
  const char* name;
  int64_t from, to;
  std::string_view graph;
  std::vector<std::string_view> says = {};
  double tolerance = 0;
};

void convert(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{}, from {} to {}", row.name, row.from, row.to));
    const std::string text = in_opset(model_of(row.from, row.graph), row.to, row.tolerance);
    for (std::string_view words : row.says) EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
}

/// What goes without saying in these opsets is training, or no result.
TEST(OnnxOpsets, InferenceIsSaid) {
  constexpr std::string_view kNorm =
      "(float[2,3,4,5] x) => (float[2,3,4,5] y) <float[3] s = {1,2,3}, float[3] b = {0,1,2}, float[3] m = {1,0,1}, "
      "float[3] v = {1,4,9}> { y = BatchNormalization(x, s, b, m, v) }";
  convert({{"a normalisation", 13, 6, kNorm, {"is_test: int = 1"}},
           {"dropout", 13, 6, "(float[2,3] x) => (float[2,3] y) { t = Relu(x) u = Dropout(t) y = Neg(u) }"},
           {"lstm",
            13,
            6,
            "(float[3,1,4] x, float[1,8,4] w, float[1,8,2] r) => (float[3,1,1,2] y) "
            "{ y = LSTM<hidden_size = 2>(x, w, r) }",
            {"output_sequence: int = 1"}},
           {"gru",
            13,
            6,
            "(float[3,1,4] x, float[1,6,4] w, float[1,6,2] r) => (float[3,1,1,2] y) "
            "{ y = GRU<hidden_size = 2>(x, w, r) }",
            {"output_sequence: int = 1"}}});
}

/// What was made before the last state may be read by nobody, and have no name.
TEST(OnnxOpsets, AFirstOutputMayBeAbsent) {
  for (std::string_view outputs : {"u, y", "u, v, y"}) {
    SCOPED_TRACE(outputs);
    ir::Graph graph =
        test::onnx_written::read(model_of(14, fmt::format("(float[3,1,4] x, float[1,8,4] w, float[1,8,2] r) => "
                                                          "(float[1,1,2] y) {{ {} = LSTM<hidden_size = 2>(x, w, r) }}",
                                                          outputs)));
    ASSERT_TRUE(passes::drop_unused(graph).ok());
    const auto wanted = answers(ir::Graph(graph));
    auto model = to_onnx(graph, {{}, false, {}, 14});
    ASSERT_TRUE(model.ok()) << model.error().text();
    const auto found = answers(test::onnx_written::read(model->model.text()));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(difference(wanted[0], found[0]).same());
  }
}

/// A factor of 1 is not said where an operator becomes others.
TEST(OnnxOpsets, SwishHasNoFactorThatItDoesNotNeed) {
  const auto products = [](std::string_view alpha) {
    const std::string text =
        in_opset(model_of(24, fmt::format("(float[2,3] x) => (float[2,3] y) {{ y = Swish{}(x) }}", alpha)), 13, 1e-6);
    size_t count = 0;
    for (size_t at = text.find("Mul"); at != std::string::npos; at = text.find("Mul", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(products(""), 1U);
  EXPECT_EQ(products("<alpha = 1.5>"), 2U);
}

/// Of what a node became the operator that it was has its name, and no two nodes have one.
TEST(OnnxOpsets, NamesStayWithOperators) {
  ir::Graph graph =
      test::onnx_written::read(model_of(17,
                                        "(float[2,3] x) => (float[2,4] y) <float[3,4] w = {1,2,3,4,5,6,7,8,9,1,2,3}> "
                                        "{ [gemm] y = Gemm(x, w) }"));
  const NodeId product = graph.order().back();
  const ValueId before = Builder(graph, product)("neg", {graph.inputs()[0]});
  graph.set_input(product, 0, before);
  auto model = to_onnx(graph, {{}, false, {}, 17});
  ASSERT_TRUE(model.ok()) << model.error().text();
  const std::string text = onnx_format::print_model_text(model->model.text())->text;
  const size_t at = text.find("[gemm]");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find("[gemm]", at + 1), std::string::npos) << text;
  EXPECT_LT(text.find("Neg"), at) << text;
}

/// Until opset 6 the last operand lies in the first one where attributes say so; until 7 those of Min, Max and Sum have
/// one shape.
TEST(OnnxOpsets, OperandsHaveTheShapesThatTheOpsetTakes) {
  convert({
      {"the last axes",
       13,
       6,
       "(float[2,3] x, float[3] z) => (float[2,3] y) { y = Sub(x, z) }",
       {"broadcast: int = 1"}},
      {"axes within",
       13,
       6,
       "(float[2,3,4] x, float[3,1] z) => (float[2,3,4] y) { y = Mul(x, z) }",
       {"axis: int = 1", "Squeeze"}},
      {"a constant of channels",
       13,
       6,
       "(float[2,3,4] x) => (float[2,3,4] y) <float[1,3,1] z = {1,2,3}> { y = Add(x, z) }",
       {"axis: int = 1", "float[3]"}},
      {"the smaller one first",
       13,
       6,
       "(float[3] z, float[2,3] x) => (float[2,3] y) { y = Add(z, x) }",
       {"Add", "(x, z)"}},
      {"the smaller one first, of what has an order",
       13,
       6,
       "(float[3] z, float[2,3] x) => (float[2,3] y) { y = Sub(z, x) }",
       {"Tile"}},
      {"comparisons turn",
       13,
       6,
       "(float[3] z, float[2,3] x) => (bool[2,3] y) { y = Less(z, x) }",
       {"Greater", "broadcast: int = 1"}},
      {"both grow", 13, 6, "(float[2,1] x, float[1,3] z) => (float[2,3] y) { y = Add(x, z) }", {"Tile"}},
      {"a bias of a product",
       13,
       6,
       "(float[2,3] x, float[3,4] w, float[4] b) => (float[2,4] y) { y = Gemm(x, w, b) }",
       {"broadcast: int = 1"}},
      {"a column of a product",
       13,
       6,
       "(float[2,3] x, float[3,4] w, float[2,1] b) => (float[2,4] y) { y = Gemm(x, w, b) }",
       {"Tile"}},
      {"the least of a number", 13, 7, "(float[2,3] x, float z) => (float[2,3] y) { y = Min(x, z) }"},
      {"the largest of three", 13, 7,
       "(float[2,3] x, float[3] z, float[2,1] w) => (float[2,3] y) { y = Max(x, z, w) }"},
      {"a sum", 13, 7, "(float[2,3] x, float[3] z, float[2,1] w) => (float[2,3] y) { y = Sum(x, z, w) }"},
      {"what is taken apart", 13, 7, "(float[2,3] x) => (float[2,3] y) { y = Celu(x) }", {}, 1e-6},
      {"what is taken apart further",
       17,
       6,
       "(float[2,3,4] x, float[4] s, float[4] b) => (float[2,3,4] y) { y = LayerNormalization(x, s, b) }",
       {},
       1e-5},
  });
}

/// Rows of unknown length: what is needed of the shape is computed, or the node is refused.
TEST(OnnxOpsets, OpenExtentsAreComparedByTheirNames) {
  const auto to = [](int64_t opset, std::string_view graph) {
    ir::Graph read = test::onnx_written::read(model_of(13, graph));
    return to_onnx(read, {{}, false, {}, opset});
  };
  for (std::string_view graph : {"(float[N,3] x) => (float[N,3] y) { t = Relu(x) y = Add(x, t) }",
                                 "(float[N,3] x, float z) => (float[N,3] y) { y = Max(x, z) }",
                                 "(float[N,3] x, float[3] z) => (float[N,3] y) { y = Mul(z, x) }"}) {
    SCOPED_TRACE(graph);
    const auto made = to(6, graph);
    ASSERT_TRUE(made.ok()) << made.error().text();
    const auto report = check(ModelSource::memory(made->model.text()));
    ASSERT_TRUE(report.ok());
    for (const Fault& f : report->faults) ADD_FAILURE() << f.text();
  }
  const auto refused = to(7, "(float[N,3] x, float[1,3] z) => (float[N,3] y) { y = Min(x, z) }");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("Min is so from opset 8 on; opset 7 was asked for"), std::string::npos)
      << refused.error().text();
}

TEST(OnnxOpsets, SlopesAreByChannel) {
  convert(
      {{"of the last axis", 13, 6, "(float[2,3,4,3] x, float[3] s) => (float[2,3,4,3] y) { y = PRelu(x, s) }"},
       {"of channels",
        13,
        6,
        "(float[2,3,4,5] x, float[3,1,1] s) => (float[2,3,4,5] y) { y = PRelu(x, s) }",
        {"PRelu"}},
       {"of rows", 13, 6, "(float[2,3] x, float[3] s) => (float[2,3] y) { y = PRelu(x, s) }", {"PRelu (x, s)"}},
       {"one", 13, 6, "(float[2,3] x, float s) => (float[2,3] y) { y = PRelu(x, s) }", {"PRelu"}},
       {"as it was", 6, 1, "(float[2,3,4] x, float[3] s) => (float[2,3,4] y) { y = PRelu(x, s) }", {"PRelu (x, s)"}}});
}

/// Until opset 12 the sum is over every axis from the one named on.
TEST(OnnxOpsets, SoftmaxKeepsItsMeaning) {
  for (std::string_view op : {"Softmax", "LogSoftmax", "Hardmax"})
    for (const auto& [from, to] : {std::pair{9, 11}, {9, 12}, {7, 11}, {11, 9}, {12, 7}, {9, 13}, {13, 9}, {13, 12}})
      for (int axis : {0, 1, 2}) {
        const std::string graph =
            fmt::format("(float[2,3,4] x) => (float[2,3,4] y) {{ y = {}<axis = {}>(x) }}", op, axis);
        SCOPED_TRACE(fmt::format("{} of axis {}, from {} to {}", op, axis, from, to));
        const std::string text = in_opset(model_of(from, graph), to, 1e-6);
        EXPECT_NE(text.find(op), std::string::npos) << text;
        EXPECT_TRUE(from == 13 || to == 13 || text.find("Reshape") == std::string::npos) << text;
      }
}

TEST(OnnxOpsets, WhatCameLaterIsSaidInEarlierWords) {
  convert({
      {"attention",
       23,
       17,
       "(float[1,4,3,4] q, float[1,2,5,4] k, float[1,2,5,4] v) => (float[1,4,3,4] y) { y = Attention(q, k, v) }",
       {"Softmax"},
       1e-5},
      {"attention of halves",
       23,
       17,
       "(float16[1,2,3,4] q) => (float16[1,2,3,4] y) { y = Attention(q, q, q) }",
       {"Softmax"},
       1e-2},
      {"turned heads",
       23,
       17,
       "(float[1,2,3,4] x, float[3,2] c, float[3,2] s, int64[1,3] p) => (float[1,2,3,4] y) "
       "{ y = RotaryEmbedding(x, c, s, p) }",
       {},
       1e-6},
      {"padding of named axes", 18, 17,
       "(float[2,3] x) => (float[2,6] y) <int64[2] p = {2,1}, int64[1] a = {-1}> { y = Pad(x, p, , a) }"},
      {"the middle",
       18,
       17,
       "(float[2,7] x) => (float[5,4] y) <int64[2] s = {5,4}> { y = CenterCropPad(x, s) }",
       {"Pad"}},
      {"rows of batches", 13, 11,
       "(float[2,3,4] x) => (float[2,4] y) <int64[2,1] i = {1,-1}> { y = GatherND<batch_dims = 1>(x, i) }"},
      {"averages that count zeros",
       13,
       6,
       "(float[1,2,5,5] x) => (float[1,2,6,6] y) "
       "{ y = AveragePool<kernel_shape = [2,2], pads = [1,1,1,1], count_include_pad = 1>(x) }",
       {"Pad"}},
      {"an upsampled picture",
       9,
       7,
       "(float[1,1,2,3] x) => (float[1,1,4,6] y) <float[4] s = {1,1,2,2}> { y = Upsample<mode = \"nearest\">(x, s) }",
       {"Upsample", "scales: floats = [1.0, 1.0, 2.0, 2.0]"}},
      {"a resized picture",
       13,
       9,
       "(float[1,1,2,3] x) => (float[1,1,4,6] y) <float[4] s = {1,1,2,2}> { y = Resize<mode = \"nearest\", "
       "coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\">(x, , s) }",
       {"Upsample"}},
      {"a resized picture",
       13,
       10,
       "(float[1,1,2,3] x) => (float[1,1,4,6] y) <float[4] s = {1,1,2,2}> { y = Resize<mode = \"linear\", "
       "coordinate_transformation_mode = \"asymmetric\">(x, , s) }",
       {"Resize"}},
      {"at least", 13, 7, "(float[5,6] x, float[6] z) => (bool[5,6] y) { y = GreaterOrEqual(x, z) }"},
      {"at most", 13, 11, "(float[5,6] x, float[6] z) => (bool[5,6] y) { y = LessOrEqual(x, z) }", {"Equal"}},
      {"at most, of integers", 13, 8, "(int32[5,6] x, int32[6] z) => (bool[5,6] y) { y = LessOrEqual(x, z) }"},
      {"stretched axes",
       13,
       7,
       "(float[3,1] x) => (float[2,3,4] y) <int64[3] s = {2,1,4}> { y = Expand(x, s) }",
       {"Tile"}},
      {"a product alone", 13, 7, "(float[2,3] x, float[3,4] w) => (float[2,4] y) { y = Gemm(x, w) }", {"Gemm"}},
      {"a triangle", 14, 13, "(float[2,3,3] x) => (float[2,3,3] y) { y = Trilu(x) }", {"Where"}},
      {"computed limits", 13, 10, "(float[2,3] x, float l, float h) => (float[2,3] y) { y = Clip(x, l, h) }", {"Min"}},
  });
}

/// Before opset 11 a negative index was none.
TEST(OnnxOpsets, IndicesCountFromTheStart) {
  convert(
      {{"known ones", 13, 9, "(float[3,2] x) => (float[2,2] y) <int64[2] i = {-1,0}> { y = Gather(x, i) }", {"{2, 0}"}},
       {"a known one", 13, 9, "(float[3,2] x) => (float[2] y) <int64 i = {-1}> { y = Gather(x, i) }"}});
  const auto notes = [](std::string_view graph, int64_t opset) {
    auto model = load_graph(ModelSource::memory(model_of(13, graph)));
    EXPECT_TRUE(model.ok()) << model.error().text();
    SaveOptions options;
    options.overwrite = Overwrite::replace;
    options.onnx.opset = opset;
    const auto report = save(*model, testing::TempDir() + "/nnex_counts.onnx", options);
    EXPECT_TRUE(report.ok()) << report.error().text();
    return report.ok() ? report->notes : std::vector<std::string>();
  };
  constexpr std::string_view kComputed = "(float[3,2] x, int64[2] i) => (float[2,2] y) { y = Gather(x, i) }";
  EXPECT_EQ(notes(kComputed, 9), std::vector<std::string>{"the same only where input 1 of node 'y' (Gather) has no "
                                                          "negative number: opset 9 counts from the start"});
  EXPECT_TRUE(notes(kComputed, 11).empty());
  EXPECT_TRUE(
      notes("(float[300,2] x, uint8[2] b) => (float[2,2] y) { i = Cast<to = 7>(b) y = Gather(x, i) }", 9).empty());
}

}  // namespace
}  // namespace nnex
