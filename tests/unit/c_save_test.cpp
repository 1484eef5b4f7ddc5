// Saving and converting through the C interface: what is asked for, and what is told of the files.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "c_handles.h"
#include "scratch.h"

namespace nnex::test {
namespace {

using SavedHandle = Handle<nnex_saved, nnex_saved_free>;

nnex_save_options as(const char* format, nnex_saved** saved = nullptr) {
  nnex_save_options save = {};
  save.size = sizeof save, save.format = format, save.saved = saved;
  return save;
}

GraphHandle doubled() {
  return parsed("graph main(x: f32[2,2]) -> (y)\n{\n  y = matmul(x, f32[2,2](2, 0, 0, 2));\n}\n");
}

TEST(CSave, AnOpsetIsWritten) {
  const GraphHandle graph = doubled();
  for (int64_t opset : {int64_t{0}, int64_t{21}}) {
    nnex_saved* saved = nullptr;
    nnex_save_options save = as("onnx", &saved);
    save.opset = opset;
    const SourceHandle source = onnx_of(graph.get());
    const auto files =
        made<FilesHandle>([&](nnex_files** f) { return nnex_convert_to_memory(source.get(), nullptr, &save, f); });
    const SavedHandle told(saved);
    ASSERT_NE(saved, nullptr);
    EXPECT_EQ(nnex_saved_number(saved, "opset"), opset ? opset : 17);
    EXPECT_EQ(nnex_saved_number(saved, "initializers"), 1);
    EXPECT_EQ(nnex_saved_number(saved, "arena_bytes"), 0);
    EXPECT_EQ(nnex_saved_number(saved, "letters"), -1);
    EXPECT_STREQ(nnex_saved_file(saved, 0), "model.onnx");
    EXPECT_EQ(nnex_saved_file(saved, 1), nullptr);
    size_t size = 0;
    (void)nnex_files_data(files.get(), 0, &size);
    EXPECT_EQ(nnex_saved_number(saved, "bytes"), static_cast<int64_t>(size));
  }
  nnex_save_options save = as("onnx");
  save.opset = 99;
  const SourceHandle source = onnx_of(graph.get());
  EXPECT_EQ(with(refused<FilesHandle>(
                     [&](nnex_files** f) { return nnex_convert_to_memory(source.get(), nullptr, &save, f); }),
                 "99"),
            "");
}

TEST(CSave, FormsHaveNames) {
  const GraphHandle graph = doubled();
  const struct {
    const char *format, *file;
  } rows[] = {{"onnx", "model.onnx"}, {"onnxtxt", "model.onnx"}, {"nnef", "graph.nnef"},
              {"tar", "model.tar"},   {"tgz", "model.tgz"},      {"webnn", "model.webnn"},
              {"mjs", "model.mjs"},   {"js", "model.js"},        {"c", "model.c"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.format);
    const nnex_save_options save = as(row.format);
    const auto files =
        made<FilesHandle>([&](nnex_files** f) { return nnex_graph_save_to_memory(graph.get(), &save, f); });
    ASSERT_GE(nnex_files_count(files.get()), 1u);
    bool found = false;
    for (size_t i = 0; i < nnex_files_count(files.get()); ++i)
      found = found ||
              std::string_view(nnex_files_name(files.get(), i)).substr(0, 9) == std::string_view(row.file).substr(0, 9);
    EXPECT_TRUE(found) << nnex_files_name(files.get(), 0);
  }
  const nnex_save_options save = as("gguf");
  EXPECT_EQ(refused<FilesHandle>([&](nnex_files** f) { return nnex_graph_save_to_memory(graph.get(), &save, f); }),
            "found format 'gguf'; needed onnx, onnxtxt, nnef, tar, tgz, webnn, mjs, js, cvm, c");
}

TEST(CSave, AProofIsToldOf) {
  const Scratch scratch;
  const GraphHandle graph = doubled();
  const SourceHandle source = onnx_of(graph.get());
  for (bool prove : {true, false}) {
    nnex_saved* saved = nullptr;
    nnex_save_options save = as(nullptr, &saved);
    save.prove = prove, save.overwrite = true;
    ASSERT_EQ(said(nnex_convert(source.get(), scratch.file("net.nnef.tar").c_str(), nullptr, &save)), "ok");
    const SavedHandle told(saved);
    const char* why = nullptr;
    EXPECT_EQ(nnex_saved_proven(saved, &why), prove);
    EXPECT_STREQ(why, "");
    EXPECT_EQ(nnex_saved_number(saved, "variables"), 1);
  }
  nnex_save_options save = as("onnx");
  save.prove = true;
  EXPECT_EQ(refused<FilesHandle>([&](nnex_files** f) { return nnex_graph_save_to_memory(graph.get(), &save, f); }),
            "found save->prove; nnex_convert alone runs what it writes");
}

/// Programs of the first version have nothing behind its last member, and anything in the padding there.
TEST(CSave, MembersOfALaterVersionAreNotReadOfTheFirst) {
  const GraphHandle graph = doubled();
  nnex_saved* saved = nullptr;
  nnex_save_options save = as("onnx", &saved);
  save.prove = true, save.opset = 99;
  save.size = offsetof(nnex_save_options, opset);
  (void)made<FilesHandle>([&](nnex_files** f) { return nnex_graph_save_to_memory(graph.get(), &save, f); });
  EXPECT_EQ(saved, nullptr);
}

TEST(CSave, WhatIsNotWrittenIsNotToldOf) {
  const GraphHandle graph = doubled();
  alignas(8) char elsewhere = 0;
  auto* saved = reinterpret_cast<nnex_saved*>(&elsewhere);
  const nnex_save_options save = as(nullptr, &saved);
  EXPECT_NE(said(nnex_graph_save(graph.get(), "/nowhere/net.onnx", &save)), "ok");
  EXPECT_EQ(saved, nullptr);
  EXPECT_EQ(nnex_saved_number(nullptr, "bytes"), -1);
  EXPECT_EQ(nnex_saved_note(nullptr, 0), nullptr);
  EXPECT_FALSE(nnex_saved_proven(nullptr, nullptr));
  nnex_saved_free(nullptr);
}

}  // namespace
}  // namespace nnex::test
