// A graph is built, walked, edited, printed, parsed, optimised and compiled through include/nnex alone.

#include "nnex/graph.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "nnex/model.h"
#include "nnex/operators.h"
#include "source.h"

namespace {

using nnex::Attributes;
using nnex::BlockId;
using nnex::Graph;
using nnex::Ints;
using nnex::Model;
using nnex::NodeId;
using nnex::Shape;
using nnex::Tensor;
using nnex::Value;
using nnex::ValueId;

template <class R>
std::string said(const R& result) {
  return result.ok() ? "" : result.error().message();
}

Tensor floats(Shape shape, const std::vector<float>& values) { return Tensor::of<float>(shape, values); }

std::vector<float> run(const Graph& graph, const std::vector<Value>& inputs, size_t output = 0) {
  auto model = Model::compile(graph);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().text());
  if (!model.ok()) return {};
  auto out = model->session().run(inputs);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().text());
  if (!out.ok()) return {};
  const auto y = (*out)[output].tensor()->as<float>();
  return {y.begin(), y.end()};
}

/// y = relu(matmul(x, w) + b), x: f32[N,2].
struct Small {
  Graph g;
  ValueId x, w, b, product, sum, y;
  Small() {
    x = *g.add_input("x", "f32[N,2]");
    w = *g.add_constant(floats({2, 3}, {1, 2, 3, 4, 5, 6}), "w");
    b = *g.add_constant(floats({3}, {-10, 0, 10}));
    product = *g.add("matmul", {x, w});
    sum = *g.add("add", {product, b});
    y = *g.add("relu", {sum});
    EXPECT_TRUE(g.set_outputs({{"y", y}}).ok());
  }
};

TEST(GraphApi, BuildsAndRuns) {
  Small s;
  EXPECT_TRUE(s.g.verify().empty());
  EXPECT_EQ(s.g.value(s.product)->type.text, "f32[N,3]");
  EXPECT_EQ(run(s.g, {floats({1, 2}, {1, 1})}), (std::vector<float>{0, 7, 19}));
}

TEST(GraphApi, Walks) {
  Small s;
  ASSERT_EQ(s.g.inputs().size(), 1u);
  ASSERT_EQ(s.g.outputs().size(), 1u);
  ASSERT_EQ(s.g.nodes().size(), 3u);
  std::string ops;
  for (NodeId n : s.g.nodes()) ops += s.g.node(n)->op + " ";
  EXPECT_EQ(ops, "matmul add relu ");
  const auto x = s.g.value(s.x);
  EXPECT_EQ(x->name, "x");
  EXPECT_TRUE(x->parameter_of == s.g.network());
  EXPECT_EQ(x->type.dims, (std::vector<std::string>{"N", "2"}));
  EXPECT_EQ(x->type.extents, (std::vector<int64_t>{-1, 2}));
  ASSERT_EQ(x->users.size(), 1u);
  EXPECT_TRUE(x->users[0].node == s.g.nodes()[0]);
  EXPECT_TRUE(s.g.value(s.w)->constant.tensor());
  EXPECT_TRUE(s.g.value(s.y)->producer == s.g.nodes()[2]);
  EXPECT_TRUE(s.g.find("w") == s.w);
  EXPECT_FALSE(s.g.find("nobody").valid());
  EXPECT_EQ(s.g.symbols(), std::vector<std::string>{"N"});
  EXPECT_EQ(s.g.block(s.g.network())->nodes.size(), 3u);
  s.g.metadata().producer = "a test";
  EXPECT_EQ(Graph(s.g).metadata().producer, "a test");
}

TEST(GraphApi, MistakesOfBuildingAreErrors) {
  Small s;
  const size_t nodes = s.g.nodes().size();
  nnex::AddOptions two, block;
  two.outputs = 2;
  block.blocks = {s.g.add_block()};
  const struct {
    std::string found, needed;
  } rows[] = {
      {said(s.g.add("rellu", {s.x})),
       "no operator 'rellu' (did you mean 'relu'?); a custom one is written 'domain:rellu'"},
      {said(s.g.add("relu", {s.x, s.x})), "relu: found 2 inputs; it takes at most 1"},
      {said(s.g.add("matmul", {s.x})), "matmul: input 1 ('y') is missing"},
      {said(s.g.add("add", {s.x, ValueId()})), "add: input 1 ('y') is missing"},
      {said(s.g.add_node("relu", {s.x}, {}, two)), "relu: found 2 outputs; it has 1"},
      {said(s.g.add_node("relu", {s.x}, {}, block)), "relu: found 1 blocks; it takes 0"},
      {said(s.g.add("relu", {s.x}, {{"slope", 1.0}})), "relu: no attribute 'slope'; it has: nans"},
      {said(s.g.add("softmax", {s.x}, {{"axes", "last"}})), "softmax: attribute 'axes' is 'last' (str); needed ints"},
      {said(s.g.add("softmax", {s.x}, {{"axes", Ints{1}}, {"axes", Ints{0}}})),
       "softmax: attribute 'axes' is given twice"},
      {said(s.g.add("com.example:", {s.x})), "custom operator 'com.example:' has no name"},
      {said(s.g.add_input("x", "f32[2]")), "there is an input 'x' already"},
      {said(s.g.add_input("", "f32[2]")), "an input needs a name"},
      {said(s.g.add_constant(Value())), "a constant is a tensor; found nothing"},
      {said(s.g.add_constant(Tensor::borrow(nnex::DType::f32, {4}, nullptr), "k")),
       "constant 'k': f32[4] has no memory"},
      {said(s.g.set_outputs({{"y", s.y}, {"y", s.sum}})), "two inputs or outputs are called 'y'"},
      {said(s.g.set_outputs({{"", s.y}})), "an output needs a name"},
      {said(s.g.add_parameter(s.g.network(), "p")), "parameters of the network are inputs: add_input() makes them"},
      {said(s.g.set_results(s.g.network(), {s.y})), "results of the network are outputs: set_outputs() names them"},
  };
  for (const auto& row : rows) EXPECT_EQ(row.found, row.needed);
  EXPECT_NE(said(s.g.add_input("z", "f33[2]")).find("'f33[2]' is no type"), std::string::npos);
  EXPECT_EQ(s.g.nodes().size(), nodes);
  EXPECT_EQ(run(s.g, {floats({1, 2}, {1, 1})}), (std::vector<float>{0, 7, 19}));
}

TEST(GraphApi, ShapeRulesAreAskedAtOnce) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[2,3]"), y = *g.add_input("y", "f32[4,5]");
  auto wrong = g.add("matmul", {x, y});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code(), nnex::Code::invalid_model);
  EXPECT_TRUE(g.nodes().empty());
  EXPECT_TRUE(g.value(x)->users.empty());
}

TEST(GraphApi, IdsOfOthersAreRefused) {
  Small a, b;
  EXPECT_FALSE(a.g.value(b.x).ok());
  EXPECT_FALSE(a.g.node(b.g.nodes()[0]).ok());
  EXPECT_FALSE(a.g.block(b.g.network()).ok());
  EXPECT_FALSE(a.g.add("relu", {b.x}).ok());
  EXPECT_FALSE(a.g.erase(b.g.nodes()[2]).ok());
  EXPECT_FALSE(a.g.erase(NodeId()).ok());
  EXPECT_FALSE(a.g.value(ValueId{12345}).ok());
  EXPECT_FALSE(a.g.nodes(BlockId()).ok());
  Graph copy = a.g;  // understands the same ids
  EXPECT_EQ(copy.value(a.w)->name, "w");
  ASSERT_TRUE(copy.set_name(a.w, "weights").ok());
  EXPECT_EQ(a.g.value(a.w)->name, "w");
}

TEST(GraphApi, IdsOfWhatIsGoneAreRefused) {
  Small s;
  const ValueId extra = *s.g.add("neg", {s.y});
  const NodeId node = s.g.value(extra)->producer;
  ASSERT_TRUE(s.g.erase(node).ok());
  EXPECT_FALSE(s.g.value(extra).ok());
  EXPECT_FALSE(s.g.node(node).ok());
  EXPECT_FALSE(s.g.erase(node).ok());
  EXPECT_FALSE(s.g.add("relu", {extra}).ok());
}

TEST(GraphApi, Edits) {
  Small s;
  const std::vector<NodeId> nodes = s.g.nodes();
  // relu -> leaky_relu of another slope, put before it.
  nnex::AddOptions at;
  at.before = nodes[2];
  const NodeId leaky = *s.g.add_node("leaky_relu", {s.sum}, {{"alpha", 0.5}}, at);
  const ValueId made = s.g.node(leaky)->outputs[0];
  ASSERT_TRUE(s.g.replace_uses(s.y, made).ok());
  ASSERT_TRUE(s.g.erase(nodes[2]).ok());
  EXPECT_EQ(s.g.value(s.g.outputs()[0])->name, "y");
  EXPECT_EQ(run(s.g, {floats({1, 2}, {1, 1})}), (std::vector<float>{-2.5, 7, 19}));
  ASSERT_TRUE(s.g.set_attribute(leaky, "alpha", 2.0).ok());
  EXPECT_EQ(run(s.g, {floats({1, 2}, {1, 1})}), (std::vector<float>{-10, 7, 19}));
  ASSERT_TRUE(s.g.set_input(leaky, 0, s.product).ok());
  EXPECT_EQ(run(s.g, {floats({1, 2}, {1, 1})}), (std::vector<float>{5, 7, 9}));
  ASSERT_TRUE(s.g.erase(nodes[1]).ok());
  ASSERT_TRUE(s.g.set_symbols({{"N", 1}}).ok());
  ASSERT_TRUE(s.g.make_constant(s.x, floats({1, 2}, {1, 0})).ok());
  EXPECT_TRUE(s.g.inputs().empty());
  EXPECT_EQ(run(s.g, {}), (std::vector<float>{1, 2, 3}));
  EXPECT_TRUE(s.g.verify().empty());
}

TEST(GraphApi, WhatReadsAConstantFollowsItsExtents) {
  Small s;
  ASSERT_TRUE(s.g.make_constant(s.x, floats({1, 2}, {1, 0})).ok());
  EXPECT_EQ(s.g.value(s.product)->type.text, "f32[1,3]");
  EXPECT_TRUE(s.g.infer().ok());
  EXPECT_EQ(s.g.value(s.y)->type.text, "f32[1,3]");
}

TEST(GraphApi, ABlockThatNobodyTookOverIsNoFault) {
  Small s;
  const BlockId b = s.g.add_block();
  const ValueId p = *s.g.add_parameter(b, "p", "f32[2]");
  auto twice = s.g.add_node("add", {p, s.x}, {}, {.block = b});
  ASSERT_TRUE(twice.ok()) << twice.error().text();
  ASSERT_TRUE(s.g.set_results(b, {p}).ok());
  for (const nnex::Error& e : s.g.verify()) ADD_FAILURE() << e.text();
}

TEST(GraphApi, ANodeHasNoEndOfOutputs) {
  Small s;
  const nnex::AddOptions many = {.outputs = SIZE_MAX};
  EXPECT_EQ(said(s.g.add_node("com.example:Op", {s.x}, {}, many)),
            "custom: found 18446744073709551615 outputs; needed at most 1048576");
  EXPECT_EQ(said(s.g.add_node("split", {s.x}, {{"axis", int64_t{0}}}, many)),
            "split: found 18446744073709551615 outputs; needed at most 1048576");
  auto model = Model::compile([&] {
    EXPECT_TRUE(s.g.add_node("com.example:Op", {s.x}).ok());
    return s.g;
  }());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().message(), "1 operator is missing:\n  com.example.Op");
}

TEST(GraphApi, MistakesOfEditingAreErrors) {
  Small s;
  const std::vector<NodeId> nodes = s.g.nodes();
  const std::string before = s.g.text();
  const struct {
    std::string found, needed;
  } rows[] = {
      {said(s.g.erase(nodes[0])), "matmul cannot go: output 0 of matmul is read by add"},
      {said(s.g.erase(nodes[2])), "relu cannot go: value 'y' is read by the network's outputs"},
      {said(s.g.set_input(nodes[0], 0, s.y)), "matmul: value 'y' is made after it, or in a block it does not see"},
      {said(s.g.set_input(nodes[0], 7, s.x)), "matmul: input 7; it takes 2"},
      {said(s.g.set_input(nodes[0], 0, ValueId())), "matmul: input 0 ('x') cannot be absent"},
      {said(s.g.replace_uses(s.x, s.y)), "value 'y' is made after matmul reads value 'x'; move it before"},
      {said(s.g.set_attribute(nodes[2], "alpha", 1.0)), "relu: no attribute 'alpha'; it has: nans"},
      {said(s.g.set_name(s.x, "y")), "two inputs or outputs would be called 'y'"},
      {said(s.g.make_constant(s.x, floats({3}, {1, 2, 3}))), "value 'x' is f32[N,2]; found f32[3]"},
      {said(s.g.move(nodes[2], nodes[0])), "relu: output 0 of add is made after it, or in a block it does not see"},
      {said(s.g.move_to_end(nodes[0], s.g.network())),
       "output 0 of matmul is read before it is made, or outside its block, by add"},
      {said(s.g.set_symbols({{"M", 1}})), "no symbol 'M'; the inputs have: N"},
      {said(s.g.set_symbols({{"N", 4}, {"x.0", 3}})), "'x.0' is the symbol 'N', which is 4; found 3"},
  };
  for (const auto& row : rows) EXPECT_EQ(row.found, row.needed);
  EXPECT_FALSE(s.g.set_input(nodes[0], 1, s.b).ok());  // [N,2] x [3]
  EXPECT_EQ(s.g.text(), before);
  EXPECT_TRUE(s.g.verify().empty());
}

TEST(GraphApi, AnInsertedNodeGoesOnReadingWhatItReplaces) {
  Small s;
  nnex::AddOptions at;
  at.before = s.g.nodes()[0];
  const NodeId twice = *s.g.add_node("add", {s.x, s.x}, {}, at);
  ASSERT_TRUE(s.g.replace_uses(s.x, s.g.node(twice)->outputs[0]).ok());
  EXPECT_EQ(run(s.g, {floats({1, 2}, {1, 1})}), (std::vector<float>{0, 14, 28}));
}

TEST(GraphApi, AnInputCanBeAnOutput) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[2]");
  ASSERT_TRUE(g.set_outputs({{"a", x}, {"b", x}}).ok());
  EXPECT_EQ(run(g, {floats({2}, {3, 4})}, 1), (std::vector<float>{3, 4}));
  EXPECT_EQ(g.value(g.outputs()[0])->name, "a");
}

/// y = c ? x + 1 : -x
TEST(GraphApi, Branches) {
  Graph g;
  const ValueId c = *g.add_input("c", "bool[]"), x = *g.add_input("x", "f32[2]");
  const ValueId one = *g.add_constant(floats({}, {1}));
  nnex::AddOptions then, otherwise, both;
  then.block = g.add_block(), otherwise.block = g.add_block();
  const NodeId plus = *g.add_node("add", {x, one}, {}, then);
  const NodeId minus = *g.add_node("neg", {x}, {}, otherwise);
  ASSERT_TRUE(g.set_results(then.block, {g.node(plus)->outputs[0]}).ok());
  ASSERT_TRUE(g.set_results(otherwise.block, {g.node(minus)->outputs[0]}).ok());
  both.blocks = {then.block, otherwise.block};
  const auto chosen = g.add_node("if_else", {c}, {}, both);
  ASSERT_TRUE(chosen.ok()) << chosen.error().text();
  EXPECT_FALSE(g.add_node("if_else", {c}, {}, both).ok());  // they have an owner now
  ASSERT_TRUE(g.set_outputs({{"y", g.node(*chosen)->outputs[0]}}).ok());
  EXPECT_TRUE(g.verify().empty());
  EXPECT_FALSE(g.add("relu", {g.node(plus)->outputs[0]}).ok());  // inside a block
  EXPECT_EQ(run(g, {Tensor::scalar<bool>(true), floats({2}, {1, 2})}), (std::vector<float>{2, 3}));
  EXPECT_EQ(run(g, {Tensor::scalar<bool>(false), floats({2}, {1, 2})}), (std::vector<float>{-1, -2}));
  const auto again = Graph::parse(g.text());
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->text(), g.text());
}

/// s doubles n times.
TEST(GraphApi, Loops) {
  Graph g;
  const ValueId n = *g.add_input("n", "i64[]"), x = *g.add_input("x", "f32[2]");
  nnex::AddOptions body, loop;
  body.block = g.add_block();
  EXPECT_TRUE(g.add_parameter(body.block, "i", "i64[]").ok());
  const ValueId go = *g.add_parameter(body.block, "go", "bool[]");
  const ValueId s = *g.add_parameter(body.block, "s", "f32[2]");
  const NodeId twice = *g.add_node("add", {s, s}, {}, body);
  ASSERT_TRUE(g.set_results(body.block, {go, g.node(twice)->outputs[0]}).ok());
  loop.blocks = {body.block};
  const auto made = g.add_node("loop", {n, ValueId(), x}, {}, loop);
  ASSERT_TRUE(made.ok()) << made.error().text();
  ASSERT_TRUE(g.set_outputs({{"y", g.node(*made)->outputs[0]}}).ok());
  EXPECT_EQ(run(g, {Tensor::scalar<int64_t>(3), floats({2}, {1, 2})}), (std::vector<float>{8, 16}));
  // A node cannot stand in a block of its own.
  EXPECT_FALSE(g.move_to_end(*made, body.block).ok());
}

TEST(GraphApi, ABlockThatReadsWhatIsMadeLaterIsRefused) {
  Graph g;
  const ValueId c = *g.add_input("c", "bool[]"), x = *g.add_input("x", "f32[2]");
  const ValueId late = *g.add("neg", {x});
  nnex::AddOptions in, both;
  in.block = g.add_block();
  const NodeId reads = *g.add_node("relu", {late}, {}, in);
  ASSERT_TRUE(g.set_results(in.block, {g.node(reads)->outputs[0]}).ok());
  const BlockId other = g.add_block();
  ASSERT_TRUE(g.set_results(other, {x}).ok());
  both.blocks = {in.block, other}, both.before = g.value(late)->producer;
  EXPECT_FALSE(g.add_node("if_else", {c}, {}, both).ok());
  both.before = NodeId();  // the blocks are still there
  EXPECT_TRUE(g.add_node("if_else", {c}, {}, both).ok());
}

TEST(GraphApi, EditedTypesAreInferredAnew) {
  Small s;
  const ValueId w = *s.g.add_constant(floats({2, 1}, {1, 1}));
  ASSERT_TRUE(s.g.set_input(s.g.nodes()[0], 1, w).ok());
  EXPECT_EQ(s.g.value(s.product)->type.text, "f32[N,1]");
  ASSERT_TRUE(s.g.infer().ok());
  EXPECT_EQ(s.g.value(s.y)->type.text, "f32[N,3]");  // broadcast with the bias
  EXPECT_TRUE(s.g.verify().empty());
}

// A block that no node was given runs never; what it reads is read elsewhere as before.
TEST(GraphApi, BlocksThatNoNodeHasAreNotRun) {
  nnex::Graph g;
  const nnex::ValueId x = *g.add_input("x", "f32[2]");
  const nnex::ValueId e = *g.add("exp", {x});
  nnex::AddOptions inside;
  inside.block = g.add_block();
  ASSERT_TRUE(g.add_node("tanh", {e}, {}, inside).ok());
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("neg", {*g.add("log", {e})})}}).ok());
  nnex::LoadOptions as_read;
  as_read.optimize = false;
  auto model = nnex::Model::compile(g, as_read);
  ASSERT_TRUE(model.ok()) << model.error().text();
  auto out = model->session().run(std::vector<nnex::Value>{nnex::Tensor::of<float>(nnex::Shape{2}, {1, -2})});
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_NEAR((*out)[0].tensor()->as<float>()[1], 2, 1e-5);
}

TEST(GraphApi, OptimizesUnderAnObserver) {
  Small s;
  std::vector<std::string> seen;
  ASSERT_TRUE(s.g.optimize([&](std::string_view pass, const Graph& graph) -> nnex::Status {
                   EXPECT_FALSE(graph.text().empty());
                   seen.emplace_back(pass);
                   return {};
                 })
                  .ok());
  ASSERT_GT(seen.size(), 5u);
  EXPECT_EQ(seen[0], "prepare");
  for (const std::string& pass : Graph::passes()) EXPECT_NE(std::find(seen.begin(), seen.end(), pass), seen.end());
  EXPECT_LT(s.g.nodes().size(), 3u);  // fused
  Small stopped;
  const nnex::Status s2 = stopped.g.optimize(
      [](std::string_view, const Graph&) -> nnex::Status { return nnex::Error(nnex::Code::cancelled, "enough"); });
  EXPECT_EQ(said(s2), "enough");
  Small thrown;
  const nnex::Status s3 = thrown.g.optimize([](std::string_view pass, const Graph&) -> nnex::Status {
    if (pass != "prepare") throw std::runtime_error("boom");
    return {};
  });
  ASSERT_FALSE(s3.ok());
  EXPECT_EQ(s3.error().code(), nnex::Code::fault);
  EXPECT_EQ(s3.error().text(), "boom\n  while the host's observer saw pass '" + Graph::passes()[0] + "'");
}

TEST(GraphApi, AModelGivesItsGraph) {
  Small s;
  nnex::LoadOptions options;
  options.optimize = false;
  const auto model = Model::compile(s.g, options);
  ASSERT_TRUE(model.ok());
  const auto taken = model->graph();
  ASSERT_TRUE(taken.ok());
  const Graph& g = *taken;
  EXPECT_EQ(g.nodes().size(), 3u);
  EXPECT_FALSE(g.value(s.x).ok());  // another graph
  EXPECT_EQ(run(g, {floats({1, 2}, {1, 1})}), (std::vector<float>{0, 7, 19}));
}

/// Runs a graph twice and writes into its inputs and results in between.
void write_between_runs(const std::string& text, Tensor x) {
  const auto graph = Graph::parse(text);
  ASSERT_TRUE(graph.ok()) << said(graph);
  const auto model = Model::compile(*graph);
  ASSERT_TRUE(model.ok()) << said(model);
  nnex::Session session = model->session();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(x.writable()) << text;
    x.mutable_as<float>()[0] = static_cast<float>(i);
    auto out = session.run(std::vector<Value>{x});
    ASSERT_TRUE(out.ok()) << said(out);
    for (Value& v : *out) {
      if (v.tensor()->data() == x.data()) continue;  // it is the input under another shape
      ASSERT_TRUE(v.tensor()->writable()) << text;
      v.tensor()->mutable_as<float>()[0] = 7;
    }
  }
}

TEST(GraphApi, ResultsAreTheCallersAlone) {
  const auto pair = [] { return floats({1, 2}, {1, 2}); };
  write_between_runs("graph g(x: f32[N,2]) -> (y) { y = relu(x); }", pair());
  write_between_runs("graph g(x: f32[N,2]) -> (y, z) { y = exp(x); z = abs(y); }", pair());
  write_between_runs("graph g(x: f32[N,2]) -> (y) { y = reshape(x, i64[1](2)); }", pair());
  write_between_runs("graph g(x: f32[N,2]) -> (y) { e = exp(x); y = reshape(e, i64[1](2)); }", pair());
  write_between_runs("graph g(x: f32[N,2]) -> (y) { y = compress(x, bool[2](true, true), axis = 1); }", pair());
  write_between_runs("graph g(x: f32[200,200]) -> (y) { y = exp(x); }", floats({200, 200}, std::vector<float>(40000)));
}

TEST(GraphApi, APathIsNotCutAtACharacter0) {
  const std::string there = nnex::test::source_dir() + "/models/shapes/model.onnx";
  ASSERT_TRUE(Model::load(there).ok());
  const auto cut = Model::load(there + std::string("\0.onnx", 6));
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code(), nnex::Code::unreadable) << cut.error().text();
}

TEST(GraphApi, ACallOfNoFunctionIsAnError) {
  for (const char* text :
       {"graph g(x: f32[2]) -> (y) { [y] = call \"a:b:\"([x]); }", "graph g(x: f32[2]) -> (y) { y = call(x); }"}) {
    const auto graph = Graph::parse(text);
    EXPECT_FALSE(graph.ok() && Model::compile(*graph).ok()) << text;
  }
  Graph g;
  const auto x = *g.add_input("x", "f32[2]");
  const auto made = g.add("call", {x});
  if (!made.ok()) return;
  EXPECT_TRUE(g.set_outputs({{"y", *made}}).ok());
  EXPECT_FALSE(Model::compile(g).ok());
}

TEST(GraphApi, TextOfNonsenseIsAnError) {
  EXPECT_FALSE(Graph::parse("").ok());
  EXPECT_FALSE(Graph::parse("graph g(x: f32[2]) -> (y) { y = rellu(x); }").ok());
  const auto bad = Graph::parse("graph g(x: f32[2]) -> (y)\n{\n  y = relu(x, x);\n}", "mine");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().text().find("mine:3:"), std::string::npos);
}

/// Every graph text of the cases: printed and parsed it is the same graph.
TEST(GraphApi, PrintedAndParsedItIsTheSame) {
  int checked = 0;
  for (const char* folder : {"passes", "graphs", "errors"}) {
    for (const auto& entry : std::filesystem::directory_iterator(nnex::test::source_dir() + "/tests/cases/" + folder)) {
      std::ifstream in(entry.path());
      std::string text;
      for (std::string line; std::getline(in, line);) {
        if (line.rfind("graph ", 0) == 0) text.clear();
        text += line + "\n";
        if (line != "}" || text.rfind("graph ", 0) != 0) continue;
        const auto graph = Graph::parse(text);
        if (!graph.ok()) continue;  // the cases of errors
        const std::string printed = graph->text();
        const auto again = Graph::parse(printed);
        ASSERT_TRUE(again.ok()) << printed << again.error().text();
        EXPECT_EQ(again->text(), printed);
        EXPECT_EQ(again->nodes().size(), graph->nodes().size());
        EXPECT_EQ(again->verify().size(), graph->verify().size()) << printed;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 150);
}

TEST(GraphApi, InstructionSets) {
  using nnex::InstructionSet;
  for (int i = 0; i <= static_cast<int>(InstructionSet::wasm); ++i)
    EXPECT_EQ(nnex::instruction_set_named(name(static_cast<InstructionSet>(i))), static_cast<InstructionSet>(i));
  EXPECT_FALSE(nnex::instruction_set_named("avx3"));
  Small s;
  nnex::LoadOptions options;
  options.isa = InstructionSet::scalar;
  const auto model = Model::compile(s.g, options);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ((*model->session().run(std::vector<Value>{floats({1, 2}, {1, 1})}))[0].tensor()->as<float>()[1], 7);
  options.isa = InstructionSet::wasm;
  EXPECT_EQ(said(Model::compile(s.g, options)), "this machine or build cannot run instruction set 'wasm'");
}

TEST(GraphApi, TheTable) {
  EXPECT_GT(nnex::operator_names().size(), 200u);
  for (std::string_view name : nnex::operator_names()) EXPECT_EQ(nnex::find_operator(name)->name, name);
  const auto conv = nnex::operators_called("conv2d");
  ASSERT_FALSE(conv.empty());
  EXPECT_EQ(conv[0].name, "conv");
  EXPECT_EQ(said(nnex::find_operator("softmx")), "no operator 'softmx' (did you mean 'softmax'?)");
  EXPECT_TRUE(nnex::operators_called("nothing of this kind").empty());
}

}  // namespace
