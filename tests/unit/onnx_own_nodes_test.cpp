// Edits of ONNX models: what they do not touch is written in the file's own words, in its own opset.

#include <gtest/gtest.h>

#include "nnex/edit.h"
#include "nnex/load.h"
#include "nnex/model.h"
#include "nnex/save.h"
#include "standards/onnx/text.h"

namespace nnex::own_nodes {
namespace {

/// A model of the textual syntax as bytes.
ModelSource source_of(const std::string& text) {
  auto bytes = onnx_format::parse_model_text(text);
  EXPECT_TRUE(bytes.ok()) << bytes.error().text();
  return ModelSource::memory(*bytes);
}

/// One opset of the standard domain, and com.microsoft beside it.
std::string model(int opset, const std::string& graph) {
  return "<ir_version: " +
         std::to_string(opset < 9    ? 3
                        : opset < 15 ? 7
                                     : 8) +
         ", opset_import: [\"\" : " + std::to_string(opset) + ", \"com.microsoft\" : 1, \"d\" : 1]>\n" + graph;
}

std::string printed(const std::string& bytes) {
  auto text = onnx_format::print_model_text(bytes);
  EXPECT_TRUE(text.ok()) << text.error().text();
  return text.ok() ? text->text : "";
}

std::string written(const Graph& graph) {
  auto files = to_bytes(graph, Format::onnx);
  EXPECT_TRUE(files.ok()) << files.error().text();
  return files.ok() ? std::string(files->at(0).bytes) : "";
}

Graph loaded(const std::string& text) {
  auto graph = load_graph(source_of(text));
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return std::move(*graph);
}

size_t count(const std::string& text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(OnnxOwnNodes, ARenamedInputChangesNames) {
  const struct {
    const char* name;
    std::string model;
    const char* node;  ///< As it is printed afterwards.
  } rows[] = {
      {"Softmax over the last axis", model(11, "g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = 1> (x) }"),
       "y = Softmax <axis: int = 1> (data)"},
      {"Softmax over several", model(11, "g (float[1,2,4,4] x) => (float[1,2,4,4] y) { y = Softmax <axis = 1> (x) }"),
       "y = Softmax <axis: int = 1> (data)"},
      {"Upsample",
       model(9,
             "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1, 1, 2, 2}> { y = Upsample <mode = "
             "\"nearest\"> (x, s) }"),
       "y = Upsample <mode: string = \"nearest\"> (data, s)"},
      {"TopK", model(9, "g (float[2,3] x) => (float[2,2] y, int64[2,2] i) { y, i = TopK <k = 2> (x) }"),
       "y, i = TopK <k: int = 2> (data)"},
      {"Max of three", model(17, "g (float[2] x, float[2] b, float[2] c) => (float[2] y) { y = Max (x, b, c) }"),
       "y = Max (data, b, c)"},
      {"an operator of another domain", model(17, "g (float[2] x) => (float[2] y) { y = com.microsoft.FastGelu (x) }"),
       "y = com.microsoft.FastGelu (data)"},
      {"Relu of opset 7", model(7, "g (float[2] x) => (float[2] y) { y = Relu (x) }"), "y = Relu (data)"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Graph graph = loaded(row.model);
    ASSERT_TRUE(rename(graph, {{"x", "data"}}).ok());
    const std::string text = printed(written(graph));
    EXPECT_EQ(count(text, row.node), 1U) << text;
    EXPECT_EQ(count(text, " = "), count(printed(*onnx_format::parse_model_text(row.model)), " = ")) << text;
    EXPECT_NE(text.find(row.model.substr(1, 13)), std::string::npos) << text;  // the IR version
    const size_t opset = row.model.find("\"\" : ");
    EXPECT_NE(text.find(row.model.substr(opset, row.model.find(',', opset) - opset)), std::string::npos) << text;
  }
}

/// What blocks read of the network goes by the new names, too.
TEST(OnnxOwnNodes, BlocksFollowRenamedValues) {
  const std::string text = model(
      17,
      "g (bool c, float[2] x) => (float[2] y) {\n h = Neg (x)\n y = If (c) <then_branch = t () => (float[2] a) { a = "
      "Relu (h) }, else_branch = e () => (float[2] h2) { h2 = Abs (h) }> }");
  Graph graph = loaded(text);
  ASSERT_TRUE(rename(graph, {{"h", "inside"}}).ok());
  const std::string bytes = written(graph), now = printed(bytes);
  EXPECT_EQ(count(now, "a = Relu (inside)"), 1U) << now;
  EXPECT_EQ(count(now, "h2 = Abs (inside)"), 1U) << now;
  const std::vector<Value> in = {Tensor::scalar<bool>(true), Tensor::of<float>(Shape{2}, {-1, 2})};
  const auto before = load_model(source_of(text))->session().run(in);
  const auto after = load_model(ModelSource::memory(bytes))->session().run(in);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_TRUE(difference((*before)[0], (*after)[0]).same());
}

/// A new name that a block has for something of its own would be hidden there.
TEST(OnnxOwnNodes, NewNamesAreNotHiddenByBlocks) {
  const std::string text = model(17,
                                 "g (bool c, float[2] x) => (float[2] y) {\n h = Neg (x)\n y = If (c) <then_branch = "
                                 "t () => (float[2] b) { a = Relu (h) b = Add (a, h) }, else_branch = e () => "
                                 "(float[2] h2) { h2 = Abs (h) }> }");
  Graph graph = loaded(text);
  ASSERT_TRUE(rename(graph, {{"h", "a"}}).ok());
  const std::vector<Value> in = {Tensor::scalar<bool>(true), Tensor::of<float>(Shape{2}, {-1, 2})};
  const auto before = load_model(source_of(text))->session().run(in);
  const auto after = load_model(ModelSource::memory(written(graph)))->session().run(in);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_TRUE(difference((*before)[0], (*after)[0]).same());
}

TEST(OnnxOwnNodes, WhatIsEditedIsWrittenAnew) {
  Graph graph = loaded(model(11,
                             "g (float[2,3] x) => (float[2,3] y) {\n h = Softmax <axis = 1> (x)\n y = LeakyRelu "
                             "<alpha = 0.25> (h) }"));
  for (NodeId id : graph.nodes())
    if (graph.node(id)->op == "leaky_relu") {
      ASSERT_TRUE(graph.set_attribute(id, "alpha", 0.5).ok());
    }
  const std::string text = printed(written(graph));
  EXPECT_EQ(count(text, "h = Softmax <axis: int = 1> (x)"), 1U) << text;
  EXPECT_EQ(count(text, "y = LeakyRelu <alpha: float = 0.5> (h)"), 1U) << text;
}

/// Where another opset is needed, operators that it has as they were keep their words.
TEST(OnnxOwnNodes, WhatTheOpsetChangesIsWrittenAnew) {
  const std::string text = model(11,
                                 "g (float[1,2,4,4] x) => (float[1,2,4,4] y) {\n h = LeakyRelu <alpha = 0.25> (x)\n"
                                 " m = Max (h, x, h)\n y = Softmax <axis = 1> (m) }");
  ConvertOptions options;
  options.save.onnx.opset = 12;
  auto same = convert_to_bytes(source_of(text), options);
  ASSERT_TRUE(same.ok()) << same.error().text();
  EXPECT_EQ(count(printed(same->files[0].bytes), "y = Softmax <axis: int = 1> (m)"), 1U);
  options.save.onnx.opset = 13;
  auto later = convert_to_bytes(source_of(text), options);
  ASSERT_TRUE(later.ok()) << later.error().text();
  const std::string now = printed(later->files[0].bytes);
  EXPECT_EQ(count(now, "h = LeakyRelu <alpha: float = 0.25> (x)"), 1U) << now;
  EXPECT_EQ(count(now, "Softmax <axis: int = 1> (m)"), 0U) << now;
}

/// Opset 13 has no word for a zero of a reshape that stands for itself; where the extents are none it needs none.
TEST(OnnxOwnNodes, OldFormsGoToTheNextOpset) {
  const std::pair<int, std::string> rows[] = {
      {11, "g (float[N,2,4,4] x) => (float[N,2,4,4] y) { y = Softmax <axis = 1> (x) }"},
      {11, "g (float[1,2,4,4] x) => (float[1,2,4,4] y) { y = Softmax <axis = 2> (x) }"},
      {11, "g (float[1,2,4,4] x) => (float[1,2,4,4] y) { y = Hardmax <axis = 1> (x) }"},
      {21,
       "g (float[N,2,4,4] x) => (float[N,2,4,4] y) <float[2] s = {1, 2}> { y = GroupNormalization <num_groups = 1> "
       "(x, s, s) }"}};
  for (const auto& [opset, graph] : rows) {
    SCOPED_TRACE(graph);
    ConvertOptions options;
    options.save.onnx.opset = 13;
    const auto made = convert_to_bytes(source_of(model(opset, graph)), options);
    EXPECT_TRUE(made.ok()) << made.error().text();
  }
}

TEST(OnnxOwnNodes, OldFormsGoToTheirOwnOpset) {
  const struct {
    int opset;
    std::string graph;
  } rows[] = {
      {11, "g (float[1,2,4,4] x) => (float[1,2,4,4] y) { y = Hardmax <axis = 1> (x) }"},
      {9, "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1, 1, 2, 2}> { y = Upsample (x, s) }"},
      {10, "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1, 1, 2, 2}> { y = Resize (x, s) }"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.graph);
    ConvertOptions options;
    options.save.onnx.opset = row.opset;
    const auto made = convert_to_bytes(source_of(model(row.opset, row.graph)), options);
    EXPECT_TRUE(made.ok()) << made.error().text();
  }
}

TEST(OnnxOwnNodes, StripTakesTextsAndAddsNothing) {
  const std::string text = model(17,
                                 "g (float[2] x) => (float[2] y) {\n [name_of_it] h = Neg (x)\n c = Constant <value "
                                 "= float[2] {1, 2}> ()\n y = Add (h, c) }");
  Graph graph = loaded(text);
  strip(graph);
  const std::string now = printed(written(graph));
  EXPECT_EQ(count(now, "[name_of_it] h = Neg (x)"), 1U) << now;
  EXPECT_EQ(count(now, "c = Constant <value: tensor"), 1U) << now;
  EXPECT_EQ(count(now, "float[2] h"), 0U) << now;  // the description of a value inside
  EXPECT_LE(written(graph).size(), onnx_format::parse_model_text(text)->size());
}

TEST(OnnxOwnNodes, AnExtractedPartKeepsItsFunctions) {
  const std::string text = model(17,
                                 "g (float[2] x) => (float[2] y) {\n a = Relu (x)\n b = d.F (a)\n y = Abs (b) }\n"
                                 "<domain: \"d\", opset_import: [\"\" : 17]>\nF (p) => (q) { q = Neg (p) }");
  const Graph graph = loaded(text);
  auto part = extract(graph, {}, {"b"});
  ASSERT_TRUE(part.ok()) << part.error().text();
  const std::string now = printed(written(*part));
  EXPECT_EQ(count(now, "b = d.F (a)"), 1U) << now;
  EXPECT_EQ(count(now, "q = Neg (p)"), 1U) << now;
}

TEST(OnnxOwnNodes, StripTakesFunctionsThatNobodyCalls) {
  const auto function = [](const std::string& name, const std::string& body) {
    return "\n<domain: \"d\", opset_import: [\"\" : 17, \"d\" : 1]>\n" + name + " (p) => (q) { q = " + body + " (p) }";
  };
  Graph graph = loaded(model(17, "g (float[2] x) => (float[2] y) { y = d.F (x) }") + function("F", "d.G") +
                       function("G", "Neg") + function("H", "Abs"));
  EXPECT_EQ(count(printed(written(graph)), "=> (q)"), 3U);
  strip(graph);
  const std::string now = printed(written(graph));
  EXPECT_EQ(count(now, "=> (q)"), 2U) << now;
  EXPECT_EQ(count(now, "Abs"), 0U) << now;
}

/// An operator that is several nodes here, of which another one reads what no file names.
TEST(OnnxOwnNodes, WhatOthersReadHasAName) {
  const std::string text = model(17,
                                 "g (float[2] x) => (float[2] y, float[2] z) {\n y = com.microsoft.QuickGelu <alpha "
                                 "= 1.5> (x)\n z = com.microsoft.QuickGelu <alpha = 1.5> (x) }");
  Graph graph = loaded(text);
  ASSERT_TRUE(simplify(graph).ok());
  const std::string bytes = written(graph);
  const std::vector<Value> in = {Tensor::of<float>(Shape{2}, {-1, 2})};
  const auto before = load_model(source_of(text))->session().run(in);
  const auto model = load_model(ModelSource::memory(bytes));
  ASSERT_TRUE(model.ok()) << model.error().text() << printed(bytes);
  const auto after = model->session().run(in);
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(difference((*before)[i], (*after)[i]).same());
}

TEST(OnnxOwnNodes, TheIrVersionCameWithTheOpset) {
  const std::string text = model(17, "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul (x, w) }");
  const std::pair<int64_t, const char*> rows[] = {{8, "ir_version: 3"},  {9, "ir_version: 4"},  {10, "ir_version: 5"},
                                                  {11, "ir_version: 6"}, {13, "ir_version: 7"}, {15, "ir_version: 8"},
                                                  {19, "ir_version: 9"}, {21, "ir_version: 10"}};
  for (const auto& [opset, ir] : rows) {
    ConvertOptions options;
    options.save.onnx.opset = opset;
    const auto made = convert_to_bytes(source_of(text), options);
    ASSERT_TRUE(made.ok()) << made.error().text();
    const std::string now = printed(made->files[0].bytes);
    EXPECT_NE(now.find(ir), std::string::npos) << now;
    const auto listed = now.find("float[2] w") < now.find("=>");  // as IR version 3 asks for
    EXPECT_EQ(listed, opset == 8) << now;
    EXPECT_TRUE(load_model(ModelSource::memory(made->files[0].bytes)).ok());
  }
}

}  // namespace
}  // namespace nnex::own_nodes
