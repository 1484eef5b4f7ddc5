// Reading, writing and reading again gives the same network and the same bytes: over the documents of other projects
// that there are, and over documents made by the grammar.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "api/export.h"
#include "base/mapped_file.h"
#include "graph/text/printer.h"
#include "nnef_maker.h"
#include "nnef_written.h"
#include "passes/passes.h"
#include "share.h"
#include "standards/container.h"
#include "standards/nnef/format.h"
#include "standards/nnef/import.h"
#include "standards/nnef/model.h"
#include "standards/nnef/weights.h"
#include "stored.h"

namespace nnex {
namespace {

using namespace nnef_format;

std::filesystem::path vectors() { return stored::shared() / "conformance" / "nnef"; }

/// Names that the first graph leaves out, left out of the second too: a document has a name for everything.
void forget_new_names(const ir::Graph& first, ir::Graph& second) {
  const std::vector<NodeId> a = first.order(), b = second.order();
  ASSERT_EQ(a.size(), b.size());
  const auto forget = [&](const std::vector<ValueId>& x, const std::vector<ValueId>& y) {
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
      if (x[i].valid() && y[i].valid() && first[x[i]].name.empty()) second.set_name(y[i], {});
  };
  for (size_t i = 0; i < a.size(); ++i) {
    forget(first[a[i]].in, second[b[i]].in);
    forget(first[a[i]].out, second[b[i]].out);
  }
}

std::string dump(const ir::Graph& graph) {
  graph_text::PrintOptions options;
  options.elements = 64;
  return graph_text::print(graph, options);
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

void expect_same(const Written& a, const Written& b) {
  EXPECT_EQ(a.graph, b.graph);
  EXPECT_EQ(a.quant, b.quant);
  ASSERT_EQ(a.variables.size(), b.variables.size());
  for (size_t i = 0; i < a.variables.size(); ++i) {
    EXPECT_EQ(a.variables[i].first, b.variables[i].first);
    EXPECT_TRUE(same_bytes(a.variables[i].second, b.variables[i].second)) << a.variables[i].first;
  }
}

/// Reads what was written, with the data that were written.
Result<ir::Graph> read_back(const Written& w, bool files) {
  if (files) return read_nnef(container_of(w), {});
  ImportOptions options;
  options.lowering.variable = [&](const VariableRequest& r) -> Result<Tensor> {
    for (const auto& [label, t] : w.variables)
      if (label == r.label) return t;
    return Error(Code::unreadable, "not written");
  };
  return import_document(w.graph, "written.nnef", options);
}

/// `files`: through tensor files, else in memory.
void expect_identity(ir::Graph graph, bool files) {
  ir::Graph changed = graph;
  auto once = to_nnef(changed, {});
  ASSERT_TRUE(once.ok()) << once.error().text();
  auto second = read_back(*once, files);
  ASSERT_TRUE(second.ok()) << second.error().text() << "\n" << once->graph;
  ir::Graph written_again = *second;
  auto twice = to_nnef(written_again, {});
  ASSERT_TRUE(twice.ok()) << twice.error().text();
  expect_same(*once, *twice);
  ASSERT_TRUE(passes::drop_unused(graph).ok());
  ASSERT_TRUE(passes::drop_unused(*second).ok());
  forget_new_names(graph, *second);
  EXPECT_EQ(dump(graph), dump(*second)) << once->graph;
}

TEST(NnefRoundTrip, DocumentsOfOtherProjects) {
  if (!std::filesystem::is_directory(vectors() / "graphs")) GTEST_SKIP() << "no vectors at " << vectors();
  int read = 0, others = 0;
  for (const auto& unit : std::filesystem::directory_iterator(vectors() / "graphs")) {
    const std::filesystem::path file = unit.path() / "graph.nnef";
    if (!std::filesystem::exists(file)) continue;
    auto bytes = MappedFile::open(file.string(), MapPolicy::never);
    ASSERT_TRUE(bytes.ok());
    ImportOptions options;
    options.weight_seed = 1;
    auto graph = import_document(bytes->bytes(), file.string(), options);
    if (!graph.ok()) {  // dialects, and texts that are meant to be refused
      ++others;
      continue;
    }
    SCOPED_TRACE(unit.path().filename().string());
    ++read;
    expect_identity(std::move(graph).value(), false);
  }
  EXPECT_GE(read, 12);
  RecordProperty("documents", read);
  std::printf("%d documents, %d that the standard does not accept\n", read, others);
}

TEST(NnefRoundTrip, ModelsWithData) {
  if (!std::filesystem::is_directory(vectors() / "containers")) GTEST_SKIP() << "no vectors at " << vectors();
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(vectors() / "containers")) {
    const std::string path = entry.path().string();
    Result<Container> from = Error(Code::unreadable, "no model");
    if (entry.is_directory()) from = Container::of_folder(path);
    if (entry.is_regular_file() && entry.path().extension() != ".json") {
      auto bytes = MappedFile::open(path, MapPolicy::never);
      ASSERT_TRUE(bytes.ok());
      auto owner = std::make_shared<const MappedFile>(std::move(bytes).value());
      from = Container::from_bytes(path, {owner->bytes(), owner});
    }
    if (!from.ok()) continue;
    auto graph = read_nnef(*from, {});
    if (!graph.ok()) continue;  // models that are meant to be refused
    SCOPED_TRACE(path);
    ++read;
    expect_identity(std::move(graph).value(), true);
  }
  EXPECT_GT(read, 0);
}

/// Every operation of the values and rules: documents that are short, and many.
TEST(NnefRoundTrip, DocumentsOfRules) {
  if (!std::filesystem::is_directory(vectors() / "rules")) GTEST_SKIP() << "no vectors at " << vectors();
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(vectors() / "rules")) {
    if (entry.path().extension() != ".nnef") continue;
    auto bytes = MappedFile::open(entry.path().string(), MapPolicy::never);
    ASSERT_TRUE(bytes.ok());
    ImportOptions options;
    options.weight_seed = 1;
    auto graph = import_document(bytes->bytes(), entry.path().string(), options);
    if (!graph.ok()) continue;
    SCOPED_TRACE(entry.path().filename().string());
    ++read;
    expect_identity(std::move(graph).value(), false);
  }
  EXPECT_GE(read, 196);
  std::printf("%d documents\n", read);
}

ir::Graph made(const std::string& text) {
  ImportOptions options;
  options.weight_seed = 7;
  auto graph = import_document(text, "made.nnef", options);
  EXPECT_TRUE(graph.ok()) << graph.error().text() << "\n" << text;
  return graph.ok() ? std::move(graph).value() : ir::Graph();
}

/// Written with its fragments it says the same.
void expect_kept(ir::Graph graph) {
  const std::string before = dump(graph);
  WriteOptions keep;
  keep.keep_fragments = true;
  auto w = to_nnef(graph, keep);
  ASSERT_TRUE(w.ok()) << w.error().text();
  EXPECT_NE(w->graph.find("fragment fragment_0"), std::string::npos);
  auto back = read_back(*w, true);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(dump(*back), before);
}

TEST(NnefRoundTrip, DocumentsByTheGrammar) {
  const auto documents = static_cast<uint64_t>(test::some_of(300));
  for (uint64_t seed = 1; seed <= documents && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::string text = NnefMaker(seed).document(static_cast<int>(seed % 24));
    ir::Graph graph = made(text);
    if (HasFailure()) break;
    // Laid out anew it is the same document, and laid out twice the same text.
    Faults faults;
    const std::string laid_out = format_text(text, "made.nnef", faults);
    ASSERT_TRUE(faults.none()) << faults.list()[0].text();
    EXPECT_EQ(format_text(laid_out, "made.nnef", faults), laid_out);
    EXPECT_EQ(dump(made(laid_out)), dump(graph));
    if (text.find("fragment ") != std::string::npos) expect_kept(graph);
    expect_identity(std::move(graph), true);
  }
}

TEST(NnefRoundTrip, TheSameSeedMakesTheSameDocument) {
  EXPECT_EQ(NnefMaker(5).document(12), NnefMaker(5).document(12));
  EXPECT_NE(NnefMaker(5).document(12), NnefMaker(6).document(12));
}

TEST(NnefRoundTrip, LabelsAndConstantsStayWhatTheyAre) {
  const std::string text =
      "version 1.0;\n\ngraph g(x) -> (y)\n{\n    x = external(shape = [1, 2, 4, 4]);\n"
      "    filter = variable(shape = [2, 2, 3, 3], label = 'block/conv.filter');\n"
      "    bias = variable(shape = [1, 2], label = 'block/conv.bias');\n"
      "    conv = conv(x, filter, bias);\n"
      "    scale = constant(shape = [1, 2], value = [0.5, 2.0]);\n"
      "    y = mul(conv, scale);\n}\n";
  ir::Graph graph = made(text);
  auto w = to_nnef(graph, {});
  ASSERT_TRUE(w.ok()) << w.error().text();
  EXPECT_EQ(w->graph, text);
}

TEST(NnefRoundTrip, PlacesInADocumentOf32BitIntegers) {
  const std::string text =
      "version 1.0;\nextension NNEX_32_bit_integers;\n\ngraph g(x) -> (y, k, p)\n{\n"
      "    x = external(shape = [1, 1, 4]);\n"
      "    k = argmax_reduce(x, axes = [2]);\n"
      "    y, p = max_pool_with_index(x, size = [1, 1, 2], padding = [(0, 0), (0, 0), (0, 0)]);\n}\n";
  ir::Graph graph = made(text);
  ir::Graph again = graph;
  auto w = to_nnef(graph, {});
  ASSERT_TRUE(w.ok()) << w.error().text();
  EXPECT_EQ(w->graph, text);
  auto custom = to_nnef(again, {"", true});
  ASSERT_TRUE(custom.ok()) << custom.error().text();
  EXPECT_EQ(custom->graph, text);
}

}  // namespace
}  // namespace nnex
