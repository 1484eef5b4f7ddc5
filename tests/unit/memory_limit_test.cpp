// Small models that ask for much: a run stays within its memory limit and its deadline, and says what it refused.

#include <gtest/gtest.h>

#include <chrono>

#include "base/try.h"
#include "nnex/model.h"
#include "onnx_bytes.h"
#include "tensor/memory_account.h"

namespace {

using namespace nnex;
using namespace nnex::test::onnx;

using OnnxGraph = nnex::test::onnx::Graph;

constexpr int64_t kLimit = int64_t{4} << 20;
constexpr int64_t kBool = 9;

/// A value whose rank and extents are unknown.
std::string any(std::string_view name, int64_t element = kFloat) {
  return msg(1, name) + msg(2, msg(1, num(1, element)));
}

/// y, s = loop of `steps` over the body (i, c, b) -> (go, out, piece?); x is b's first value.
std::string loop(const std::vector<std::string>& body, int64_t element, bool scans, int64_t steps,
                 const std::string& scanned = "out") {
  std::vector<std::string> results = {value("go", {}, kBool), any("out", element)};
  if (scans) results.push_back(any(scanned, element));
  std::vector<std::string> nodes = body;
  nodes.push_back(node("Identity", {"c"}, {"go"}));
  const std::string inner =
      OnnxGraph{nodes, {value("i", {}, kInt64), value("c", {}, kBool), any("b", element)}, results}.bytes();
  return model(
      {{node("Loop", {"n", "", "x"}, scans ? std::vector<std::string>{"y", "s"} : std::vector<std::string>{"y"},
             attr_graph("body", inner))},
       {any("x", element)},
       scans ? std::vector<std::string>{any("y", element), any("s", element)}
             : std::vector<std::string>{any("y", element)},
       {tensor("n", {}, raw_bytes(std::vector<int64_t>{steps}), kInt64)}});
}

Result<std::vector<Value>> run(const std::string& bytes, Value input, std::chrono::milliseconds max = {}) {
  LoadOptions options;
  options.memory_limit = kLimit;
  NNEX_ASSIGN(Model loaded, Model::from_bytes(bytes, options));
  RunOptions limits;
  if (max.count() > 0) limits.deadline = std::chrono::steady_clock::now() + max;
  return loaded.session().run(std::vector<Value>{std::move(input)}, limits);
}

Tensor floats(int64_t n) { return Tensor::of(Shape{n}, std::vector<float>(static_cast<size_t>(n), 1)); }

constexpr int64_t kEver = int64_t{1} << 40;

TEST(MemoryLimit, LoopsThatGrow) {
  const std::string doubling = node("Concat", {"b", "b"}, {"out"}, attr_int("axis", 0));
  const std::string same = node("Identity", {"b"}, {"out"});
  const struct {
    const char* name;
    std::string bytes;
    Value x;
    const char* text;
  } rows[] = {
      {"a state twice as long each step", loop({doubling}, kFloat, false, kEver), floats(16), "limit"},
      {"pieces without end", loop({same}, kFloat, true, kEver), floats(256), "limit of 4194304"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto out = run(row.bytes, row.x, std::chrono::seconds(60));
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code(), Code::limit) << out.error().text();
    EXPECT_NE(out.error().text().find(row.text), std::string::npos) << out.error().text();
  }
}

TEST(MemoryLimit, LoopsWithoutEndMeetTheirDeadline) {
  const std::string same = node("Identity", {"b"}, {"out"});
  const std::string inner = OnnxGraph{
      {same, node("Identity", {"c"}, {"go"})},
      {value("i", {}, kInt64), value("c", {}, kBool), any("b")},
      {value("go", {}, kBool),
       any("out")}}.bytes();
  const std::string nested = node("Loop", {"n", "", "b"}, {"out"}, attr_graph("body", inner));
  for (const std::string& bytes : {loop({same}, kFloat, false, kEver), loop({nested}, kFloat, false, kEver)}) {
    const auto began = std::chrono::steady_clock::now();
    auto out = run(bytes, floats(4), std::chrono::milliseconds(50));
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code(), Code::cancelled) << out.error().text();
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  }
}

TEST(MemoryLimit, AnswersWhoseExtentsTheDataDecide) {
  auto ones = floats(int64_t{1} << 19);
  auto out = run(model({{node("NonZero", {"x"}, {"y"})}, {any("x")}, {any("y", kInt64)}}), ones);
  EXPECT_TRUE(out.ok()) << out.error().text();
  out = run(model({{node("NonZero", {"x"}, {"y"})}, {any("x")}, {any("y", kInt64)}}), floats((int64_t{1} << 19) + 1));
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), Code::limit) << out.error().text();
}

TEST(MemoryLimit, WhatKernelsWorkIn) {
  constexpr int64_t kMany = 400'000;  // 1.6 MB, whose order takes 3.2 MB and its keys as much
  auto out = run(model({{node("Unique", {"x"}, {"y"})}, {any("x")}, {any("y")}}), floats(kMany));
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), Code::limit) << out.error().text();
  EXPECT_NE(out.error().text().find(" bytes to work in on top of "), std::string::npos) << out.error().text();
  const Tensor matrix = Tensor::of(Shape{800, 800}, std::vector<float>(640'000));  // 5.1 MB of doubles
  out = run(model({{node("Det", {"x"}, {"y"})}, {any("x")}, {any("y")}}), matrix);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), Code::limit) << out.error().text();
}

TEST(MemoryLimit, LongNodesMeetTheirDeadline) {
  std::vector<float> lower(700 * 700);
  for (size_t i = 0; i < 700; ++i)
    for (size_t j = 0; j <= i; ++j) lower[i * 700 + j] = 1;
  const Tensor det = Tensor::of(Shape{700, 700}, lower), wave = floats(1 << 17).reshaped({1, 131'072, 1});
  const struct {
    const char* name;
    std::string bytes;
    Tensor x;
  } rows[] = {{"det", model({{node("Det", {"x"}, {"y"})}, {any("x")}, {any("y")}}), det},
              {"dft", model({{node("DFT", {"x"}, {"y"}, attr_int("axis", 1))}, {any("x")}, {any("y")}}), wave}};
  for (const auto& row : rows) {
    auto loaded = Model::from_bytes(row.bytes);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    RunOptions limits;
    limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    const auto out = loaded->session().run(std::vector<Value>{row.x}, limits);
    ASSERT_FALSE(out.ok()) << row.name;
    EXPECT_EQ(out.error().code(), Code::cancelled) << out.error().text();
#ifdef __OPTIMIZE__  // else planning takes longer
    EXPECT_NE(out.error().text().find("node 'y'"), std::string::npos) << "within the node: " << out.error().text();
#endif
  }
}

TEST(MemoryLimit, CountsNeitherEarlierAnswersNorEarlierRuns) {
  LoadOptions options;
  options.memory_limit = kLimit;
  auto loaded = Model::from_bytes(model({{node("NonZero", {"x"}, {"y"})}, {any("x")}, {any("y", kInt64)}}), options);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  Session session = loaded->session();
  std::vector<std::vector<Value>> kept;
  for (int i = 0; i < 6; ++i) {
    auto out = session.run(std::vector<Value>{floats(300'000)});
    ASSERT_TRUE(out.ok()) << out.error().text();
    if (i % 2 == 0) kept.push_back(std::move(out).value());
    out = session.run(std::vector<Value>{floats(600'000)});
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code(), Code::limit) << out.error().text();
  }
  EXPECT_EQ(kept[0][0].tensor()->as<int64_t>()[299'999], 299'999);
}

TEST(MemoryLimit, CopiesOfLongStrings) {
  auto copies = [](int64_t n) {
    return model({{node("Expand", {"x", "s"}, {"y"})}, {any("x", kString)}, {any("y", kString)}, {longs("s", {n})}});
  };
  const Tensor word = Tensor::of(Shape{1}, std::vector<std::string>{std::string(100'000, 'x')});
  auto out = run(copies(10), word);
  EXPECT_TRUE(out.ok()) << out.error().text();
  out = run(copies(1000), word);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), Code::limit);
  EXPECT_NE(out.error().text().find("1000 strings of up to 100000 bytes could pass the run's limit of 4194304 bytes"),
            std::string::npos)
      << out.error().text();
}

// Nor is a text that doubles made where a model is read: each of its steps is one element.
TEST(MemoryLimit, ConstantTextsThatDouble) {
  OnnxGraph graph;
  std::string last = "c";
  for (int i = 0; i < 40; ++i) {
    graph.nodes.push_back(node("StringConcat", {last, last}, {"c" + std::to_string(i)}));
    last = "c" + std::to_string(i);
  }
  graph.nodes.push_back(node("StringConcat", {"x", last}, {"y"}));
  graph.weights.push_back(num(1, 1) + num(2, kString) + msg(6, "ab") + msg(8, "c"));
  graph.inputs = {any("x", kString)};
  graph.outputs = {any("y", kString)};
  auto out = run(model(graph, {}, 20), Tensor::of(Shape{1}, std::vector<std::string>{"x"}));
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), Code::limit) << out.error().text();
}

// Each constant alone is small enough to be computed at loading; all of them are not.
TEST(MemoryLimit, ConstantsThatFoldIntoMuch) {
  OnnxGraph graph;
  std::string last = "x";
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(i), filled = "f" + n, sum = i == 199 ? "y" : "a" + n;
    graph.nodes.push_back(node("Expand", {"one", "s" + n}, {filled}));
    graph.nodes.push_back(node("Add", {last, filled}, {sum}));
    graph.weights.push_back(longs("s" + n, {int64_t{1} << 20}));
    last = sum;
  }
  graph.weights.push_back(tensor("one", {1}, raw_bytes(std::vector<float>{1})));
  graph.inputs = {any("x")};
  graph.outputs = {any("y")};
  auto out = run(model(graph), floats(1));
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), Code::limit) << out.error().text();
}

// A constant joined with itself is read once: each step makes more.
TEST(MemoryLimit, ConstantsThatDouble) {
  OnnxGraph graph;
  std::string last = "c";
  for (int i = 0; i < 8; ++i) {
    graph.nodes.push_back(node("Concat", {last, last}, {"c" + std::to_string(i)}, attr_int("axis", 0)));
    last = "c" + std::to_string(i);
  }
  graph.nodes.push_back(node("ReduceSum", {last}, {"sum"}));
  graph.nodes.push_back(node("Add", {"x", "sum"}, {"y"}));
  graph.weights.push_back(tensor("c", {1 << 16}, raw_bytes(std::vector<float>(1 << 16, 1))));
  graph.inputs = {any("x")};
  graph.outputs = {any("y")};
  auto out = run(model(graph), floats(1));  // 64 MiB in the end
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), Code::limit) << out.error().text();
}

TEST(MemoryLimit, SequencesOfNothing) {
  OnnxGraph graph;
  graph.nodes.push_back(node("SplitToSequence", {"x"}, {"s"}));
  graph.nodes.push_back(node("SequenceLength", {"s"}, {"y"}));
  graph.inputs = {any("x")};
  graph.outputs = {value("y", {}, kInt64)};
  auto out = run(model(graph), *Tensor::make(DType::f32, Shape{1 << 20, 0}));
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), Code::limit) << out.error().text();
}

// An importer's own small constants may be what passes the limit.
TEST(MemoryLimit, ConstantsThatReadingMakes) {
  const std::string bytes =
      model({{node("GlobalAveragePool", {"x"}, {"y"})}, {value("x", {1, 2, 3, 3})}, {value("y", {1, 2, 1, 1})}});
  LoadOptions options;
  options.memory_limit = 1;
  const auto loaded = Model::from_bytes(bytes, options);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code(), Code::limit) << loaded.error().text();
  EXPECT_NE(loaded.error().text().find(" bytes on top of 0 held passes the limit of 1"), std::string::npos)
      << loaded.error().text();
}

TEST(MemoryAccount, TakesUpToItsLimitAndGetsBackWhatIsDropped) {
  auto account = std::make_shared<MemoryAccount>(1000);
  auto outside = Tensor::make(DType::u8, Shape{5000});
  ASSERT_TRUE(outside.ok());
  AccountScope counted(account);
  {
    auto first = Tensor::make(DType::u8, Shape{600});
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(account->held(), 600);
    const Tensor shared = *first;
    auto second = Tensor::make(DType::u8, Shape{401});
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().message(), "a tensor u8[401] of 401 bytes on top of 600 held passes the limit of 1000");
    AccountScope uncounted(nullptr);
    EXPECT_TRUE(Tensor::make(DType::u8, Shape{5000}).ok());
    EXPECT_EQ(account->held(), 600);
  }
  EXPECT_EQ(account->held(), 0);
  EXPECT_TRUE(Tensor::make(DType::u8, Shape{1000}).ok());
}

}  // namespace
