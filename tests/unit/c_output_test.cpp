// Networks as C source: names, loops, memory, and what is refused. tests/c_output.py compiles and runs them.

#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>

#include "nnex/file.h"
#include "nnex/load.h"
#include "nnex/save.h"
#include "ops/table.h"
#include "source.h"
#include "standards/c/write.h"
#include "standards/c/write_text.h"

namespace nnex {
namespace {

using namespace c_format;

Result<std::vector<NamedBytes>> as_c(const std::string& body, const SaveOptions& options = {}) {
  const std::string text = "version 1.0;\nextension KHR_enable_operator_expressions;\n" + body;
  auto graph = load_graph(ModelSource::memory(text, "x.nnef"));
  if (!graph.ok()) return std::move(graph).error();
  return to_bytes(*graph, Format::c, options);
}

/// The number behind a #define of the header.
int64_t defined(const std::vector<NamedBytes>& files, const std::string& name) {
  const std::string& header = files[1].bytes;
  const size_t at = header.find("#define " + name + " ");
  return at == std::string::npos ? -1 : std::stoll(header.substr(at + 9 + name.size()));
}

TEST(COutput, NamesAreWordsOfCThatNobodyHas) {
  const struct {
    const char *wanted, *name;
  } rows[] = {
      {"conv1", "conv1"},
      {"conv1", "conv1_2"},
      {"conv/1:0", "conv_1_0"},
      {"conv.1.0", "conv_1_0_2"},
      {"int", "int_"},
      {"int", "int__2"},
      {"0", "x_0"},
      {"", "x"},
      {"__reserved__", "reserved"},
      {"Bild-Größe", "Bild_Gr_e"},
      {"class", "class_"},
      {"NULL", "NULL_"},
      {"*/ x /*", "x_2"},
      {"inputs", "inputs_"},
      {"LANES", "LANES_"},
      {"SIZE_MAX", "SIZE_MAX_"},
      {"M_PIl", "M_PIl_"},  // of GNU C
      {"math_errhandling", "math_errhandling_"},
      {"static_cast", "static_cast_"},
      {"X", "X"},
      {"Xs", "Xs"},
      {"I", "I_"},
  };
  std::set<std::string> taken;
  for (const auto& row : rows) EXPECT_EQ(identifier(row.wanted, "x", taken), row.name) << row.wanted;
  EXPECT_EQ(identifier(std::string(500, 'a'), "x", taken).size(), 48U);
  EXPECT_EQ(identifier(std::string(500, 'a'), "x", taken), std::string(48, 'a').append("_2"));
}

TEST(COutput, FilesAreNamedAsCompilersTakeThem) {
  const struct {
    const char *path, *says;
  } rows[] = {{"A.C", "'A.C': needed a name in .c, as compilers take .C for C++"},
              {".c", "'.c' is an ending alone; needed a name before it"},
              {"w5/.c", "'w5/.c' is an ending alone; needed a name before it"},
              {"w5/.onnx", "'w5/.onnx' is an ending alone; needed a name before it"},
              {".tar.gz", "'.tar.gz' is an ending alone; needed a name before it"}};
  const auto graph = load_graph(ModelSource::memory(
      "version 1.0;\ngraph g(x) -> (y) { x = external<scalar>(shape = [2]); y = sqrt(x); }", "x.nnef"));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  for (const auto& row : rows) {
    const auto saved = save(*graph, row.path);
    ASSERT_FALSE(saved.ok()) << row.path;
    EXPECT_EQ(saved.error().message(), row.says);
  }
}

/// Squares are rounded to the element's type, as every formula of nnex does: the sum of large ones is infinite in all.
TEST(COutput, SquaresOverflowAsTheRowsDo) {
  for (const char* body : {"y = l2_normalization(x, axes = [0]);", "y = rms_pool(x, size = [2], border = 'ignore');"}) {
    const auto files = as_c(std::string("graph g(x) -> (y) { x = external(shape = [8]); ") + body + " }");
    ASSERT_TRUE(files.ok()) << files.error().text();
    EXPECT_NE((*files)[0].bytes.find("sum += (float)("), std::string::npos) << (*files)[0].bytes;
    EXPECT_NE((*files)[0].bytes.find("(float)sum"), std::string::npos) << (*files)[0].bytes;
  }
}

TEST(COutput, CommentsEndWhereTheyEnd) {
  for (const char* text : {"*/ int evil; /*", "a\nb", "a\\", "what?\?/", "/**/", "**//", "\x01\xff"}) {
    const std::string safe = comment_text(text);
    for (const char* bad : {"*/", "/*", "\n", "\\", "??"}) EXPECT_EQ(safe.find(bad), std::string::npos) << text;
  }
  EXPECT_EQ(comment_text("node 'conv1'"), "node 'conv1'");
}

TEST(COutput, LoopsJoinAxesThatAllOperandsWalkEvenly) {
  Text text;
  Nest({2, 1, 3, 4}, {{"y", {12, 12, 4, 1}}, {"x", {0, 0, 4, 1}}}).write(text, [&](const auto& at) {
    text.line("{} = {};", at[0], at[1]);
  });
  EXPECT_EQ(text.text(), R"(  for (long i0 = 0; i0 < 2; ++i0) {
    for (long i1 = 0; i1 < 12; ++i1) {
      y[i0 * 12 + i1] = x[i1];
    }
  }
)");
}

TEST(COutput, LiteralsHaveEveryBit) {
  EXPECT_EQ(literal(0.1, DType::f32), "0x1.99999ap-4f");
  EXPECT_EQ(literal(-2, DType::f64), "-2.0");
  EXPECT_EQ(literal(Tensor::scalar<int64_t>(INT64_MIN), 0), "INT64_MIN");
  EXPECT_EQ(literal(Tensor::scalar<int32_t>(-7), 0), "-7");
  EXPECT_EQ(literal(-std::numeric_limits<double>::infinity(), DType::f32), "-INFINITY");
}

TEST(COutput, LiteralsAreThoseOfCInEveryLocale) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  const char* comma = nullptr;
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ru_RU.UTF-8", "de_DE", "fr_FR"})
    if (!comma) comma = std::setlocale(LC_NUMERIC, name);
  if (!comma) GTEST_SKIP() << "no locale with a decimal comma is here";
  const std::string text = literal(0.1, DType::f32);
  std::setlocale(LC_NUMERIC, before.c_str());
  EXPECT_EQ(text, "0x1.99999ap-4f");
}

TEST(COutput, WhatDiesInALoopIsWrittenOver) {  // the norm's result, of which tanh is made
  const auto files = as_c(
      "graph g(x) -> (z) { x = external(shape = [1000]); y = softmax(x, axes = [0]); t = tanh(y); "
      "z = softmax(t, axes = [0]); }");
  ASSERT_TRUE(files.ok()) << files.error().text();
  EXPECT_EQ(defined(*files, "MODEL_ARENA_BYTES"), 4032);
}

TEST(COutput, MemoryIsUsedAgain) {  // of ten results of 4,000 bytes two live at a time, and the last is the caller's
  std::string body = "graph g(x) -> (y9) { x = external(shape = [1000]); y0 = softmax(x, axes = [0]); ";
  for (int i = 1; i < 10; ++i) body += fmt::format("y{} = softmax(y{}, axes = [0]); ", i, i - 1);
  const auto files = as_c(body + "}");
  ASSERT_TRUE(files.ok()) << files.error().text();
  ASSERT_EQ(files->size(), 2U);
  EXPECT_EQ((*files)[0].name, "model.c");
  EXPECT_EQ(defined(*files, "MODEL_ARENA_BYTES"), 2 * 4032);
  // One function serves all ten.
  const std::string& source = (*files)[0].bytes;
  EXPECT_NE(source.find("static void model_1_softmax"), source.npos) << source;
  EXPECT_EQ(source.find("static void model_"), source.rfind("static void model_"));
}

TEST(COutput, MapsShareALoop) {
  const auto files = as_c("graph g(x) -> (y) { x = external(shape = [8]); y = tanh(x * 2.0 + 1.0) / (abs(x) + 1.0); }");
  ASSERT_TRUE(files.ok()) << files.error().text();
  EXPECT_EQ(defined(*files, "MODEL_ARENA_BYTES"), 64);
  const std::string& source = (*files)[0].bytes;
  EXPECT_EQ(source.find("for ("), source.rfind("for ("));
}

TEST(COutput, ResultsThatNoStepMakesAreCopied) {
  const auto files = as_c(
      "graph g(x) -> (a, b, c) { x = external(shape = [2,3]); a = reshape(x, shape = [6]); "
      "b = sqrt(x); c = reshape(b, shape = [3,2]); }");
  ASSERT_TRUE(files.ok()) << files.error().text();
  const std::string& source = (*files)[0].bytes;
  EXPECT_NE(source.find("(inputs->x, outputs->a)"), std::string::npos) << source;
  EXPECT_NE(source.find("(outputs->b, outputs->c)"), std::string::npos) << source;
}

TEST(COutput, WhatNobodyUsesIsNotDeclared) {  // compilers warn of it
  const auto files = as_c("graph g(x) -> (y) { x = external(shape = [2,3]); y = sqrt(x); }");
  ASSERT_TRUE(files.ok()) << files.error().text();
  EXPECT_EQ((*files)[0].bytes.find("memory"), std::string::npos);
}

TEST(COutput, RowsWithoutAFunctionStandInTheDocument) {
  const auto document = read_file(test::source_dir() + "/docs/c-output.md");
  ASSERT_TRUE(document.ok()) << document.error().text();
  const auto has_arrays = [](const auto& ports) {
    return std::all_of(ports.begin(), ports.end(),
                       [](const Port& p) { return !p.type.any_value && (p.type.allowed & (kN | kB)) != 0; });
  };
  for (const OpDef* op : all_ops()) {
    if (has_function(*op) || !op->pure || !op->blocks.empty() || !has_arrays(op->inputs) || !has_arrays(op->outputs))
      continue;
    EXPECT_TRUE(document->find("`" + std::string(op->name) + "`") != std::string::npos)
        << op->name
        << " has no function in C: needed is a body, a formula in src/standards/c/write_maps.cpp, or its name "
        << "among the operators that docs/c-output.md says are left out";
  }
}

TEST(COutput, WhatCannotBeWrittenIsListedWhole) {
  const auto files = as_c(
      "graph g(x, r, i) -> (y, z) { x = external(shape = [1,3,8,8]); r = external(shape = [2,4]); "
      "i = external<integer>(shape = [2]); "
      "y = max_roi_pool(x, r, i, output_size = [2,2]); z = avg_roi_pool(x, r, i, output_size = [2,2]); }");
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().code(), Code::unsupported);
  const std::string text = files.error().message();
  EXPECT_NE(text.find("C cannot say 2 operations:"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  max_roi_pool: C output has no such operation"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  avg_roi_pool: C output has no such operation"), std::string::npos) << text;
}

}  // namespace
}  // namespace nnex
