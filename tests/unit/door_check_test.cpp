// Models of every standard from the public door: checked and inspected.

#include <gtest/gtest.h>

#include "door.h"
#include "nnex/check.h"
#include "nnex/inspect.h"
#include "nnex/tensor_file.h"

namespace nnex::test {
namespace {

// ---- Checking

TEST(Door, EveryStandardIsChecked) {
  for (Format format : kFormats) {
    SCOPED_TRACE(name(format));
    auto found = check(ModelSource::memory(files_of(format)));
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_TRUE(found->sound()) << found->faults[0].text();
    EXPECT_EQ(found->format, format);
    EXPECT_EQ(found->fault_count, 0u);
    EXPECT_EQ(found->certificate.has_value(), format == Format::cvm);
  }
}

/// The notes of a check without faults.
std::vector<std::string> notes_of(const Result<CheckReport>& report) {
  EXPECT_TRUE(report.ok()) << report.error().text();
  std::vector<std::string> notes;
  if (!report.ok()) return notes;
  for (const Fault& f : report->faults) ADD_FAILURE() << f.text();
  for (const Fault& note : report->notes) notes.push_back(note.message);
  return notes;
}

TEST(Door, ALoneDocumentOfNnefIsCheckedWithWhatIsThere) {
  const std::string text =
      "version 1.0;\ngraph g(x) -> (y)\n{\n  x = external(shape = [2, 3]);\n"
      "  a = variable(shape = [1, 3], label = 'a');\n  b = variable(shape = [1, 3], label = 'b');\n"
      "  m = mul(x, a);\n  y = add(m, b);\n}\n";
  const std::vector<std::string> none = {
      "none of the 2 variables has its tensor file ('a.dat', 'b.dat'): their contents were not checked"};
  EXPECT_EQ(notes_of(check(ModelSource::memory(text))), none);
  EXPECT_EQ(notes_of(check(ModelSource::memory({{"graph.nnef", text}}))), none);
  const Folder folder;
  folder.put({{"net.nnef", text}});
  EXPECT_EQ(notes_of(check(folder / "net.nnef")), none);
  // What lies beside it is read as loading reads it.
  const Tensor three = Tensor::of<float>({1, 3}, {1, 2, 3}), two = Tensor::of<float>({1, 2}, {1, 2});
  ASSERT_TRUE(write_tensor(folder / "a.dat", three).ok());
  EXPECT_EQ(
      notes_of(check(folder / "net.nnef")),
      std::vector<std::string>{"1 of the 2 variables have no tensor file ('b.dat'): their contents were not checked"});
  ASSERT_TRUE(write_tensor(folder / "b.dat", two).ok());
  auto misfit = check(folder / "net.nnef");
  ASSERT_TRUE(misfit.ok()) << misfit.error().text();
  ASSERT_EQ(misfit->faults.size(), 1u);
  EXPECT_NE(misfit->faults[0].where.find("b.dat"), std::string::npos) << misfit->faults[0].text();
  ASSERT_TRUE(write_tensor(folder / "b.dat", three, "", Existing::replace).ok());
  EXPECT_EQ(notes_of(check(folder / "net.nnef")), std::vector<std::string>());
}

TEST(Door, FaultsSayWhatWhereAndWhy) {
  pb::Graph g{{pb::node("Relu", {"x"}, {"a"}), pb::node("Nosuch", {"a"}, {"y"}, {}, "com.example"),
               pb::node("MatMul", {"x", "x"}, {"z"})},
              {pb::value("x", {2, 3})},
              {pb::value("y", {2, 3}), pb::value("z", {2, 3})}};
  auto found = check(ModelSource::memory(pb::model(g, pb::opset("com.example", 1))));
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_FALSE(found->sound());
  EXPECT_EQ(found->fault_count, found->faults.size());
  bool missing = false, product = false;
  for (const Fault& f : found->faults) {
    if (f.severity == Severity::warning && f.code == Code::unsupported) missing = true;
    if (f.severity == Severity::error && f.where.find("MatMul") != std::string::npos) product = true;
    EXPECT_EQ(f.text().find(f.where), 0u);
    EXPECT_NE(f.text().find(f.message), std::string::npos);
  }
  EXPECT_TRUE(missing);
  EXPECT_TRUE(product);

  // A document of NNEF names the rule; found and needed are parts of the sentence.
  auto text =
      check(ModelSource::memory("version 1.0;\ngraph g(x) -> (y)\n{\n  x = external(shape = [2, 3]);\n"
                                "  y = relu(nobody);\n}\n",
                                "g.nnef"));
  ASSERT_TRUE(text.ok()) << text.error().text();
  ASSERT_FALSE(text->faults.empty());
  EXPECT_EQ(text->format, Format::nnef);
  EXPECT_EQ(text->faults[0].where.find("g.nnef:5:"), 0u) << text->faults[0].where;
  // So does one that lacks its first line, under whatever name.
  auto begun = check(ModelSource::memory("# a comment\ngraph g(x) -> (y)\n{\n  x = external(shape = [2, 3]);\n}\n"));
  ASSERT_TRUE(begun.ok()) << begun.error().text();
  ASSERT_FALSE(begun->faults.empty());
  EXPECT_NE(begun->faults[0].message.find("needed the version of the document"), std::string::npos)
      << begun->faults[0].text();
  Files folder = files_of(Format::nnef);
  folder.push_back({"graph.quant", "x: nosuch(bits = 8)\n"});
  auto quant = check(ModelSource::memory(folder));
  ASSERT_TRUE(quant.ok()) << quant.error().text();
  ASSERT_FALSE(quant->faults.empty());
  EXPECT_EQ(quant->faults[0].rule[0], 'Q') << quant->faults[0].text();
  EXPECT_EQ(quant->faults[0].message.find(quant->faults[0].rule + ": "), 0u);
}

TEST(Door, FoundAndNeeded) {
  Files files = files_of(Format::webnn);
  const size_t shape = files[0].bytes.find('[', files[0].bytes.find("\"shape\""));
  ASSERT_NE(shape, std::string::npos) << files[0].bytes;
  files[0].bytes.insert(shape + 1, "0, ");
  auto found = check(ModelSource::memory(files));
  ASSERT_TRUE(found.ok()) << found.error().text();
  ASSERT_EQ(found->faults.size(), 1u);
  EXPECT_EQ(found->faults[0].needed.find("1 to "), 0u) << found->faults[0].text();
  EXPECT_FALSE(found->faults[0].during.empty());
}

TEST(Door, IntegerModelsHaveACertificate) {
  auto found = check(ModelSource::memory(cvm_files()));
  ASSERT_TRUE(found.ok()) << found.error().text();
  ASSERT_TRUE(found->certificate.has_value());
  EXPECT_TRUE(found->certificate->safe);
  EXPECT_EQ(found->blame, CvmBlame::none);
  ASSERT_FALSE(found->certificate->nodes.empty());
  for (const NodeProof& n : found->certificate->nodes) {
    EXPECT_FALSE(n.overflows);
    EXPECT_LE(n.low, n.high);
    EXPECT_FALSE(n.where.empty());
    EXPECT_GT(n.bits_proven, 0);
  }

  Files broken = cvm_files();
  const std::string shift = "shift_bit";
  broken[0].bytes.replace(broken[0].bytes.find(shift), shift.size(), "shaft_bit");
  auto refused = check(ModelSource::memory(broken));
  ASSERT_TRUE(refused.ok()) << refused.error().text();
  EXPECT_FALSE(refused->sound());
  EXPECT_NE(refused->blame, CvmBlame::none);
}

TEST(Door, WhatCannotBeLookedInto) {
  expect_error(check("/nosuch.onnx"), Code::unreadable, "/nosuch.onnx");
  expect_error(check(ModelSource::memory("BZh")), Code::unreadable, "bzip2");
  expect_error(check(ModelSource::memory(cvm_files()[0].bytes)), Code::unreadable, "without its params");
  expect_error(inspect(ModelSource::memory("BZh")), Code::unreadable, "bzip2");
}

/// A label that leaves the folder does so without files, too.
TEST(Door, LabelsAreBelowTheFolder) {
  const Files files = {
      {"graph.nnef",
       "version 1.0;\ngraph g(x) -> (y) { x = external(shape = [1]); a = variable(shape = [1], label = "
       "'../esc'); y = add(x, a); }"},
      {"other.dat", "?"}};
  const auto report = check(ModelSource::memory(files));
  ASSERT_TRUE(report.ok()) << report.error().text();
  ASSERT_FALSE(report->faults.empty());
  EXPECT_EQ(report->faults[0].rule, "C9");
}

// ---- Inspecting

TEST(Door, EveryStandardIsInspected) {
  for (Format format : kFormats) {
    SCOPED_TRACE(name(format));
    auto model = inspect(ModelSource::memory(files_of(format)));
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_EQ(model->format, format);
    ASSERT_EQ(model->inputs.size(), 1u);
    ASSERT_EQ(model->outputs.size(), 1u);
    EXPECT_EQ(model->inputs[0].extents, (std::vector<int64_t>{2, 3}));
    EXPECT_GT(model->nodes, 2);
    int64_t nodes = 0;
    for (const OperatorCount& op : model->operators) nodes += op.nodes;
    EXPECT_EQ(nodes, model->nodes);
    EXPECT_GE(model->parameter_bytes, model->parameters);
    EXPECT_TRUE(model->multiply_add_count.has_value());
    ASSERT_TRUE(model->activation_bytes.has_value());
    EXPECT_GE(*model->activation_bytes, 2 * 6 * 4);  // an operator's input and result
  }
  auto onnx = inspect(ModelSource::memory(onnx_files()));
  EXPECT_EQ(onnx->parameters, 6);
  EXPECT_EQ(onnx->parameter_bytes, 24);
  EXPECT_EQ(*onnx->activation_bytes, 2 * 6 * 4);
  EXPECT_EQ(onnx->opsets, (std::vector<std::pair<std::string, int64_t>>{{"", 17}}));
}

TEST(Door, WorkOfUnknownExtentsIsAFormula) {
  pb::Graph g{{pb::node("MatMul", {"x", "w"}, {"y"})},
              {pb::value("x", {-1, 3})},
              {pb::value("y", {-1, 2})},
              {pb::tensor("w", {3, 2}, pb::raw_bytes(std::vector<float>{1, 2, 3, 4, 5, 6}))}};
  auto model = inspect(ModelSource::memory(pb::model(g)));
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(model->symbols, std::vector<std::string>{"N"});
  EXPECT_FALSE(model->multiply_add_count.has_value());
  EXPECT_EQ(model->multiply_adds, "6*N");
  EXPECT_FALSE(model->activation_bytes.has_value());
  LoadOptions options;
  options.symbols["N"] = 4;
  model = inspect(ModelSource::memory(pb::model(g)), options);
  EXPECT_EQ(model->multiply_add_count, 24);
}

}  // namespace
}  // namespace nnex::test
