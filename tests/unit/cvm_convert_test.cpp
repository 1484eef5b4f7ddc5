// Integer networks from CVM to NNEF and back: the same numbers at every stop.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "api/export.h"
#include "api/read.h"
#include "base/try.h"
#include "graph/precision.h"
#include "nnef_written.h"
#include "nnex/model.h"
#include "ops/arithmetic.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/gather.h"
#include "ops/pool.h"
#include "run/compile.h"
#include "standards/cvm/import.h"
#include "standards/cvm/read_params.h"
#include "standards/cvm/write.h"
#include "stored.h"

namespace nnex {
namespace {

using namespace cvm_format;
namespace fs = std::filesystem;

/// A CVM network as plain ONNX, read, and read once more as what CVM's writer makes of that.
Result<ir::Graph> through_onnx(ir::Graph& graph) {
  NNEX_ASSIGN(auto written, to_onnx(graph, {{}, false, {}}));
  NNEX_ASSIGN(ir::Graph read, read_model_bytes(written.model.text(), {}));
  NNEX_ASSIGN(const ModelFiles files, to_cvm(read));
  return read_model(files.symbol, files.params, nullptr, false);
}

/// A convolution, relu, a pool, rows that move elements, a dense layer.
ir::Graph network() {
  Symbol s;
  s.nodes = {{"data", "", {}},
             {"w", "", {}},
             {"b", "", {}},
             {"d", "", {}},
             {"conv", "conv2d", {{0, 0}, {1, 0}, {2, 0}}},
             {"shift", "cvm_right_shift", {{4, 0}}},
             {"relu", "relu", {{5, 0}}},
             {"pool", "max_pool2d", {{6, 0}}},
             {"turned", "transpose", {{7, 0}}},
             {"flat", "flatten", {{8, 0}}},
             {"dense", "dense", {{9, 0}, {3, 0}}}};
  s.heads = {{10, 0}};
  s.arg_nodes = Ints{0, 1, 2, 3};
  s.node_row_ptr = Ints{};
  s.shapes = {{1, 2, 4, 4}, {3, 2, 3, 3}, {3},          {5, 12}, {1, 3, 4, 4}, {1, 3, 4, 4},
              {1, 3, 4, 4}, {1, 3, 2, 2}, {1, 2, 2, 3}, {1, 12}, {1, 5}};
  s.precision = Ints{8, 8, 16, 8};
  for (size_t i = 0; i < s.nodes.size(); ++i) {
    s.node_row_ptr->push_back(static_cast<int64_t>(i));
    s.storage_ids.push_back(static_cast<int64_t>(i));
    if (i > 3) s.precision->push_back(-1);
  }
  s.node_row_ptr->push_back(static_cast<int64_t>(s.nodes.size()));
  s.op_attrs = {"",
                "",
                "",
                "",
                R"({"channels": "3", "kernel_size": "[3, 3]", "padding": "[1, 1]"})",
                R"({"precision": "8", "shift_bit": "6"})",
                "{}",
                R"({"pool_size": "[2, 2]", "strides": "[2, 2]"})",
                R"({"axes": "[0, 2, 3, 1]"})",
                "{}",
                R"({"units": "5", "use_bias": "False"})"};
  const auto bytes = [](Shape shape, int step) {
    std::vector<int8_t> v(static_cast<size_t>(shape.count()));
    for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int8_t>(static_cast<int>(i) * step % 255 - 127);
    return Tensor::of(shape, v);
  };
  const std::vector<Param> params = {{"w", bytes(Shape{3, 2, 3, 3}, 37)},
                                     {"b", Tensor::of<int32_t>(Shape{3}, {1000, -2000, 30})},
                                     {"d", bytes(Shape{5, 12}, 91)}};
  auto graph = read_model(write_symbol(s), write_params(params), nullptr, false);
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return std::move(*graph);
}

/// A model of one operator: `data` and parameters, each with its bits, by name; attributes as symbol has them.
struct OneOp {
  const char* op;
  const char* attrs;
  std::vector<std::pair<std::string, Ints>> inputs;  ///< Names and extents; those but "data" are parameters.
  int64_t bits;
  Ints y;

  ir::Graph graph() const {
    Symbol s;
    std::vector<Param> params;
    s.arg_nodes = Ints{}, s.node_row_ptr = Ints{}, s.precision = Ints{};
    SymbolNode node{"y", op, {}};
    for (const auto& [name, extents] : inputs) {
      const auto at = static_cast<int64_t>(s.nodes.size());
      s.arg_nodes->push_back(at), s.precision->push_back(bits), node.inputs.push_back({at, 0});
      s.nodes.push_back({name, "", {}}), s.op_attrs.emplace_back("{}"), s.shapes.push_back(extents);
      if (name == "data") continue;
      Tensor t = Tensor::make(DType::i32, Shape(extents)).value();
      for (int64_t i = 0; i < t.count(); ++i)
        t.mutable_as<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(i * 37 % 3 - 1);
      params.push_back({name, t});
    }
    s.nodes.push_back(node), s.op_attrs.emplace_back(attrs), s.shapes.push_back(y), s.precision->push_back(-1);
    s.heads = {{static_cast<int64_t>(inputs.size()), 0}};
    for (size_t i = 0; i <= s.nodes.size(); ++i) s.node_row_ptr->push_back(static_cast<int64_t>(i));
    for (size_t i = 0; i < s.nodes.size(); ++i) s.storage_ids.push_back(static_cast<int64_t>(i));
    auto graph = read_model(write_symbol(s), write_params(params), nullptr, false);
    EXPECT_TRUE(graph.ok()) << op << ": " << graph.error().text();
    return std::move(*graph);
  }
};

std::vector<int64_t> answers(ir::Graph graph) {
  auto model = compile(std::move(graph));
  EXPECT_TRUE(model.ok()) << model.error().text();
  const PortInfo& port = model->inputs()[0];
  Tensor x = Tensor::make(port.dtype, Shape(port.extents)).value();
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t value = i * 53 % 300 - 150;  // some beyond what 8 bits promise
    if (port.dtype == DType::i32)
      x.mutable_as<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(value);
    else
      x.mutable_as<int64_t>()[static_cast<size_t>(i)] = value;
  }
  const std::vector<Value> in = {x};
  auto out = model->session().run(in);
  EXPECT_TRUE(out.ok()) << out.error().text();
  std::vector<int64_t> y;
  for (int64_t i = 0; i < (*out)[0].tensor()->count(); ++i)
    y.push_back(port.dtype == DType::i32 ? (*out)[0].tensor()->as<int32_t>()[static_cast<size_t>(i)]
                                         : (*out)[0].tensor()->as<int64_t>()[static_cast<size_t>(i)]);
  return y;
}

TEST(CvmConvert, ThroughNnefAndBack) {
  const std::vector<int64_t> expected = answers(network());
  ASSERT_EQ(expected.size(), 5U);
  const fs::path folder = fs::temp_directory_path() / "nnex_cvm_convert_test";
  fs::remove_all(folder);
  ir::Graph graph = network();
  auto written = to_nnef(graph, {"net", true});
  ASSERT_TRUE(written.ok()) << written.error().text();
  ASSERT_TRUE(nnef_format::save_model(*written, folder.string(), false).ok());
  auto read = read_model(folder.string(), LoadOptions());
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(answers(ir::Graph(*read)), expected);
  auto back = to_cvm(*read);
  ASSERT_TRUE(back.ok()) << back.error().text();
  auto again = read_model(back->symbol, back->params, nullptr, false);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(answers(std::move(*again)), expected);
  fs::remove_all(folder);
}

/// In standard operators, and with the rows as custom ones: the same numbers, and a model of CVM again.
TEST(CvmConvert, ThroughOnnxAndBack) {
  const std::vector<int64_t> expected = answers(network());
  for (bool custom : {false, true}) {
    SCOPED_TRACE(custom ? "custom" : "standard");
    ir::Graph graph = network();
    auto written = to_onnx(graph, {{}, custom, {}});
    ASSERT_TRUE(written.ok()) << written.error().text();
    auto read = read_model_bytes(written->model.text(), {});
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_EQ(answers(ir::Graph(*read)), expected);
    auto back = to_cvm(*read);
    ASSERT_TRUE(back.ok()) << back.error().text();
    auto again = read_model(back->symbol, back->params, nullptr, false);
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(answers(std::move(*again)), expected);
  }
}

/// A dense layer of `outputs` rows of bytes, of more bits than its values need.
ir::Graph dense_network(int64_t outputs, const std::string& postprocess) {
  Symbol s;
  s.postprocess = postprocess, s.version = "cvm_1.1.0";
  s.nodes = {{"data", "", {}}, {"dense 0:w", "", {}}, {"b", "", {}}, {"y", "dense", {{0, 0}, {1, 0}, {2, 0}}}};
  s.heads = {{3, 0}};
  s.arg_nodes = Ints{0, 1, 2};
  s.node_row_ptr = Ints{0, 1, 2, 3, 4};
  s.storage_ids = {0, 1, 2, 3};
  s.shapes = {{1, 64}, {outputs, 64}, {outputs}, {1, outputs}};
  s.precision = Ints{8, 8, 20, -1};
  s.op_attrs = {"", "", "", fmt::format(R"({{"units": "{}"}})", outputs)};
  std::vector<int8_t> w(static_cast<size_t>(outputs * 64));
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<int8_t>(static_cast<int>(i * 7 % 5) - 2);
  const std::vector<int32_t> b(static_cast<size_t>(outputs), 3);
  auto graph =
      read_model(write_symbol(s),
                 write_params({{"dense 0:w", Tensor::of(Shape{outputs, 64}, w)}, {"b", Tensor::of(Shape{outputs}, b)}}),
                 nullptr, false);
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return std::move(*graph);
}

/// What the model says beside its operators: names and bits of parameters, its version, postprocess and gas.
void expect_same_facts(const ModelFiles& files, const ir::Graph& before) {
  auto symbol = read_symbol(files.symbol);
  ASSERT_TRUE(symbol.ok());
  std::map<std::string, int64_t> bits;
  for (size_t i = 0; i < symbol->nodes.size(); ++i)
    if (symbol->nodes[i].variable())
      bits[symbol->nodes[i].name] = (*symbol->precision)[static_cast<size_t>((*symbol->node_row_ptr)[i])];
  EXPECT_EQ(bits, (std::map<std::string, int64_t>{{"b", 20}, {"data", 8}, {"dense 0:w", 8}}));
  auto back = read_model(files.symbol, files.params, nullptr, false);
  ASSERT_TRUE(back.ok()) << back.error().text();
  const CvmProvenance was = *model_info(before), is = *model_info(*back);
  EXPECT_EQ(is.version, was.version);
  EXPECT_EQ(is.postprocess, was.postprocess);
  EXPECT_EQ(is.gas, was.gas);
  EXPECT_EQ(is.head_bits, was.head_bits);
}

/// Parameters of many bytes stay bytes in memory, which must not cost them their names.
TEST(CvmConvert, ParametersKeepNamesAndBitsThroughOnnx) {
  for (int64_t outputs : {2, 32})
    for (bool custom : {false, true}) {
      SCOPED_TRACE(fmt::format("{} outputs, {}", outputs, custom ? "custom" : "standard"));
      const ir::Graph before = dense_network(outputs, "argmax");
      ir::Graph graph(before);
      auto written = to_onnx(graph, {{}, custom, {}});
      ASSERT_TRUE(written.ok()) << written.error().text();
      auto read = read_model_bytes(written->model.text(), {});
      ASSERT_TRUE(read.ok()) << read.error().text();
      auto files = to_cvm(*read);
      ASSERT_TRUE(files.ok()) << files.error().text();
      expect_same_facts(*files, before);
    }
}

/// A parameter that is itself a head stays one variable: gas counts each.
TEST(CvmConvert, HeadsMayBeParametersThroughOnnx) {
  for (const int64_t n : {int64_t{4}, int64_t{2048}}) {
    SCOPED_TRACE(n);
    Symbol s;
    s.nodes = {{"data", "", {}}, {"w", "", {}}, {"y", "broadcast_max", {{0, 0}, {1, 0}}}};
    s.heads = {{2, 0}, {1, 0}};
    s.arg_nodes = Ints{0, 1};
    s.node_row_ptr = Ints{0, 1, 2, 3};
    s.storage_ids = {0, 1, 2};
    s.shapes = std::vector<Ints>(3, Ints{1, n});
    s.precision = Ints{8, 7, -1};
    s.op_attrs = {"", "", "{}"};
    const std::vector<int8_t> w(static_cast<size_t>(n), 1);
    auto graph = read_model(write_symbol(s), write_params({{"w", Tensor::of(Shape{1, n}, w)}}), nullptr, false);
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    const int64_t gas = model_info(*graph)->gas;
    auto back = through_onnx(*graph);
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(model_info(*back)->gas, gas);
    EXPECT_EQ(model_info(*back)->head_bits, (Ints{8, 7}));
  }
}

/// NNEF's body of relu is a maximum with a constant, which would be a variable in CVM.
TEST(CvmConvert, ReluStaysReluThroughNnef) {
  Symbol s;
  s.nodes = {{"data", "", {}}, {"z", "", {}}, {"r", "relu", {{0, 0}}}, {"y", "broadcast_max", {{2, 0}, {1, 0}}}};
  s.heads = {{3, 0}};
  s.arg_nodes = Ints{0, 1};
  s.node_row_ptr = Ints{0, 1, 2, 3, 4};
  s.storage_ids = {0, 1, 2, 3};
  s.shapes = {{1, 4}, {1}, {1, 4}, {1, 4}};
  s.precision = Ints{8, 3, -1, -1};
  s.op_attrs = {"", "", "{}", "{}"};
  auto graph = read_model(write_symbol(s), write_params({{"z", Tensor::of<int8_t>(Shape{1}, {0})}}), nullptr, false);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  auto written = to_nnef(*graph, {"net", true});
  ASSERT_TRUE(written.ok()) << written.error().text();
  const fs::path folder = fs::temp_directory_path() / "nnex_cvm_relu_test";
  fs::remove_all(folder);
  ASSERT_TRUE(nnef_format::save_model(*written, folder.string(), false).ok());
  auto read = read_model(folder.string(), LoadOptions());
  ASSERT_TRUE(read.ok()) << read.error().text();
  fs::remove_all(folder);
  auto files = to_cvm(*read);
  ASSERT_TRUE(files.ok()) << files.error().text();
  auto symbol = read_symbol(files->symbol);
  ASSERT_TRUE(symbol.ok());
  std::vector<std::string> ops;
  for (const SymbolNode& n : symbol->nodes) ops.push_back(n.op);
  std::sort(ops.begin(), ops.end());
  EXPECT_EQ(ops, (std::vector<std::string>{"", "", "broadcast_max", "relu"})) << "the zero of its own stays one";
}

/// ONNX's indices are limited by nodes; constant ones that are in range stay the parameter that they were.
TEST(CvmConvert, IndicesStayTheParameterThroughOnnx) {
  Symbol s;
  s.nodes = {{"data", "", {}}, {"i", "", {}}, {"y", "take", {{0, 0}, {1, 0}}}};
  s.heads = {{2, 0}};
  s.arg_nodes = Ints{0, 1};
  s.node_row_ptr = Ints{0, 1, 2, 3};
  s.storage_ids = {0, 1, 2};
  s.shapes = {{4, 2}, {3}, {3, 2}};
  s.precision = Ints{8, 7, -1};
  s.op_attrs = {"", "", R"({"axis": "0"})"};
  for (const std::vector<int8_t>& indices : {std::vector<int8_t>{0, 3, 1}, std::vector<int8_t>{-1, 9, 1}}) {
    auto graph = read_model(write_symbol(s), write_params({{"i", Tensor::of(Shape{3}, indices)}}), nullptr, false);
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    const int64_t gas = model_info(*graph)->gas;
    auto back = through_onnx(*graph);
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(model_info(*back)->gas, gas);
    if (indices[0] == 0) {
      EXPECT_EQ(back->provenance.bits, (DeclaredBits{{"i", 7}}));
    }
  }
}

/// A condition of one axis over rows of one element each stays what it was: no reshape of it is written, or paid for.
TEST(CvmConvert, ConditionsOfSingleElementsKeepTheirAxis) {
  Symbol s;
  s.nodes = {{"data", "", {}}, {"c", "", {}}, {"y", "where", {{1, 0}, {0, 0}, {0, 0}}}};
  s.heads = {{2, 0}};
  s.arg_nodes = Ints{0, 1};
  s.node_row_ptr = Ints{0, 1, 2, 3};
  s.storage_ids = {0, 1, 2};
  s.shapes = {{3, 1, 1}, {3}, {3, 1, 1}};
  s.precision = Ints{8, 8, -1};
  s.op_attrs = {"", "", "{}"};
  auto graph = read_model(write_symbol(s), write_params({{"c", Tensor::of(Shape{3}, std::vector<int8_t>{0, 1, 0})}}),
                          nullptr, false);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  auto files = write_model(*graph);
  ASSERT_TRUE(files.ok()) << files.error().text();
  EXPECT_EQ(read_symbol(files->symbol)->nodes.size(), 3U) << files->symbol;
}

/// ONNX's comparison gives truth, cast to the integers that it was: a convolution of them still knows their bits.
TEST(CvmConvert, AnswersOfAComparisonAreConvolved) {
  Symbol s;
  s.nodes = {{"data", "", {}},
             {"limit", "", {}},
             {"w", "", {}},
             {"above", "broadcast_greater", {{0, 0}, {1, 0}}},
             {"y", "conv2d", {{3, 0}, {2, 0}}}};
  s.heads = {{4, 0}};
  s.arg_nodes = Ints{0, 1, 2};
  s.node_row_ptr = Ints{0, 1, 2, 3, 4, 5};
  s.storage_ids = {0, 1, 2, 3, 4};
  s.shapes = {{1, 1, 2, 3}, {1}, {1, 1, 2, 2}, {1, 1, 2, 3}, {1, 1, 1, 2}};
  s.precision = Ints{8, 8, 8, -1, -1};
  s.op_attrs = {"", "", "", "{}", R"({"channels": "1", "kernel_size": "[2, 2]", "use_bias": "0"})"};
  auto graph = read_model(write_symbol(s),
                          write_params({{"limit", Tensor::of(Shape{1}, std::vector<int8_t>{0})},
                                        {"w", Tensor::of(Shape{1, 1, 2, 2}, std::vector<int8_t>{1, 20, -3, 40})}}),
                          nullptr, false);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const std::vector<int64_t> expected = answers(ir::Graph(*graph));
  auto back = through_onnx(*graph);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(answers(std::move(*back)), expected);
}

/// Limits of a clip are attributes in CVM, inputs elsewhere: they become no variables on the way back.
TEST(CvmConvert, AttributesBecomeNoVariables) {
  Symbol s;
  s.nodes = {{"data", "", {}}, {"y", "clip", {{0, 0}}}};
  s.heads = {{1, 0}};
  s.arg_nodes = Ints{0};
  s.node_row_ptr = Ints{0, 1, 2};
  s.storage_ids = {0, 1};
  s.shapes = {{1, 4}, {1, 4}};
  s.precision = Ints{8, -1};
  s.op_attrs = {"", R"({"a_min": "-3", "a_max": "100"})"};
  for (bool custom : {false, true}) {
    auto graph = read_model(write_symbol(s), write_params({}), nullptr, false);
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    auto written = to_onnx(*graph, {{}, custom, {}});
    ASSERT_TRUE(written.ok()) << written.error().text();
    auto read = read_model_bytes(written->model.text(), {});
    ASSERT_TRUE(read.ok()) << read.error().text();
    auto files = to_cvm(*read);
    ASSERT_TRUE(files.ok()) << files.error().text();
    EXPECT_EQ(read_symbol(files->symbol)->nodes.size(), 2U) << files->symbol;
  }
}

/// NNEF has no place for them: comments behind the document carry them.
TEST(CvmConvert, ParametersKeepNamesAndBitsThroughNnef) {
  const fs::path folder = fs::temp_directory_path() / "nnex_cvm_facts_test";
  for (int64_t outputs : {2, 32}) {
    SCOPED_TRACE(outputs);
    const ir::Graph before = dense_network(outputs, "argmax");
    ir::Graph graph(before);
    for (int times = 0; times < 2; ++times) {  // to NNEF, and from NNEF to NNEF
      auto written = to_nnef(graph, {"net", true});
      ASSERT_TRUE(written.ok()) << written.error().text();
      fs::remove_all(folder);
      ASSERT_TRUE(nnef_format::save_model(*written, folder.string(), false).ok());
      auto read = read_model(folder.string(), LoadOptions());
      ASSERT_TRUE(read.ok()) << read.error().text();
      graph = std::move(*read);
    }
    auto files = to_cvm(graph);
    ASSERT_TRUE(files.ok()) << files.error().text();
    expect_same_facts(*files, before);
  }
  fs::remove_all(folder);
}

TEST(CvmConvert, ParametersKeepNamesAndBitsThroughCvm) {
  const ir::Graph before = dense_network(32, "argmax");
  ir::Graph graph(before);
  auto files = to_cvm(graph);
  ASSERT_TRUE(files.ok()) << files.error().text();
  expect_same_facts(*files, before);
}

/// Every stored CVM model that ONNX's operators say, and all of them with custom ones.
TEST(CvmConvert, StoredModelsThroughOnnx) {
  const fs::path models = stored::shared() / "conformance/cvm/models";
  if (!fs::exists(models)) GTEST_SKIP() << models << " is not there";
  for (const auto& entry : fs::recursive_directory_iterator(models)) {
    if (entry.path().filename() != "symbol") continue;
    const fs::path folder = entry.path().parent_path();
    auto graph = read_model(folder.string(), LoadOptions());
    if (!graph.ok()) continue;
    SCOPED_TRACE(folder.string());
    const std::vector<int64_t> expected = answers(ir::Graph(*graph));
    for (bool custom : {false, true}) {
      ir::Graph copy(*graph);
      auto written = to_onnx(copy, {{}, custom, {}});
      if (!custom && !written.ok()) {
        EXPECT_NE(written.error().text().find("cvm_non_max_suppression"), std::string::npos) << written.error().text();
        continue;
      }
      ASSERT_TRUE(written.ok()) << written.error().text();
      auto read = read_model_bytes(written->model.text(), {});
      ASSERT_TRUE(read.ok()) << read.error().text();
      EXPECT_EQ(answers(ir::Graph(*read)), expected);
      auto back = to_cvm(*read);
      ASSERT_TRUE(back.ok()) << back.error().text();
      auto again = read_model(back->symbol, back->params, nullptr, false);
      ASSERT_TRUE(again.ok()) << again.error().text();
      EXPECT_EQ(answers(std::move(*again)), expected);
    }
  }
}

/// Without custom operations every row that NNEF cannot say is named.
TEST(CvmConvert, WhatNnefLacksIsNamedOneByOne) {
  ir::Graph graph = network();
  auto written = to_nnef(graph, {"net", false});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code(), Code::unsupported);
  for (const char* node : {"node 4 'conv'", "node 5 'shift'", "node 10 'dense'"})
    EXPECT_NE(written.error().text().find(node), std::string::npos) << node << "\n" << written.error().text();
}

/// What was refused, or written so that nobody could read it: attributes that a row requires and that are its default,
/// inputs and lists that are absent, filters that only a run knows, truth that was worked out.
TEST(CvmConvert, SingleOperators) {
  const OneOp cases[] = {
      {"repeat", R"({"repeats": "1"})", {{"data", {2, 3}}}, 8, {2, 3}},
      {"upsampling", R"({"scale": "1"})", {{"data", {1, 2, 3, 3}}}, 8, {1, 2, 3, 3}},
      {"upsampling", R"({"scale": "3"})", {{"data", {1, 2, 3, 3}}}, 8, {1, 2, 9, 9}},
      {"sum", R"({"axis": "[0, 1]", "exclude": "1"})", {{"data", {2, 3}}}, 8, {2, 3}},
      {"max", R"({"axis": "[0, 1]", "exclude": "1"})", {{"data", {2, 3}}}, 8, {2, 3}},
      {"conv2d",
       R"({"channels": "2", "kernel_size": "[3, 3]", "use_bias": "0"})",
       {{"x", {1, 2, 6, 6}}, {"data", {2, 2, 3, 3}}},
       8,
       {1, 2, 4, 4}},
      {"conv2d",
       R"({"channels": "2", "kernel_size": "[3, 3]"})",
       {{"data", {1, 2, 6, 6}}, {"w", {2, 2, 3, 3}}, {"b", {2}}},
       7,
       {1, 2, 4, 4}},
      {"where", "{}", {{"c", {2, 3}}, {"data", {2, 3}}, {"z", {2, 3}}}, 8, {2, 3}},
      {"max_pool2d", R"({"pool_size": "[2, 3]"})", {{"data", {1, 2, 6, 7}}}, 9, {1, 2, 5, 5}},
      {"max_pool2d",
       R"({"pool_size": "[3, 2]", "strides": "[2, 3]", "padding": "[1, 0]", "ceil_mode": "1"})",
       {{"data", {2, 2, 6, 7}}},
       32,
       {2, 2, 4, 3}},
      {"max_pool2d",
       R"({"pool_size": "[1, 3]", "strides": "[3, 1]", "padding": "[0, 2]"})",
       {{"data", {1, 2, 5, 3}}},
       20,
       {1, 2, 2, 5}},
  };
  for (const OneOp& c : cases)
    for (const char* to : {"ONNX", "ONNX, custom", "NNEF, custom"}) {
      SCOPED_TRACE(std::string(c.op) + " " + c.attrs + " to " + to);
      const std::vector<int64_t> expected = answers(c.graph());
      ir::Graph graph = c.graph();
      auto read = [&]() -> Result<ir::Graph> {
        if (std::string_view(to).substr(0, 4) == "NNEF") {
          NNEX_ASSIGN(const auto written, to_nnef(graph, {"net", true}));
          return nnef_format::read_nnef(nnef_format::container_of(written), {});
        }
        NNEX_ASSIGN(const auto written, to_onnx(graph, {{}, std::string_view(to) != "ONNX", {}}));
        return read_model_bytes(written.model.text(), {});
      }();
      ASSERT_TRUE(read.ok()) << read.error().text();
      LoadOptions exact;
      exact.exact = true;
      auto model = compile(ir::Graph(*read), exact);
      ASSERT_TRUE(model.ok()) << model.error().text();
      EXPECT_EQ(model->inputs()[0].dtype, DType::i32);
      EXPECT_EQ(model->outputs()[0].dtype, DType::i32);
      EXPECT_EQ(answers(ir::Graph(*read)), expected);
      auto back = to_cvm(*read);
      ASSERT_TRUE(back.ok()) << back.error().text();
      EXPECT_NE(back->symbol.find('"' + std::string(c.op) + '"'), std::string::npos) << back->symbol;
      auto again = read_model(back->symbol, back->params, nullptr, false);
      ASSERT_TRUE(again.ok()) << again.error().text();
      EXPECT_EQ(answers(std::move(*again)), expected);
    }
}

// ---- Networks of whole numbers that were never CVM's

/// A graph of one i32 input `x`; `make` gives its result.
ir::Graph of_input(const Ints& extents, const std::function<ValueId(Builder&, ValueId)>& make) {
  ir::Graph graph;
  Builder b(graph, kMain);
  const ValueId x = graph.add_param(kMain, "x", Type::tensor(DType::i32, Dims(extents.begin(), extents.end())));
  graph.set_results(kMain, {make(b, x)});
  return graph;
}

ValueId i32(Builder& b, int32_t n) { return b.constant(Tensor::scalar<int32_t>(n)); }
ValueId clipped(Builder& b, ValueId x, int32_t max) {
  return b("clamp", {x, i32(b, -max), i32(b, max)}, ClampAttrs{Crossed::high});
}

TEST(ToCvm, ComparisonsThatChooseAndFixedPlaces) {
  const std::function<ValueId(Builder&, ValueId)> cases[] = {
      [](Builder& b, ValueId x) {
        const ValueId v = clipped(b, x, 127);
        return b("select", {b("gt", {v, i32(b, 3)}, AnswerAttrs{}), v, b("neg", {v})});
      },
      [](Builder& b, ValueId x) {
        const ValueId v = clipped(b, x, 127), less = b("lt", {v, i32(b, 3)}, AnswerAttrs{});
        const ValueId one = b("cast", {less}, CastAttrs{DType::i32});
        return b("add", {one, b("select", {less, v, b("neg", {v})})});
      },
      [](Builder& b, ValueId x) {
        GatherAttrs rows;
        rows.axis = 1;
        return b("gather", {clipped(b, x, 127), b.constant(Tensor::of<int64_t>(Shape{2}, {-1, 0}))}, rows);
      },
  };
  for (const auto& make : cases) {
    ir::Graph graph = of_input({3, 4}, make);
    const std::vector<int64_t> expected = answers(ir::Graph(graph));
    auto back = to_cvm(graph);
    ASSERT_TRUE(back.ok()) << back.error().text();
    auto again = read_model(back->symbol, back->params, nullptr, false);
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(answers(std::move(*again)), expected);
  }
}

/// Bytes that a cast wraps are not what CVM would pool.
TEST(ToCvm, WrappedBytesAreRefused) {
  for (const int32_t max : {127, 1023}) {
    ir::Graph graph = of_input({1, 1, 4, 4}, [&](Builder& b, ValueId x) {
      PoolAttrs pool;
      pool.size = {1, 1, 2, 2}, pool.border = PoolBorder::ignore;
      const ValueId bytes = b("cast", {clipped(b, x, max)}, CastAttrs{DType::i8});
      return b("cast", {b("max_pool", {bytes}, pool)}, CastAttrs{DType::i32});
    });
    const auto back = to_cvm(graph);
    EXPECT_EQ(back.ok(), max == 127);
    if (!back.ok()) {
      EXPECT_NE(back.error().text().find("wrap"), std::string::npos) << back.error().text();
    }
  }
}

TEST(ToCvm, InputsWithoutBoundsAreToldOfClip) {
  ir::Graph graph = of_input({2}, [](Builder& b, ValueId x) { return b("relu", {x}); });
  const auto back = to_cvm(graph);
  ASSERT_FALSE(back.ok());
  EXPECT_NE(back.error().text().find("Clip"), std::string::npos) << back.error().text();
}

/// Custom operators are recommended where they would help: NNEF's have no tensors for attributes.
TEST(CvmConvert, CustomIsRecommendedWhereItHelps) {
  for (bool table : {false, true}) {
    ir::Graph graph;
    Builder b(graph, kMain);
    const ValueId x = graph.add_param(kMain, "x", Type::tensor(DType::f32, Dims{Dim(2)}));
    const NodeId id = b.node(custom_op(), {x}, 1, nullptr);
    auto node = std::make_shared<CustomNode>();
    node->domain = "elsewhere", node->name = "looked_up";
    if (table) node->attrs.emplace_back("table", Tensor::of<float>(Shape{2}, {1, 2}));
    graph.set_custom(id, std::move(node));
    graph.set_results(kMain, {graph[id].out[0]});
    graph.set_type(graph[id].out[0], Type::tensor(DType::f32, Dims{Dim(2)}));
    auto written = to_nnef(graph, {"net", false});
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().remedies().empty(), table) << written.error().text();
  }
}

TEST(CvmConvert, FloatsAreRefused) {
  ir::Graph graph;
  Builder b(graph, kMain);
  const ValueId x = graph.add_param(kMain, "x", Type::tensor(DType::f32, Dims{Dim(2)}));
  graph.set_results(kMain, {b("relu", {x})});
  EXPECT_FALSE(to_cvm(graph).ok());
}

/// The option of loading that the program's --exact sets.
TEST(Exact, IsAnOptionOfLoading) {
  LoadOptions options;
  options.exact = true;
  EXPECT_TRUE(compile(network(), options).ok());
  ir::Graph graph;
  Builder b(graph, kMain);
  const ValueId x = graph.add_param(kMain, "x", Type::tensor(DType::f32, Dims{Dim(2)}));
  graph.set_results(kMain, {b("relu", {x})});
  auto refused = compile(std::move(graph), options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::unsupported);
}

}  // namespace
}  // namespace nnex
