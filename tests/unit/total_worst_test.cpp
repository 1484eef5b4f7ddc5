// What once wrote outside of memory, grew without end or never returned: each by the way it came, and by its brothers.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <limits>

#include "cpu_time.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "nnex/model.h"
#include "onnx_bytes.h"
#include "op_run.h"
#include "ops/join.h"
#include "ops/shape.h"
#include "share.h"

namespace {

using namespace nnex;
using namespace nnex::test::onnx;
using nnex::test::share;
using OnnxGraph = nnex::test::onnx::Graph;
using Clock = std::chrono::steady_clock;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Tensor longs_of(const std::vector<int64_t>& v) { return Tensor::of(Shape{static_cast<int64_t>(v.size())}, v); }

/// y = op(x, list), the list an input of the run or a constant.
std::string with_list(std::string_view op, const std::vector<int64_t>& extents, const std::vector<int64_t>& list,
                      bool constant) {
  OnnxGraph g{{node(op, {"x", "list"}, {"y"})}, {value("x", extents)}, {msg(1, "y")}};
  if (constant)
    g.weights.push_back(longs("list", list));
  else
    g.inputs.push_back(value("list", {static_cast<int64_t>(list.size())}, kInt64));
  return model(g, {}, 18);
}

Result<std::vector<Value>> answer(const std::string& bytes, const std::vector<Value>& in, const LoadOptions& load = {},
                                  const RunOptions& run = {}) {
  auto m = Model::from_bytes(bytes, load);
  if (!m.ok()) return std::move(m).error();
  return m->session({1}).run(in, run);
}

const Tensor kFour = Tensor::of<float>(Shape{4}, {1, 2, 3, 4});

TEST(Worst, AmountsThatPass63BitsAreRefused) {
  const struct {
    const char* op;
    std::vector<int64_t> list;
  } rows[] = {{"Pad", {kMax, kMax}},
              {"Pad", {kMax, 0}},
              {"Pad", {kMax - 4, 1}},
              {"Tile", {kMax}},
              {"Tile", {int64_t{1} << 62}},
              {"Expand", {kMax, 4}},
              {"Expand", {int64_t{1} << 62, 4}},
              {"Reshape", {kMax, kMax}},
              {"Reshape", {int64_t{1} << 62, 4}},
              {"Reshape", {int64_t{1} << 32, int64_t{1} << 32, 4}}};
  for (const auto& row : rows)
    for (bool constant : {false, true}) {
      SCOPED_TRACE(testing::Message() << row.op << " " << text(AttrValue(row.list)) << (constant ? " constant" : ""));
      std::vector<Value> in = {kFour};
      if (!constant) in.emplace_back(longs_of(row.list));
      auto y = answer(with_list(row.op, {4}, row.list, constant), in);
      ASSERT_FALSE(y.ok());
      EXPECT_NE(y.error().code(), Code::internal) << y.error().text();
    }
}

TEST(Worst, ListsOfAnyLengthThatComeAtTheRun) {
  const std::vector<int64_t> ones(300, 1);
  std::vector<int64_t> fours = ones, axes(300);
  fours.back() = 4;
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  const Tensor deep = kFour.reshaped(Shape(fours));
  const struct {
    const char* op;
    Tensor x;
    std::vector<int64_t> list;
    int64_t rank;
  } rows[] = {{"Reshape", kFour, fours, 300},
              {"Tile", deep, ones, 300},
              {"Expand", kFour, fours, 300},
              {"Unsqueeze", kFour, axes, 301},
              {"Squeeze", deep, {axes.begin(), axes.end() - 1}, 1}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.op);
    const std::vector<int64_t> extents(row.x.shape().begin(), row.x.shape().end());
    auto y = answer(with_list(row.op, extents, row.list, false), {row.x, longs_of(row.list)});
    ASSERT_TRUE(y.ok()) << y.error().text();
    EXPECT_EQ((*y)[0].tensor()->shape().rank(), row.rank);
    EXPECT_EQ((*y)[0].tensor()->as<float>()[3], 4);
  }
}

TEST(Worst, FormulasStaySmall) {
  OnnxGraph g{{node("Shape", {"x"}, {"m0"})}, {value("x", {-1})}, {msg(1, "y")}};
  for (int i = 0; i < 200; ++i)
    g.nodes.push_back(node("Mul", {"m" + std::to_string(i), "m" + std::to_string(i)}, {"m" + std::to_string(i + 1)}));
  g.nodes.push_back(node("ConstantOfShape", {"m200"}, {"y"}));
  const double began = test::cpu_seconds();
  auto m = Model::from_bytes(model(g));
  ASSERT_TRUE(m.ok()) << m.error().text();
  EXPECT_LT(test::cpu_seconds() - began, 30);  // 24 of them took 20 s once, and each one more twice as long
  EXPECT_LT(m->outputs()[0].type.size(), 1000U);
  auto y = m->session().run(std::vector<Value>{Tensor::of<float>(Shape{1}, {1})});
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_EQ((*y)[0].tensor()->shape(), Shape{1});
}

/// A loop of `count` steps that keeps `extent` numbers of each.
std::string keeps_all(int64_t count, int64_t extent) {
  const OnnxGraph body{{node("Identity", {"c"}, {"again"}), node("Expand", {"x", "shape"}, {"s"})},
                       {value("i", {}, kInt64), value("c", {}, 9)},
                       {value("again", {}, 9), value("s", {extent})}};
  return model({{node("Loop", {"count", ""}, {"y"}, attr_graph("body", body.bytes()))},
                {value("x", {1})},
                {msg(1, "y")},
                {tensor("count", {}, raw_bytes<int64_t>({count}), kInt64), longs("shape", {extent})}});
}

/// Whether `work` ends within so many megabytes more than there are, in a process of its own.
bool within(long megabytes, const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    const bool fine = work();
    getrusage(RUSAGE_SELF, &after);
    std::_Exit(fine && (after.ru_maxrss - before.ru_maxrss) / 1024 < megabytes ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0;
}

TEST(Worst, ALoopsResultsKeepToTheMemoryLimit) {
  const bool instrumented = share() > 1;  // each byte has a shadow, freed ones wait, a step takes its time
  for (int64_t extent : {1000, 16, 1})
    EXPECT_TRUE(within(instrumented ? 1000 : 300, [&] {
      LoadOptions load;
      load.memory_limit = int64_t{instrumented ? 1 : extent == 1 ? 8 : 100} << 20;
      auto y = answer(keeps_all(int64_t{1} << 40, extent), {Tensor::of<float>(Shape{1}, {1})}, load);
      return !y.ok() && y.error().code() == Code::limit;
    })) << extent;
}

TEST(Worst, ADeadlineEndsLongWork) {
  const int64_t many = 4096;
  const auto f32 = [](const std::vector<int64_t>& e) {
    Tensor t = Tensor::make(DType::f32, Shape(e)).value();
    std::fill_n(t.mutable_as<float>().data(), t.count(), 1.0F);
    return t;
  };
  const std::string equation = msg(5, msg(1, "equation") + msg(4, "ab,ac,ad,bc,bd,cd->") + num(20, 3));
  const struct {
    const char* name;
    std::string bytes;
    std::vector<Value> in;
  } rows[] = {
      {"endless loop", keeps_all(kMax, 0), {f32({1})}},
      {"einsum",
       model({{node("Einsum", {"a", "a", "a", "a", "a", "a"}, {"y"}, equation)},
              {value("a", {many, many})},
              {msg(1, "y")}}),
       {f32({many, many})}},
      {"product",
       model({{node("MatMul", {"a", "a"}, {"y"}), node("MatMul", {"y", "y"}, {"z"}), node("MatMul", {"z", "z"}, {"w"})},
              {value("a", {many, many})},
              {msg(1, "w")}}),
       {f32({many, many})}},
  };
  for (const auto& row : rows) {
    RunOptions run;
    const auto began = Clock::now();
    run.deadline = began + std::chrono::milliseconds(100);
    auto y = answer(row.bytes, row.in, {}, run);
    ASSERT_FALSE(y.ok()) << row.name;
    EXPECT_EQ(y.error().code(), Code::cancelled) << row.name << ": " << y.error().text();
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(20)) << row.name;
  }
}

}  // namespace
