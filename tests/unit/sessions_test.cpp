// One Model, many sessions: the same bytes whatever the threads, the history and the neighbours.

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "nnex/model.h"
#include "onnx_bytes.h"
#include "source.h"
#include "tensor/kept.h"

namespace nnex {
namespace {

using namespace nnex::test::onnx;

std::string file_bytes(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

/// Floats in [-1, 1) that depend on the seed and the index alone.
std::vector<float> noise(size_t n, uint32_t seed) {
  std::vector<float> out(n);
  for (size_t i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    out[i] = static_cast<float>(seed >> 8) / (1 << 23) - 1;
  }
  return out;
}

/// Rows through two matrix products, tanh, a normalisation by hand and a softmax.
std::string rows_model() {
  auto weight = [](const char* name, int64_t m, int64_t n, uint32_t seed) {
    return tensor(name, {m, n}, raw_bytes(noise(static_cast<size_t>(m * n), seed)));
  };
  const std::string keep = attr_int("keepdims", 1);
  return model(
      {{node("MatMul", {"x", "a"}, {"p"}), node("Tanh", {"p"}, {"q"}), node("MatMul", {"q", "b"}, {"r"}),
        node("ReduceMean", {"r", "last"}, {"m"}, keep), node("Sub", {"r", "m"}, {"d"}), node("Mul", {"d", "d"}, {"e"}),
        node("ReduceMean", {"e", "last"}, {"v"}, keep), node("Sqrt", {"v"}, {"s"}), node("Div", {"d", "s"}, {"n"}),
        node("Softmax", {"n"}, {"y"}, attr_int("axis", 1))},
       {value("x", {-1, 96})},
       {value("y", {-1, 70})},
       {weight("a", 96, 130, 1), weight("b", 130, 70, 2), longs("last", {1})}},
      {}, 18);
}

/// Either branch of an If, then a sum.
std::string branch_model() {
  auto branch = [](const char* op) {
    return nnex::test::onnx::Graph{{node(op, {"x"}, {"r"})}, {}, {value("r", {-1, 8})}}.bytes();
  };
  return model(
      {{node("ReduceSum", {"x"}, {"t"}, attr_int("keepdims", 0)), node("Greater", {"t", "zero"}, {"c"}),
        node("If", {"c"}, {"b"}, attr_graph("then_branch", branch("Exp")) + attr_graph("else_branch", branch("Neg"))),
        node("Add", {"b", "x"}, {"y"})},
       {value("x", {-1, 8})},
       {value("y", {-1, 8})},
       {tensor("zero", {}, raw_bytes(std::vector<float>{0}))}});
}

struct Net {
  const char* name;
  std::string bytes;
  std::vector<int64_t> row;  ///< Extents of one row of the input.
  bool rows_alone;           ///< Whether a row's answer depends on that row alone.
};

std::vector<Net> nets() {
  return {{"pictures", file_bytes(test::source_dir() + "/models/shapes/model.onnx"), {3, 32, 32}, true},
          {"rows", rows_model(), {96}, true},
          {"branches", branch_model(), {8}, false}};
}

Value batch(const Net& net, const std::vector<uint32_t>& seeds) {
  std::vector<int64_t> extents = {static_cast<int64_t>(seeds.size())};
  extents.insert(extents.end(), net.row.begin(), net.row.end());
  std::vector<float> all;
  for (uint32_t seed : seeds) {
    const auto row = noise(static_cast<size_t>(Shape(net.row).count()), seed);
    all.insert(all.end(), row.begin(), row.end());
  }
  return Tensor::of(Shape(extents), all);
}

/// The answer's bytes, or the error's text.
std::string answer(Session& session, const Value& input) {
  auto out = session.run(std::vector<Value>{input});
  if (!out.ok()) return "error: " + out.error().text();
  const Tensor& t = *(*out)[0].tensor();
  return {reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes())};
}

Session session_of(const Model& model, int threads) {
  SessionOptions options;
  options.threads = threads;
  return model.session(options);
}

TEST(Sessions, SameBytesForAnyThreadsAndHistory) {
  for (const Net& net : nets()) {
    SCOPED_TRACE(net.name);
    auto model = Model::from_bytes(net.bytes);
    ASSERT_TRUE(model.ok()) << model.error().text();
    const Value small = batch(net, {1}), large = batch(net, {1, 2, 3, 4, 5});
    Session first = session_of(*model, 1);
    const std::string expected_small = answer(first, small), expected_large = answer(first, large);
    ASSERT_NE(expected_small.substr(0, 5), "error") << expected_small;
    EXPECT_EQ(answer(first, small), expected_small) << "after another batch";
    for (int threads : {2, 3, 8}) {
      Session s = session_of(*model, threads);
      for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(answer(s, large), expected_large) << threads << " threads, round " << round;
        EXPECT_EQ(answer(s, small), expected_small) << threads << " threads, round " << round;
      }
    }
  }
}

TEST(Sessions, AnUnknownNameIsNamedBeforeWhatIsMissing) {
  auto model = Model::load(test::source_dir() + "/models/shapes/model.onnx");
  ASSERT_TRUE(model.ok()) << model.error().text();
  Session session = model->session();
  const Value x = Tensor::of<float>(Shape{1}, {0});
  const auto error = [&](const std::map<std::string, Value>& inputs) {
    auto out = session.run(inputs);
    return out.ok() ? std::string("none") : out.error().text();
  };
  EXPECT_EQ(error({{"pic", x}}), "no input 'pic' (did you mean 'picture'?); the model has: 'picture'");
  EXPECT_EQ(error({{"picture", x}, {"mask", x}}), "no input 'mask'; the model has: 'picture'");
  EXPECT_EQ(error({}), "input 'picture' is missing; needed f32[N,3,32,32]");
}

TEST(Sessions, ARowsAnswerDoesNotDependOnTheBatch) {
  for (const Net& net : nets()) {
    if (!net.rows_alone) continue;
    SCOPED_TRACE(net.name);
    auto model = Model::from_bytes(net.bytes);
    ASSERT_TRUE(model.ok()) << model.error().text();
    std::vector<uint32_t> seeds;
    for (uint32_t i = 0; i < 17; ++i) seeds.push_back(i + 10);
    for (int threads : {1, 2}) {
      Session s = session_of(*model, threads);
      const std::string all = answer(s, batch(net, seeds));
      std::string alone, in_twos;
      for (uint32_t seed : seeds) alone += answer(s, batch(net, {seed}));
      EXPECT_EQ(alone, all) << threads << " threads";
      for (size_t i = 0; i < seeds.size(); i += 2)
        in_twos += answer(s, batch(net, {seeds.begin() + static_cast<long>(i),
                                         seeds.begin() + static_cast<long>(std::min(i + 2, seeds.size()))}));
      EXPECT_EQ(in_twos, all) << threads << " threads";
    }
  }
}

TEST(Sessions, ManyAtOnce) {
  constexpr int kCallers = 6, kRounds = 8;
  for (const Net& net : nets()) {
    SCOPED_TRACE(net.name);
    auto model = Model::from_bytes(net.bytes);
    ASSERT_TRUE(model.ok()) << model.error().text();
    // Batches of 1 to 3 rows, so that sessions plan anew while others run.
    std::vector<Value> inputs;
    for (uint32_t i = 0; i < 6; ++i) {
      std::vector<uint32_t> seeds;
      for (uint32_t row = 0; row <= i % 3; ++row) seeds.push_back(100 + i * 3 + row);
      inputs.push_back(batch(net, seeds));
    }
    std::vector<std::string> expected(inputs.size());
    auto other = Model::from_bytes(net.bytes);  // so that the shared model starts cold
    ASSERT_TRUE(other.ok());
    Session alone = session_of(*other, 1);
    for (size_t i = 0; i < inputs.size(); ++i) expected[i] = answer(alone, inputs[i]);
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int c = 0; c < kCallers; ++c)
      callers.emplace_back([&, c] {
        Session s = session_of(*model, 1 + c % 3);
        for (int round = 0; round < kRounds; ++round) {
          const size_t i = static_cast<size_t>(c + round) % inputs.size();
          if (answer(s, inputs[i]) != expected[i]) ++wrong;
        }
      });
    for (std::thread& t : callers) t.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Sessions, OneSessionTakesOneCallerAtATime) {
  auto model = Model::from_bytes(rows_model());
  ASSERT_TRUE(model.ok()) << model.error().text();
  const Net net{"rows", {}, {96}, true};
  const Value input = batch(net, {1, 2, 3});
  Session s = session_of(*model, 2);
  const std::string expected = answer(s, input);
  std::atomic<int> wrong{0}, served{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const std::string got = answer(s, input);
        if (got == expected)
          ++served;
        else if (got != "error: the session is running already; use one session a thread")
          ++wrong;
      }
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(served, 0);
}

/// A kernel of the host tries what another thread might while the run is on.
TEST(Sessions, ARunKeepsItsStatesToItself) {
  nnex::Graph g;
  const ValueId x = *g.add_input("x", "f32[2]"), h = *g.add_input("h_in", "f32[2]");
  const ValueId sum = *g.add("com.example:Meddle", {*g.add("add", {x, h})});
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("copy", {sum})}, {"h_out", sum}}).ok());
  Session* session = nullptr;
  int refused = 0, ran = 0;
  CustomOperator op;
  op.domain = "com.example", op.name = "Meddle";
  op.infer = [](const CustomInfer& c) -> Result<std::vector<TypeInfo>> { return std::vector{c.inputs[0]}; };
  op.run = [&](CustomRun& c) -> Status {
    const auto count = [&](const auto& result) {
      refused += !result.ok() && result.error().text() == "the session is running already; use one session a thread";
    };
    ++ran;
    count(session->state("h_in"));
    count(session->set_state("h_in", *c.input(0)));
    count(session->reset_states());
    count(session->prepare());
    session->profile(ran == 2);
    EXPECT_GE(session->memory(), 0);
    return c.set(0, *c.input(0));
  };
  LoadOptions options;
  options.carry = {{"h_out", "h_in"}};
  ASSERT_TRUE(options.custom_operators.add(op).ok());
  auto model = Model::compile(g, options);
  ASSERT_TRUE(model.ok()) << model.error().text();
  Session s = model->session();
  session = &s;
  const Value in = Tensor::of<float>(Shape{2}, {1, 2});
  for (int turn = 1; turn <= 3; ++turn) {
    auto out = s.run(std::vector<Value>{in});
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_EQ((*out)[0].tensor()->as<float>()[1], 2.0f * static_cast<float>(turn));
    EXPECT_EQ(ran, turn);
    EXPECT_EQ(refused, 4 * turn);
    EXPECT_EQ(s.nodes().empty(), turn != 3);  // timed is what begins after profile()
  }
  EXPECT_EQ(s.state("h_in")->tensor()->as<float>()[1], 6.0f);
  EXPECT_TRUE(s.reset_states().ok());
}

/// The first number of every tensor of floats in a value.
std::vector<float> firsts(const Value& v) {
  std::vector<float> out;
  (void)any_tensor(v, [&](const Tensor& t) { return out.push_back(t.as<float>()[0]), false; });
  return out;
}

/// Whoever keeps the memory of its inputs writes the next frame into it.
TEST(Sessions, WhatARunGivesSharesNothingWithItsInputs) {
  auto graph = nnex::Graph::parse(
      "graph g(x: f32[2], list: sequence(f32[2])) -> (same, view, pair, longer, first, wrapped)\n{\n"
      "  same = copy(x);\n  view = reshape(x, [1, 2]);\n  pair = sequence_construct(x, x);\n"
      "  longer = sequence_insert(list, x);\n  first = sequence_at(list, i64[](0));\n  wrapped = optional(pair);\n}\n");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  for (const bool optimize : {true, false}) {
    LoadOptions options;
    options.optimize = optimize;
    auto model = Model::compile(*graph, options);
    ASSERT_TRUE(model.ok()) << model.error().text();
    for (const bool owned : {true, false}) {
      float x[] = {1, 2}, item[] = {3, 4};
      const auto owner = owned ? std::make_shared<const int>(0) : nullptr;
      const auto over = [&](float* data) { return Value(Tensor::borrow(DType::f32, Shape{2}, data, owner)); };
      Session session = model->session();
      auto out = session.run(std::vector<Value>{over(x), Sequence{DType::f32, {over(item), over(item)}}});
      ASSERT_TRUE(out.ok()) << out.error().text();
      x[0] = item[0] = -1;
      const std::vector<float> needed[] = {{1}, {1}, {1, 1}, {3, 3, 1}, {3}, {1, 1}};
      for (size_t i = 0; i < out->size(); ++i) EXPECT_EQ(firsts((*out)[i]), needed[i]) << model->outputs()[i].name;
    }
  }
}

TEST(Sessions, ModelsLoadOnManyThreads) {
  const std::string bytes = rows_model();
  std::vector<std::thread> loaders;
  std::vector<std::string> answers(4);
  for (size_t i = 0; i < answers.size(); ++i)
    loaders.emplace_back([&, i] {
      auto model = Model::from_bytes(bytes);
      if (!model.ok()) return;
      Session s = session_of(*model, 2);
      answers[i] = answer(s, batch({"rows", {}, {96}, true}, {5}));
    });
  for (std::thread& t : loaders) t.join();
  for (const std::string& a : answers) EXPECT_EQ(a, answers[0]);
  EXPECT_EQ(answers[0].size(), 70 * sizeof(float));
}

TEST(Sessions, SessionsOutliveTheirModel) {
  Session s = [] {
    auto model = Model::from_bytes(rows_model());
    EXPECT_TRUE(model.ok());
    return session_of(*model, 1);
  }();
  EXPECT_EQ(answer(s, batch({"rows", {}, {96}, true}, {5})).size(), 70 * sizeof(float));
}

TEST(Sessions, CancelledRunsLeaveTheSessionUsable) {
  auto model = Model::from_bytes(rows_model());
  ASSERT_TRUE(model.ok());
  const Value input = batch({"rows", {}, {96}, true}, {5});
  Session s = session_of(*model, 2);
  const std::string expected = answer(s, input);
  std::atomic<bool> cancel{true};
  RunOptions options;
  options.cancel = &cancel;
  auto out = s.run(std::vector<Value>{input}, options);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), Code::cancelled);
  options.cancel = nullptr;
  options.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  out = s.run(std::vector<Value>{input}, options);
  EXPECT_FALSE(out.ok());
  EXPECT_EQ(answer(s, input), expected);
}

}  // namespace
}  // namespace nnex
