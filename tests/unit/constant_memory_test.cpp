// What plans have packed is given back, and every run still has the same answers.

#include "plan/constant_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/mapped_file.h"
#include "nnex/load.h"
#include "nnex/model.h"
#include "onnx_bytes.h"
#include "run/compile.h"

namespace nnex::plan {
namespace {

using namespace nnex::test::onnx;

constexpr int64_t kWidth = 160;

std::string weight(std::string_view name) {
  std::vector<float> w(static_cast<size_t>(kWidth * kWidth));
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i * 37 % 101) / 64 - 0.75f;
  return tensor(name, {kWidth, kWidth}, raw_bytes(w));
}

/// y = x w v, and where `also` is given, z = also(w).
std::string products(int64_t rows, std::string_view also = {}) {
  test::onnx::Graph g{{node("MatMul", {"x", "w"}, {"p"}), node("MatMul", {"p", "v"}, {"y"})},
                      {value("x", {rows, kWidth})},
                      {value("y", {rows, kWidth})},
                      {weight("w"), weight("v")}};
  if (!also.empty()) {
    g.nodes.push_back(node(also, {"w", "x"}, {"z"}));
    g.outputs.push_back(value("z", {kWidth, kWidth}));
  }
  return model(g);
}

Tensor rows_of(int64_t n) {
  Tensor t = Tensor::make(DType::f32, Shape{n, kWidth}).value();
  for (int64_t i = 0; i < t.count(); ++i)
    t.mutable_as<float>()[static_cast<size_t>(i)] = static_cast<float>(i % 13) / 8 - 0.5f;
  return t;
}

std::string answer(const Model& model, int64_t n) {
  const Value x(rows_of(n));
  auto out = model.session().run(std::span<const Value>(&x, 1));
  EXPECT_TRUE(out.ok()) << out.error().text();
  if (!out.ok()) return {};
  const Tensor& y = *(*out)[0].tensor();
  return {reinterpret_cast<const char*>(y.data()), static_cast<size_t>(y.bytes())};
}

Model loaded(const std::string& bytes) {
  auto model = Model::from_bytes(bytes);
  EXPECT_TRUE(model.ok()) << model.error().text();
  return std::move(model).value();
}

size_t lost(const Model& model) {
  size_t count = 0;
  const ir::Graph& graph = graph_of(model);
  for (uint32_t n = 0; n < graph.value_count(); ++n)
    if (const Tensor* t = graph[ValueId{n}].constant.tensor()) count += ConstantMemory::is_lost(*t);
  return count;
}

TEST(ConstantMemory, PackedWeightsOfFixedExtentsGo) {
  const Model model = loaded(products(3));
  const std::string first = answer(model, 3);
  EXPECT_EQ(answer(model, 3), first);  // another session
  EXPECT_EQ(lost(model), 2U);
  EXPECT_EQ(answer(model, 3), first);
}

TEST(ConstantMemory, SessionsThatBeginTogether) {
  const Model model = loaded(products(3));
  std::vector<std::string> found(4);
  std::vector<std::thread> threads;
  for (std::string& f : found) threads.emplace_back([&] { f = answer(model, 3); });
  for (std::thread& t : threads) t.join();
  for (const std::string& f : found) EXPECT_EQ(f, found[0]);
  EXPECT_EQ(lost(model), 2U);
}

TEST(ConstantMemory, ExtentsThatChangeKeepIt) {
  const Model model = loaded(products(-1));
  const std::string first = answer(model, 3);
  EXPECT_EQ(answer(model, 5).substr(0, first.size()), first);
  EXPECT_EQ(lost(model), 0U);
}

TEST(ConstantMemory, WhatAnotherNodeReadsStays) {
  const Model model = loaded(products(kWidth, "Add"));
  const std::string first = answer(model, kWidth);
  EXPECT_EQ(lost(model), 1U);
  EXPECT_EQ(answer(model, kWidth), first);
}

/// What a caller gave is let go of as a whole, and never written.
TEST(ConstantMemory, FilesInMemoryGoOnceTheirWeightsArePacked) {
  const std::vector<float> bias(static_cast<size_t>(kWidth), 0.25f);
  for (const int64_t rows : {int64_t{3}, int64_t{-1}}) {
    const std::string bytes =
        model({{node("MatMul", {"x", "w"}, {"p"}), node("MatMul", {"p", "v"}, {"q"}), node("Add", {"q", "b"}, {"y"})},
               {value("x", {rows, kWidth})},
               {value("y", {rows, kWidth})},
               {weight("w"), weight("v"), tensor("b", {kWidth}, raw_bytes(bias))}});
    const auto given = std::make_shared<const std::string>(bytes);
    const auto model_of_it = load_model(ModelSource::memory(OwnedBytes{*given, given}));
    ASSERT_TRUE(model_of_it.ok()) << model_of_it.error().text();
    EXPECT_GT(given.use_count(), 1);
    const std::string first = answer(*model_of_it, 3);
    EXPECT_EQ(first, answer(loaded(bytes), 3));
    EXPECT_EQ(given.use_count() == 1, rows > 0);  // open extents need the weights for other plans
    EXPECT_EQ(*given, bytes);
    EXPECT_EQ(answer(*model_of_it, 3), first);
  }
}

TEST(ConstantMemory, AGraphWhoseWeightsAreGoneIsNotGiven) {
  const Model model = loaded(products(3));
  EXPECT_EQ(model.nodes_once(), 2U);
  answer(model, 3);
  const auto late = model.graph();
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code(), Code::invalid_argument);
  EXPECT_NE(late.error().message().find("take the graph before the first run"), std::string::npos);

  const Model other = loaded(products(3));
  const auto early = other.graph();
  ASSERT_TRUE(early.ok());
  answer(other, 3);
  EXPECT_EQ(lost(other), 0U);
  EXPECT_FALSE(early->text().empty());
  EXPECT_TRUE(other.graph().ok());
}

TEST(ConstantMemory, WhoHasSeenTheGraphMayHoldIt) {
  const Model model = loaded(products(3));
  const ir::Graph copy = graph_of(model);
  const std::string first = answer(model, 3);
  EXPECT_EQ(lost(model), 0U);
  auto again = compile(copy);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(answer(*again, 3), first);
  EXPECT_EQ(answer(*again, 3), first);
  EXPECT_EQ(lost(*again), 0U);
}

/// Pages of a mapped file are read again where another plan packs them again.
TEST(ConstantMemory, MappedFilesAreReadAgain) {
  const std::string path = ::testing::TempDir() + "/nnex_constant_memory_" + std::to_string(getpid()) + ".onnx";
  ASSERT_TRUE(write_file(path, products(-1)).ok());
  LoadOptions options;
  options.map = Mapping::always;
  auto model = Model::load(path, options);
  ASSERT_TRUE(model.ok()) << model.error().text();
  const Model copied = loaded(products(-1));
  for (int64_t rows : {1, 7, 300, 1}) EXPECT_EQ(answer(*model, rows), answer(copied, rows));
  std::filesystem::remove(path);
}

/// What is written over a mapped file before the first run would be the answer, or the end of the process.
TEST(ConstantMemory, MappedFilesThatWereWrittenToAreRefused) {
  const std::string path = ::testing::TempDir() + "/nnex_written_" + std::to_string(getpid()) + ".onnx";
  const std::string bytes = products(3);
  const auto put = [&](std::string_view content) { std::ofstream(path, std::ios::binary) << content; };
  const auto load = [&](Mapping map) {
    LoadOptions options;
    options.map = map;
    return Model::load(path, options);
  };
  const Value x(rows_of(3));
  for (const std::string_view after : {std::string_view(bytes), std::string_view(bytes).substr(0, 20)}) {
    put(bytes);
    auto mapped = load(Mapping::always), copied = load(Mapping::never);
    ASSERT_TRUE(mapped.ok() && copied.ok());
    auto session = mapped->session();
    put(after);
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::hours(1));
    const auto run = session.run(std::span<const Value>(&x, 1));
    ASSERT_FALSE(run.ok());
    EXPECT_EQ(run.error().code(), Code::unreadable);
    EXPECT_EQ(run.error().message(), "'" + path + "' was written to while it was mapped; load it again");
    EXPECT_EQ(answer(*copied, 3), answer(loaded(bytes), 3));
  }
  put(bytes);
  auto replaced = load(Mapping::always);
  ASSERT_TRUE(replaced.ok());
  std::filesystem::remove(path);
  put("another file");
  EXPECT_EQ(answer(*replaced, 3), answer(loaded(bytes), 3));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace nnex::plan
