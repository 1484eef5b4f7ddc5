// ONNX to ONNX: a model's messages come out as they went in, but for where large tensors lie.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "nnex/edit.h"
#include "nnex/inspect.h"
#include "nnex/load.h"
#include "nnex/model.h"
#include "nnex/save.h"
#include "onnx_bytes.h"
#include "standards/onnx/write.h"
#include "stored_networks.h"

namespace nnex {
namespace {

using test::onnx::attr_tensor;
using test::onnx::external;
using test::onnx::function;
using test::onnx::kFloat;
using test::onnx::kInt64;
using test::onnx::model;
using test::onnx::msg;
using test::onnx::node;
using test::onnx::num;
using test::onnx::opset;
using test::onnx::tensor;
using test::onnx::value;

namespace fs = std::filesystem;
using Messages = test::onnx::Graph;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("nnex_copy_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const char* name) const { return (path / name).string(); }
};

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Fields that no graph has a place for, each marked by a text: training, a device, functions that nobody calls, fields
/// of a later standard in every message.
std::string rich() {
  const std::string weights = tensor("w", {512}, std::string(2048, '\1')) + msg(12, "of w") + msg(77, "later w");
  std::string typed = num(1, 300) + num(2, kInt64) + msg(8, "v");
  for (int64_t i = 0; i < 300; ++i) typed += num(7, i - 150);
  const std::string few = tensor("few", {2}, std::string(8, '\2'));
  Messages g{{node("Add", {"x", "w"}, {"s"}, msg(6, "of a node") + msg(10, msg(1, "device")) + msg(99, "later node")),
              node("Gather", {"s", "v"}, {"y"}) + msg(9, msg(1, "key") + msg(2, "of a node's")),
              node("Constant", {}, {"c"}, attr_tensor("value", tensor("", {512}, std::string(2048, '\3'))))},
             {value("x", {512})},
             {value("y", {300})},
             {weights, typed, few}};
  const std::string alone = Messages{{node("Neg", {"p"}, {"q"})}, {value("p", {1})}, {value("q", {1})}, {few}}.bytes();
  return num(1, 10) + msg(99, "later model") + msg(7, g.bytes() + msg(14, msg(1, "w")) + msg(98, "later graph")) +
         opset("", 17) + opset("f", 1) + msg(20, msg(1, alone) + msg(4, msg(1, "to") + msg(2, "of training"))) +
         function("Unused", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"}), node("Sin", {"b"}, {"of a function"})}) +
         msg(26, msg(1, "device") + num(2, 4));
}

constexpr std::string_view kMarks[] = {"of w",        "later w",     "of a node",   "of a node's",   "later node",
                                       "later model", "later graph", "of training", "of a function", "device"};

TEST(OnnxCopy, EveryByteStays) {
  const Folder folder;
  const std::string model = rich();
  const auto done = convert(ModelSource::memory(model), folder / "a.onnx");
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(bytes_of(folder / "a.onnx"), model);
  EXPECT_EQ(done->opset, 17);
  EXPECT_EQ(done->operations, 3);
  EXPECT_EQ(done->initializers, 3);
}

TEST(OnnxCopy, AnyOtherByteIsTold) {
  const std::string model = rich();
  const onnx_format::Source source{std::make_shared<int>(), nullptr};
  EXPECT_TRUE(onnx_format::same_model(model, source, model, source, "").ok());
  for (size_t i = 0; i < model.size(); ++i) {
    std::string other = model;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(onnx_format::same_model(model, source, other, source, "").ok()) << "byte " << i;
  }
  const auto cut =
      onnx_format::same_model(model, source, std::string_view(model).substr(0, model.size() - 10), source, "");
  EXPECT_FALSE(cut.ok());
}

TEST(OnnxCopy, AnEditTellsWhatItLeavesOut) {
  const Folder folder;
  auto graph = load_graph(ModelSource::memory(rich()));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const auto done = save(*graph, folder / "a.onnx");
  ASSERT_TRUE(done.ok()) << done.error().text();
  std::vector<std::string> needed;
  for (const char* what :
       {"1 entries of training information", "1 device configurations", "quantization annotations of 1 tensors",
        "1 properties of nodes", "1 device annotations of nodes", "documentation of 1 tensors",
        "1 fields of number 99 in a model, which this version does not know",
        "1 fields of number 98 in a graph, which this version does not know",
        "1 fields of number 99 in a node, which this version does not know",
        "1 fields of number 77 in a tensor, which this version does not know"})
    needed.push_back(std::string("left out, as a network has no place for it: ") + what);
  EXPECT_EQ(done->notes, needed);
}

TEST(OnnxCopy, AnEditTellsOfDenotations) {
  const Folder folder;
  const std::string dims = msg(1, num(1, 1) + msg(3, "DATA_BATCH")) + msg(1, num(1, 3) + msg(3, "DATA_CHANNEL"));
  const std::string x = msg(1, "x") + msg(2, msg(1, num(1, kFloat) + msg(2, dims)) + msg(6, "IMAGE")) +
                        msg(4, msg(1, "key") + msg(2, "of a value"));
  auto graph = load_graph(ModelSource::memory(model({{node("Neg", {"x"}, {"y"})}, {x}, {value("y", {1, 3})}})));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const auto done = save(*graph, folder / "a.onnx");
  ASSERT_TRUE(done.ok()) << done.error().text();
  const std::string left = "left out, as a network has no place for it: ";
  EXPECT_EQ(done->notes, (std::vector<std::string>{left + "1 properties of values", left + "denotations of 1 types",
                                                   left + "denotations of 2 extents"}));
}

TEST(OnnxCopy, TextsOfValuesStay) {
  const Folder folder;
  const Messages g{{node("Neg", {"x"}, {"y"})}, {value("x", {2}) + msg(3, "of x")}, {value("y", {2}) + msg(3, "of y")}};
  auto graph = load_graph(ModelSource::memory(num(1, 8) + msg(7, g.bytes()) + opset("", 17)));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_TRUE(rename(*graph, {{"y", "z"}}).ok());
  const auto done = save(*graph, folder / "a.onnx");
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_TRUE(done->notes.empty());
  const auto again = load_graph(folder / "a.onnx");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->metadata().value_docs, (std::map<std::string, std::string>{{"x", "of x"}, {"z", "of y"}}));
}

TEST(OnnxCopy, TextsOfTheGraphAndItsNodesStay) {
  const Folder folder;
  const Messages g{
      {node("Neg", {"x"}, {"a"}, msg(3, "minus") + msg(6, "of minus")),
       node("Constant", {}, {"c"}, attr_tensor("value", tensor("", {1}, std::string(4, '\1'))) + msg(6, "of c")),
       node("Add", {"a", "c"}, {"b"}), node("Odd", {"b"}, {"y"}, msg(3, "oddity") + msg(6, "of odd"), "elsewhere")},
      {value("x", {2})},
      {value("y", {2})}};
  auto graph =
      load_graph(ModelSource::memory(num(1, 8) + msg(6, "of the model") + msg(7, g.bytes() + msg(10, "of the graph")) +
                                     opset("", 17) + opset("elsewhere", 1)));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_TRUE(rename(*graph, {{"a", "negated"}}).ok());
  const auto done = save(*graph, folder / "a.onnx");
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_TRUE(done->notes.empty());
  const auto again = load_graph(folder / "a.onnx");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->metadata().doc, "of the model");
  EXPECT_EQ(again->metadata().graph_doc, "of the graph");
  EXPECT_EQ(again->metadata().node_docs,
            (std::map<std::string, std::string>{{"c", "of c"}, {"negated", "of minus"}, {"y", "of odd"}}));
  const std::string bytes = bytes_of(folder / "a.onnx");
  EXPECT_TRUE(has(bytes, "of c"));
  EXPECT_TRUE(has(bytes, "oddity")) << "the custom node's name";
}

TEST(OnnxCopy, NamesOfOutputsStay) {
  const std::string same = "<domain: \"d\", opset_import: [\"\" : 17]> same (a) => (a) { b = Neg (a) }";
  const std::string twice = "<domain: \"d\", opset_import: [\"\" : 17]> twice (a) => (b, b) { b = Neg (a) }";
  const std::string head = "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]> ";
  const struct {
    const char* name;
    std::string text;
    std::vector<std::string> outputs;
  } rows[] = {
      {"a function gives back what it is given",
       head + "g (float[3] x) => (float[3] y, float[3] w) { h = Relu (x) y = d.same (h) w = d.same (h) }" + same,
       {"y", "w"}},
      {"an input",
       head + "g (float[3] x) => (float[3] y, float[3] w) { y = d.same (x) w = d.same (x) }" + same,
       {"y", "w"}},
      {"one value under two names",
       head + "g (float[3] x) => (float[3] y, float[3] w) { y, w = d.twice (x) }" + twice,
       {"y", "w"}},
      {"an output that is an input", head + "g (float[3] x) => (float[3] x, float[3] y) { y = Neg (x) }", {"x", "y"}},
  };
  const Folder folder;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto graph = load_graph(ModelSource::memory(row.text));
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    ASSERT_TRUE(inline_calls(*graph).ok());
    const auto done = save(*graph, folder / "names.onnx", {.overwrite = Overwrite::replace});
    ASSERT_TRUE(done.ok()) << done.error().text();
    const auto model = Model::load(folder / "names.onnx");
    ASSERT_TRUE(model.ok()) << model.error().text();
    std::vector<std::string> outputs;
    for (const PortInfo& p : model->outputs()) outputs.push_back(p.name);
    EXPECT_EQ(outputs, row.outputs);
  }
}

TEST(OnnxCopy, DataGoesOutAndComesBack) {
  const Folder folder;
  ConvertOptions apart;
  apart.save.onnx.external_data = true;
  apart.proof.emplace();
  const auto out = convert(ModelSource::memory(rich()), folder / "a.onnx", apart);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_TRUE(out->proof->identical);
  EXPECT_EQ(out->external_file, "a.onnx.data");
  EXPECT_EQ(fs::file_size(folder / "a.onnx.data"), 4096 + 2400);  // w, and on the next page v
  const auto seen = inspect(folder / "a.onnx");
  ASSERT_TRUE(seen.ok()) << seen.error().text();
  EXPECT_EQ(seen->external_files, std::vector<std::string>{"a.onnx.data"});
  const std::string model = bytes_of(folder / "a.onnx");
  for (std::string_view mark : kMarks) EXPECT_TRUE(has(model, mark)) << mark;
  EXPECT_FALSE(has(model, std::string(2048, '\1')));
  EXPECT_TRUE(has(model, std::string(2048, '\3'))) << "a node's own tensor stays";
  EXPECT_TRUE(has(model, tensor("few", {2}, std::string(8, '\2'))));

  ConvertOptions proven;
  proven.proof.emplace();
  const auto back = convert(folder / "a.onnx", folder / "b.onnx", proven);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_TRUE(back->external_file.empty());
  fs::remove(folder / "a.onnx.data");
  const std::string whole = bytes_of(folder / "b.onnx");
  for (std::string_view mark : kMarks) EXPECT_TRUE(has(whole, mark)) << mark;
  EXPECT_TRUE(has(whole, std::string(2048, '\1')));
  const auto again = convert(ModelSource::memory(whole), folder / "c.onnx", proven);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(bytes_of(folder / "c.onnx"), whole);
}

TEST(OnnxCopy, OnlyTheNameChanges) {
  const Folder folder;
  const std::string model = rich();
  ConvertOptions named;
  named.save.name = "h";  // as long as it was
  const auto done = convert(ModelSource::memory(model), folder / "a.onnx", named);
  ASSERT_TRUE(done.ok()) << done.error().text();
  std::string expected = model;
  expected[expected.find(msg(2, "g")) + 2] = 'h';
  EXPECT_EQ(bytes_of(folder / "a.onnx"), expected);
}

TEST(OnnxCopy, BrokenDataElsewhereIsRefused) {
  const Folder folder;
  const Messages g{{node("Neg", {"x"}, {"y"})}, {value("x", {1})}, {value("y", {1})}};
  const std::string training = Messages{{}, {}, {}, {external("t", {4}, {{"location", "gone.data"}})}}.bytes();
  const auto done = convert(ModelSource::memory(model(g, msg(20, msg(1, training)))), folder / "a.onnx");
  ASSERT_FALSE(done.ok());
  EXPECT_TRUE(has(done.error().text(), "tensor 't'")) << done.error().text();
  EXPECT_FALSE(fs::exists(folder / "a.onnx"));
}

class OnnxCopyNetworks : public testing::TestWithParam<stored::Network> {};

TEST_P(OnnxCopyNetworks, EveryByteStays) {
  const Folder folder;
  const std::string path = (GetParam().folder / "model.onnx").string();
  const auto done = convert(path, folder / "a.onnx");
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_TRUE(bytes_of(folder / "a.onnx") == bytes_of(path));
}

INSTANTIATE_TEST_SUITE_P(All, OnnxCopyNetworks, testing::ValuesIn(stored::networks()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace nnex
