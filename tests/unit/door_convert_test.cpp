// Models of every standard from the public door: converted into every other, into files and into memory.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <iterator>

#include "door.h"
#include "nnex/check.h"

namespace nnex::test {
namespace {

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Where a model of a format is written in a folder.
std::string place_of(Format format) {
  constexpr const char* kPlaces[] = {"to/nnef", "to/net.onnx", "to/net.webnn", "to/cvm"};
  return kPlaces[static_cast<size_t>(format)];
}

/// Writes the model in `first` in the format `to`, reads it again, and runs and checks it.
void convert_and_read(const Files& first, Format to, const std::vector<double>& wanted) {
  const Folder folder;
  fs::create_directories(folder / "to");
  ConvertOptions options;
  if (to == Format::cvm) options.save.format = to;
  options.save.custom = to == Format::nnef;
  auto written = convert(ModelSource::memory(first), folder / place_of(to), options);
  ASSERT_TRUE(written.ok()) << written.error().text();
  EXPECT_EQ(written->format, to);
  ASSERT_FALSE(written->files.empty());
  int64_t bytes = 0;
  for (const std::string& file : written->files) bytes += static_cast<int64_t>(fs::file_size(file));
  EXPECT_EQ(bytes, written->bytes);
  size_t there = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "to")) there += entry.is_regular_file();
  EXPECT_EQ(there, written->files.size());
  expect_answers(load_model(folder / place_of(to)), wanted);
  auto again = check(folder / place_of(to));
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_TRUE(again->sound());
}

/// From each of the formats to each, beginning with the files of one.
void convert_all(const Files& files, const std::vector<Format>& formats, const std::vector<double>& wanted) {
  auto graph = load_graph(ModelSource::memory(files));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  for (Format from : formats) {
    SaveOptions options;
    options.custom = from == Format::nnef;  // NNEF carries CVM's own operations as custom ones
    auto first = to_bytes(*graph, from, options);
    ASSERT_TRUE(first.ok()) << name(from) << ": " << first.error().text();
    for (Format to : formats) {
      SCOPED_TRACE(fmt::format("{} to {}", name(from), name(to)));
      convert_and_read(*first, to, wanted);
    }
  }
}

TEST(Door, FromEachStandardToEach) {
  convert_all(onnx_files(), {Format::nnef, Format::onnx, Format::webnn}, kReal);
  convert_all(cvm_files(), {Format::nnef, Format::onnx, Format::cvm}, kWhole);
}

/// A program of WebNN whose numbers are whole goes to CVM.
TEST(Door, WholeNumbersFromWebnnToCvm) {
  constexpr int64_t kInt32 = 6;
  const auto limit = [](const char* name, int32_t n) {
    return pb::tensor(name, {}, pb::raw_bytes(std::vector<int32_t>{n}), kInt32);
  };
  pb::Graph g{{pb::node("Clip", {"x", "low", "high"}, {"c"}), pb::node("Relu", {"c"}, {"y"})},
              {pb::value("x", {2, 3}, kInt32)},
              {pb::value("y", {2, 3}, kInt32)},
              {limit("low", -127), limit("high", 127)}};
  auto graph = load_graph(ModelSource::memory(pb::model(g)));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  auto program = to_bytes(*graph, Format::webnn);
  ASSERT_TRUE(program.ok()) << program.error().text();
  convert_and_read(*program, Format::cvm, {1, 0, 3, 0, 5, 0});
  auto back = load_graph(ModelSource::memory(cvm_files()));
  ASSERT_TRUE(back.ok());
  auto again = to_bytes(*back, Format::webnn);
  EXPECT_TRUE(again.ok()) << again.error().text();
}

TEST(Door, ConvertingIntoMemoryGivesTheFilesOfAPath) {
  const ModelSource source = ModelSource::memory(onnx_files());
  const struct {
    const char* path;
    const char* below = "";
    bool external = false;
  } rows[] = {{"net.onnx"},   {"net.onnx", "", true}, {"net", "net/"}, {"net.tar"},
              {"net.tar.gz"}, {"net.webnn"},          {"net.mjs"},     {"net.js"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.path);
    const Folder folder;
    ConvertOptions options;
    options.save.onnx.external_data = row.external;
    auto written = convert(source, folder / row.path, options);
    ASSERT_TRUE(written.ok()) << written.error().text();
    auto made = convert_to_bytes(source, options, std::string("elsewhere/") + row.path);
    ASSERT_TRUE(made.ok()) << made.error().text();
    EXPECT_EQ(made->files.size(), written->files.size());
    EXPECT_EQ(made->report.bytes, written->bytes);
    EXPECT_EQ(made->report.operations, written->operations);
    for (const NamedBytes& file : made->files)
      EXPECT_EQ(content(folder / (row.below + file.name)), file.bytes) << file.name;
  }
  const auto unnamed = convert_to_bytes(source);
  ASSERT_TRUE(unnamed.ok()) << unnamed.error().text();
  EXPECT_EQ(unnamed->files[0].name, "model.onnx");
  expect_error(convert_to_bytes(source, {}, "net.zip"), Code::invalid_argument, "says no standard");
}

TEST(Door, MemoryHasTheBytesOfFiles) {
  auto graph = load_graph(ModelSource::memory(onnx_files()));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const struct {
    const char* path;
    Format format;
    NnefPacking packing = NnefPacking::folder;
    WebnnForm form = WebnnForm::program;
    bool external = false;
  } rows[] = {{"model.onnx", Format::onnx},
              {"model.onnx", Format::onnx, NnefPacking::folder, WebnnForm::program, true},
              {"", Format::nnef},
              {"model.tar", Format::nnef, NnefPacking::tar},
              {"model.tgz", Format::nnef, NnefPacking::tgz},
              {"model.webnn", Format::webnn},
              {"model.mjs", Format::webnn, NnefPacking::folder, WebnnForm::module},
              {"model.js", Format::webnn, NnefPacking::folder, WebnnForm::script}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.path);
    SaveOptions options;
    options.format = row.format;
    options.nnef.packing = row.packing;
    options.webnn.form = row.form;
    options.onnx.external_data = row.external;
    const Folder folder;
    auto written = save(*graph, folder / row.path, options);
    ASSERT_TRUE(written.ok()) << written.error().text();
    auto bytes = to_bytes(*graph, row.format, options);
    ASSERT_TRUE(bytes.ok()) << bytes.error().text();
    EXPECT_EQ(bytes->size(), written->files.size());
    for (const NamedBytes& file : *bytes) EXPECT_EQ(content(folder / file.name), file.bytes) << file.name;
    const bool read = row.form == WebnnForm::program;  // modules and scripts are for JavaScript alone
    if (read) expect_answers(load_model(folder / row.path), kReal);
  }
}

TEST(Door, NothingIsOverwrittenUnasked) {
  const Folder folder;
  const std::string path = folder / "net.onnx";
  const ModelSource source = ModelSource::memory(files_of(Format::nnef));
  ASSERT_TRUE(convert(source, path).ok());
  const std::string before = content(path);
  ConvertOptions options;
  options.save.name = "other";
  expect_error(convert(source, path, options), Code::invalid_argument, "exists");
  EXPECT_EQ(content(path), before);
  options.save.overwrite = Overwrite::replace;
  EXPECT_TRUE(convert(source, path, options).ok());
  EXPECT_NE(content(path), before);
}

TEST(Door, AConversionNamesTheModelThatCannotBeRead) {
  const Folder folder;
  for (const Format format : {Format::onnx, Format::nnef}) {
    Files files = files_of(format);
    files[0].bytes.resize(files[0].bytes.size() / 2);
    const ModelSource cut = ModelSource::memory(files, "cut");
    for (const char* to : {"out.onnx", "out.nnef", "out.webnn"})
      expect_error(convert(cut, folder / to), Code::invalid_model, "while reading 'cut'");
  }
  EXPECT_TRUE(fs::is_empty(folder / ""));
}

/// What an error calls an extent, and what it is shown as, fixes it.
TEST(Door, ExtentsWithoutANameAreFixedByWhatIsShown) {
  const Folder folder;
  ConvertOptions options;
  options.proof = ProofOptions{};
  const ModelSource open = ModelSource::memory(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[?,2] x, float[2,?] z, float[3] b) => (float[?,3] y) "
      "{ a = MatMul (x, z) y = Add (a, b) }");
  for (const char* name : {"n.tgz", "n.webnn", "n.c"})
    expect_error(convert(open, folder / name, options), Code::invalid_argument,
                 "input 'x' is f32[?dim0,2], input 'z' is f32[2,?dim1]; ");
  expect_error(convert(open, folder / "n.tgz", options), Code::invalid_argument,
               "needs numbers for extents (x.0, z.1)");
  options.load.symbols = {{"?dim0", 2}, {"z.1", 3}};
  const auto fixed = convert(open, folder / "n.tgz", options);
  ASSERT_TRUE(fixed.ok()) << fixed.error().text();
  EXPECT_TRUE(fixed->proof->holds());
}

/// Numbers that are others in a standard are told, and no mistake of ours where they are seen.
TEST(Door, NumbersThatAreOthersInAStandard) {
  const Folder folder;
  ConvertOptions options;
  options.proof = ProofOptions{};
  const auto text = [](const std::string& body) {
    return ModelSource::memory("<ir_version: 8, opset_import: [\"\" : 17]> " + body);
  };
  const auto doubles = convert(text("g (double[8] x) => (double[8] y) { y = Neg (x) }"), folder / "d.tgz", options);
  ASSERT_TRUE(doubles.ok()) << doubles.error().text();
  EXPECT_EQ(doubles->notes, std::vector<std::string>{"reals of f64 become float32, which NNEF's reals are"});
  const auto powers = convert(text("g (int64[64] x) => (int64[64] y) { a = Mul (x, x) b = Mul (a, a) y = Mul (b, a) }"),
                              folder / "p.tgz", options);  // 128 ^ 6 is none of float32's, 7 ^ 6 is
  ASSERT_TRUE(powers.ok()) << powers.error().text();
  ASSERT_EQ(powers->notes.size(), 1U);
  EXPECT_NE(powers->notes[0].find("stay within 16777216"), std::string::npos) << powers->notes[0];
  expect_error(convert(text("g (int64[2] x) => (int64[2] y) <int64[2] w = {9007199254740993, 1}> { y = Add (x, w) }"),
                       folder / "a.tgz", options),
               Code::unsupported, "it is the same only where whole numbers of add 'y' stay within 16777216");
}

/// What a standard leaves undefined is a reason, and no mistake of ours.
TEST(Door, WhatAFormCannotSay) {
  const Folder folder;
  ConvertOptions options;
  options.proof = ProofOptions{};
  const auto text = [](const std::string& body) {
    return ModelSource::memory("<ir_version: 8, opset_import: [\"\" : 17]> " + body);
  };
  expect_error(convert(text("g (float[2] x) => (float[2] y) <float[2] w = {nan, 1}> { a = Add (x, w) y = Relu (a) }"),
                       folder / "nan.tgz", options),
               Code::unsupported, "computes NaN");
  expect_error(convert(text("g (float[2] x) => () { a = Relu (x) }"), folder / "none.webnn", options),
               Code::unsupported, "no output");
  const auto indexed =
      convert(text("g (float[3] x, int64[2] i) => (float[2] y) { y = Gather (x, i) }"), folder / "i.tgz", options);
  ASSERT_TRUE(indexed.ok()) << indexed.error().text();
  ASSERT_EQ(indexed->notes.size(), 1U);
  EXPECT_NE(indexed->notes[0].find("not negative"), std::string::npos) << indexed->notes[0];
  ASSERT_FALSE(indexed->proof->probes.empty());
  EXPECT_NE(indexed->proof->probes[0].note.find("not negative"), std::string::npos);
  const auto wide = convert(text("g (float[200] x, int64[8] i) => (float[8] y) { y = Gather (x, i) }"),
                            folder / "wide.tgz", options);  // from -128 on every index is one of the table
  ASSERT_TRUE(wide.ok()) << wide.error().text();
  for (const Probe& p : wide->proof->probes) EXPECT_EQ(p.outcome, ProbeOutcome::same) << p.name;
  const auto less = [&](int64_t by) {
    const std::string all = fmt::format("{0},{0},{0},{0},{0},{0},{0},{0}", by);
    return convert(text("g (float[200] x, int64[8] i) => (float[8] y) <int64[8] b = {" + all +
                        "}> { j = Sub (i, b) y = Gather (x, j) }"),
                   folder / fmt::format("less{}.tgz", by), options);
  };
  const auto once = less(9), always = less(200);
  ASSERT_TRUE(once.ok()) << once.error().text();
  EXPECT_EQ(once->proof->unproven, "");  // some of the edges are larger
  EXPECT_FALSE(once->proof->probes[0].counts);
  EXPECT_NE(once->proof->probes[0].note.find("index -"), std::string::npos) << once->proof->probes[0].note;
  ASSERT_TRUE(always.ok()) << always.error().text();
  EXPECT_NE(always->proof->unproven.find("index -"), std::string::npos) << always->proof->unproven;
  expect_error(load_model(ModelSource::memory(pb::model({{pb::node("Relu", {"x"}, {"y"})},
                                                         {pb::msg(1, "x") + pb::msg(2, pb::msg(1, pb::msg(2, "")))},
                                                         {pb::value("y", {2})}}))),
               Code::invalid_model, "no element type");
}

std::vector<std::string> output_names(const std::string& path) {
  std::vector<std::string> names;
  const auto model = load_model(path);
  EXPECT_TRUE(model.ok()) << model.error().text();
  if (model.ok())
    for (const PortInfo& port : model->outputs()) names.push_back(port.name);
  return names;
}

TEST(Door, OutputsThatAreConstantKeepTheirNames) {
  const Folder folder;
  const auto source = ModelSource::memory(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] z, int32[2] y, int64[1] s) "
      "<int64[2] w = {1, 2}> { z = Relu (x) y = Cast <to = 6> (w) s = Shape (x) }");
  for (const char* file : {"a.webnn", "a.nnef.tgz", "a.onnx"}) {
    const auto written = convert(source, folder / file);
    ASSERT_TRUE(written.ok()) << written.error().text();
    EXPECT_EQ(written->notes, std::vector<std::string>()) << file;
    EXPECT_EQ(output_names(folder / file), (std::vector<std::string>{"z", "y", "s"})) << file;
  }
  const auto twice = ModelSource::memory(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] z, float[2] x) { z = Relu (x) }");
  const auto written = convert(twice, folder / "b.nnef.tgz");
  ASSERT_TRUE(written.ok()) << written.error().text();
  ASSERT_EQ(written->notes.size(), 1U);
  EXPECT_NE(written->notes[0].find("output 'x' is 'x_out'"), std::string::npos) << written->notes[0];
}

/// A choice that is known, by extents too, is what it chooses; a dropout that drops nothing copies.
TEST(Door, WhatIsKnownBeforeARunIsWritten) {
  const Folder folder;
  ConvertOptions options;
  options.proof = ProofOptions{};
  const auto text = [](const std::string& body) {
    return ModelSource::memory("<ir_version: 8, opset_import: [\"\" : 17]> " + body);
  };
  const std::string branches =
      "<then_branch = t () => (float[4] a) { a = Neg (x) }, else_branch = e () => (float[4] b) { b = Abs (x) }>";
  const std::string known[] = {
      "g (float[4] x) => (float[4] y) <bool c = {0}> { y = If (c) " + branches + " }",
      "g (float[4] x) => (float[4] y) <int64[1] four = {4}, int64[1] zero = {0}> { s = Shape (x) e = Equal (s, four) "
      "c = Squeeze (e, zero) y = If (c) " +
          branches + " }",
      "g (float[4] x) => (float[4] y) { a = Relu (x) y = Dropout (a) }"};
  for (size_t i = 0; i < std::size(known); ++i)
    for (const char* ending : {".nnef.tgz", ".webnn", ".c"}) {
      const auto written = convert(text(known[i]), folder / fmt::format("m{}{}", i, ending), options);
      ASSERT_TRUE(written.ok()) << ending << " " << i << ": " << written.error().text();
      EXPECT_EQ(written->proof->unproven, "");
      EXPECT_FALSE(written->proof->probes.empty());
    }
}

TEST(Door, CustomOperatorsAreNamedWhereTheyHelp) {
  const Folder folder;
  const auto text = [](const std::string& body) {
    return ModelSource::memory("<ir_version: 8, opset_import: [\"\" : 17]> " + body);
  };
  const auto remedies = [&](const std::string& body) {
    const auto refused = convert(text(body), folder / "x.nnef.tgz");
    EXPECT_FALSE(refused.ok()) << body;
    return refused.ok() ? 0U : refused.error().remedies().size();
  };
  EXPECT_EQ(remedies("g (float[2] x) => (float[2] y, int64[2] i) <int64[1] k = {2}> { y, i = TopK (x, k) }"), 1U);
  EXPECT_EQ(remedies("g (float[2] x, bool c) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] a) "
                     "{ a = Neg (x) }, else_branch = e () => (float[2] b) { b = Abs (x) }> }"),
            0U);
}

TEST(Door, WhatCannotBeWritten) {
  const Folder folder;
  const ModelSource source = ModelSource::memory(onnx_files());
  expect_error(convert(source, folder / "net.xyz"), Code::invalid_argument, "says no standard");
  ConvertOptions options;
  options.save.format = Format::webnn;
  expect_error(convert(source, folder / "net.xyz", options), Code::invalid_argument, "needed a name in .webnn");
  options.save.format = Format::cvm;
  expect_error(convert(source, folder / "cvm", options), Code::unsupported, "");
  options.save.format = static_cast<Format>(9);
  expect_error(convert(source, folder / "net.onnx", options), Code::invalid_argument, "no format 9");
  auto graph = load_graph(source);
  expect_error(to_bytes(*graph, static_cast<Format>(9)), Code::invalid_argument, "no format 9");
  options.save = {};
  options.save.webnn.form = static_cast<WebnnForm>(9);
  expect_error(to_bytes(*graph, Format::webnn, options.save), Code::invalid_argument,
               "option 'webnn.form': found 9; needed one of its 3 choices");
  options.save.nnef.packing = static_cast<NnefPacking>(9);
  expect_error(to_bytes(*graph, Format::nnef, options.save), Code::invalid_argument,
               "option 'nnef.packing': found 9; needed one of its 3 choices");
  EXPECT_FALSE(fs::exists(folder / "net.onnx"));
}

}  // namespace
}  // namespace nnex::test
