// Branches, loops, scans and sequences: the types their rows infer, and what they compute in a whole model.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "graph/graph.h"
#include "nnex/graph.h"
#include "nnex/model.h"
#include "op_run.h"
#include "ops/control.h"
#include "run/compile.h"

namespace nnex {
namespace {

ValueId tensor_param(ir::Graph& g, BlockId b, std::string name, DType type, MaybeDims dims) {
  return g.add_param(b, std::move(name), Type::tensor(type, std::move(dims)));
}

std::string inferred(const ir::Graph& g, NodeId id, size_t o = 0) {
  Inference inference(g);
  Status s = inference.block(kMain);
  return s.ok() ? inference.type(g[id].out[o]).text() : s.error().message();
}

/// A loop of `count` steps that negates its state and stacks what it gets.
struct NegatingLoop {
  ir::Graph g;
  NodeId loop;

  explicit NegatingLoop(int64_t count, const Dim& extent = Dim(2)) {
    ValueId x = tensor_param(g, kMain, "x", DType::f32, Dims{extent});
    BlockId body = g.add_block();
    tensor_param(g, body, "i", DType::i64, Dims{});
    ValueId go = tensor_param(g, body, "go", DType::boolean, Dims{});
    ValueId s = g.add_param(body, "s", Type{});
    Builder b(g, body);
    ValueId again = b("copy", {go});
    ValueId next = b("neg", {s});
    g.set_results(body, {again, next, next});
    Builder m(g, kMain);
    loop = m.node(op("loop"), {m.integer(count), ValueId{}, x}, 2, nullptr, {body});
    g.set_results(kMain, {g[loop].out[0], g[loop].out[1]});
  }
};

TEST(Loop, StacksAsManySlicesAsItHasSteps) {
  NegatingLoop l(3);
  EXPECT_EQ(inferred(l.g, l.loop, 0), "f32[2]");
  EXPECT_EQ(inferred(l.g, l.loop, 1), "f32[3,2]");
}

TEST(Loop, RunsAndStacks) {
  for (int64_t count : {0, 1, 4}) {
    NegatingLoop l(count);
    auto model = compile(ir::Graph(l.g));
    ASSERT_TRUE(model.ok()) << model.error().text();
    auto session = model->session();
    std::vector<Value> in = {Value(Tensor::of<float>(Shape{2}, {1, -2}))};
    auto out = session.run(in);
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_EQ((*out)[0].tensor()->as<float>()[0], count % 2 ? -1 : 1);
    EXPECT_EQ((*out)[1].tensor()->shape(), (Shape{count, 2}));
    if (count == 4) {
      EXPECT_EQ((*out)[1].tensor()->as<float>()[6], 1);
      EXPECT_EQ((*out)[1].tensor()->as<float>()[4], -1);
    }
  }
}

TEST(Loop, ScansOfNoStepHaveTheExtentsOfTheRun) {
  NegatingLoop l(0, Dim::symbol("N"));
  auto model = compile(ir::Graph(l.g));
  ASSERT_TRUE(model.ok()) << model.error().text();
  auto session = model->session();
  for (int64_t n : {3, 5}) {
    auto out = session.run({{Value(Tensor::of<float>(Shape{n}, std::vector<float>(static_cast<size_t>(n), 1)))}});
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_EQ((*out)[1].tensor()->shape(), (Shape{0, n}));
  }
}

TEST(Loop, AnExtentThatStepsChangeIsUnknown) {
  ir::Graph g;
  ValueId x = tensor_param(g, kMain, "x", DType::f32, Dims{Dim::symbol("N"), Dim(3)});
  BlockId body = g.add_block();
  tensor_param(g, body, "i", DType::i64, Dims{});
  ValueId go = tensor_param(g, body, "go", DType::boolean, Dims{});
  ValueId s = g.add_param(body, "s", Type{});
  Builder b(g, body);
  auto axis = op("concat").attrs.make();
  ASSERT_TRUE(op("concat").attrs.find("axis")->set(axis.get(), int64_t{0}));
  ValueId twice = g[b.node(op("concat"), {s, s}, 1, axis)].out[0];
  g.set_results(body, {go, twice});
  Builder m(g, kMain);
  NodeId loop = m.node(op("loop"), {m.integer(3), ValueId{}, x}, 1, nullptr, {body});
  g.set_results(kMain, {g[loop].out[0]});
  const std::string type = inferred(g, loop);
  EXPECT_EQ(type.substr(0, 5), "f32[?") << type;
  EXPECT_EQ(type.substr(type.size() - 3), ",3]") << type;
  auto model = compile(std::move(g));
  ASSERT_TRUE(model.ok()) << model.error().text();
  std::vector<Value> in = {Value(Tensor::of<float>(Shape{1, 3}, {1, 2, 3}))};
  auto out = model->session().run(in);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor()->shape(), (Shape{8, 3}));
}

TEST(Loop, NeitherCountNorConditionNorStateNeedsToBeGiven) {
  ir::Graph g;
  BlockId body = g.add_block();
  ValueId i = tensor_param(g, body, "i", DType::i64, Dims{});
  tensor_param(g, body, "go", DType::boolean, Dims{});
  Builder b(g, body);
  ValueId again = b("lt", {i, b.integer(4)});
  g.set_results(body, {again, i});
  Builder m(g, kMain);
  NodeId loop = m.node(op("loop"), {}, 1, nullptr, {body});
  g.set_results(kMain, {g[loop].out[0]});
  auto model = compile(std::move(g));
  ASSERT_TRUE(model.ok()) << model.error().text();
  auto out = model->session().run(std::vector<Value>{});
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor()->shape(), (Shape{5}));
}

TEST(Loop, SequencesThatGrowKeepEveryItem) {
  ir::Graph g;
  ValueId x = tensor_param(g, kMain, "x", DType::f32, Dims{Dim(2)});
  Builder m(g, kMain);
  ValueId none = g[m.node(op("sequence_construct"), {}, 1, nullptr)].out[0];
  BlockId body = g.add_block();
  ValueId i = tensor_param(g, body, "i", DType::i64, Dims{});
  ValueId go = tensor_param(g, body, "go", DType::boolean, Dims{});
  ValueId s = g.add_param(body, "s", Type{});
  Builder b(g, body);
  auto to = op("cast").attrs.make();
  ASSERT_TRUE(op("cast").attrs.fields[0].set(to.get(), DType::f32));
  ValueId real = g[b.node(op("cast"), {i}, 1, to)].out[0];
  ValueId longer = b("sequence_insert", {s, b("add", {x, real})});
  g.set_results(body, {go, longer});
  NodeId loop = m.node(op("loop"), {m.integer(3), ValueId{}, none}, 1, nullptr, {body});
  ValueId seq = g[loop].out[0];
  auto axis = op("concat_from_sequence").attrs.make();
  ASSERT_TRUE(op("concat_from_sequence").attrs.find("axis")->set(axis.get(), int64_t{0}));
  ValueId all = g[m.node(op("concat_from_sequence"), {seq}, 1, axis)].out[0];
  g.set_results(kMain, {all, m("sequence_length", {seq}), m("neg", {m("sequence_at", {seq, m.integer(-2)})})});
  auto model = compile(std::move(g));
  ASSERT_TRUE(model.ok()) << model.error().text();
  auto session = model->session();
  for (int run = 0; run < 2; ++run) {
    std::vector<Value> in = {Value(Tensor::of<float>(Shape{2}, {10, 20}))};
    auto out = session.run(in);
    ASSERT_TRUE(out.ok()) << out.error().text();
    const Tensor& y = *(*out)[0].tensor();
    ASSERT_EQ(y.shape(), (Shape{6}));
    EXPECT_EQ(std::vector<float>(y.as<float>().begin(), y.as<float>().end()),
              (std::vector<float>{10, 20, 11, 21, 12, 22}));
    EXPECT_EQ((*out)[1].tensor()->as<int64_t>()[0], 3);
    EXPECT_EQ((*out)[2].tensor()->as<float>()[1], -21);
  }
}

// A branch may take more workspace than its neighbours had: what follows must not use the place where that was.
TEST(IfElse, BranchesThatNeedMoreWorkspaceThanTheirNeighbours) {
  const auto filter = [](int64_t outputs) {
    std::string numbers;
    for (int64_t i = 0; i < outputs * 32 * 9; ++i) numbers += fmt::format("{}{}", i ? ", " : "", i % 7 * 0.01 - 0.03);
    return fmt::format("f32[{},32,3,3]({})", outputs, numbers);
  };
  const std::string conv = fmt::format("conv(x, {}, padding = [(1, 1), (1, 1)])", filter(32));
  const std::string behind = fmt::format(
      "p = max_pool(y, size = [1, 1, 4, 4], stride = [1, 1, 4, 4]); z = conv(p, {}, padding = [(1, 1), (1, 1)]); }}",
      filter(8));
  const std::string branches =
      "graph g(x: f32[1,32,40,40], c: bool[]) -> (z) { [y] = if_else(c, then_branch = graph () -> (a) { a = " + conv +
      "; }, else_branch = graph () -> (b) { b = relu(x); }); " + behind;
  const std::string plain = "graph g(x: f32[1,32,40,40]) -> (z) { y = " + conv + "; " + behind;
  std::vector<float> numbers(32 * 40 * 40);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 11) - 5;
  const Value x = Tensor::of<float>(Shape{1, 32, 40, 40}, numbers), yes = Tensor::of<bool>(Shape{}, {true});
  const auto run = [](const std::string& text, const std::vector<Value>& in) {
    auto graph = Graph::parse(text);
    EXPECT_TRUE(graph.ok()) << graph.error().text();
    Session session = Model::compile(*std::move(graph))->session();
    return *(*session.run(in))[0].tensor();
  };
  const Tensor found = run(branches, {x, yes}), wanted = run(plain, {x});
  ASSERT_EQ(found.bytes(), wanted.bytes());
  EXPECT_EQ(std::memcmp(found.data(), wanted.data(), static_cast<size_t>(wanted.bytes())), 0);
}

TEST(IfElse, ResultsAreWhatBothBranchesShare) {
  ir::Graph g;
  ValueId c = tensor_param(g, kMain, "c", DType::boolean, Dims{});
  ValueId x = tensor_param(g, kMain, "x", DType::f32, Dims{Dim(2), Dim(3)});
  ValueId y = tensor_param(g, kMain, "y", DType::f32, Dims{Dim(5), Dim(3)});
  ValueId z = tensor_param(g, kMain, "z", DType::i64, Dims{});
  BlockId yes = g.add_block(), no = g.add_block(), other = g.add_block();
  g.set_results(yes, {x});
  g.set_results(no, {y});
  g.set_results(other, {z});
  Builder m(g, kMain);
  NodeId choice = m.node(op("if_else"), {c}, 1, nullptr, {yes, no});
  EXPECT_EQ(inferred(g, choice).substr(0, 5), "f32[?");
  EXPECT_EQ(inferred(g, choice).substr(inferred(g, choice).size() - 3), ",3]");
  NodeId fixed = m.node(op("if_else"), {m.constant(Tensor::scalar<bool>(true))}, 1, nullptr, {yes, no});
  EXPECT_EQ(inferred(g, fixed), "f32[2,3]");
  NodeId wrong = m.node(op("if_else"), {c}, 1, nullptr, {yes, other});
  EXPECT_EQ(inferred(g, wrong), "if_else: result 0 is f32[2,3] by then_branch, i64[] by else_branch");
}

TEST(Scan, StacksAlongTheAxisAsked) {
  ir::Graph g;
  ValueId sum = tensor_param(g, kMain, "sum", DType::f32, Dims{Dim(2)});
  ValueId x = tensor_param(g, kMain, "x", DType::f32, Dims{Dim(2), Dim(3)});
  BlockId body = g.add_block();
  ValueId s = g.add_param(body, "s", Type{}), t = g.add_param(body, "t", Type{});
  Builder b(g, body);
  ValueId next = b("add", {s, t});
  g.set_results(body, {next, next});
  ScanAttrs a;
  a.inputs = 1, a.input_axes = {1}, a.output_axes = {-1}, a.input_reverse = {1}, a.output_reverse = {1};
  Builder m(g, kMain);
  NodeId scan = m.node(op("scan"), {sum, x}, 2, std::make_shared<ScanAttrs>(a), {body});
  g.set_results(kMain, {g[scan].out[0], g[scan].out[1]});
  EXPECT_EQ(inferred(g, scan, 0), "f32[2]");
  EXPECT_EQ(inferred(g, scan, 1), "f32[2,3]");
  auto model = compile(std::move(g));
  ASSERT_TRUE(model.ok()) << model.error().text();
  std::vector<Value> in = {Value(Tensor::of<float>(Shape{2}, {0, 0})),
                           Value(Tensor::of<float>(Shape{2, 3}, {1, 2, 3, 10, 20, 30}))};
  auto out = model->session().run(in);
  ASSERT_TRUE(out.ok()) << out.error().text();
  auto y = (*out)[1].tensor()->as<float>();
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), (std::vector<float>{6, 5, 3, 60, 50, 30}));
}

TEST(Sequence, PositionsOutsideFault) {
  auto seq = [](std::initializer_list<float> items) {
    Sequence s;
    s.element = DType::f32;
    for (float x : items) s.items.emplace_back(Tensor::scalar<float>(x));
    return Value(std::move(s));
  };
  auto run = [](std::string_view name, std::vector<Value> in) -> std::string {
    Value y;
    std::vector<const Value*> ins;
    for (const Value& v : in) ins.push_back(&v);
    Value* outs[] = {&y};
    auto attrs = op(name).attrs.make ? op(name).attrs.make() : nullptr;
    Call call(op(name), attrs.get(), ins, outs);
    Status s = run_reference(call);
    if (!s.ok()) return s.error().message();
    if (const Tensor* t = y.tensor()) return element_text(*t, 0);
    std::string all;
    for (const Value& v : y.sequence()->items) all += element_text(*v.tensor(), 0) + " ";
    return all;
  };
  auto at = [](int64_t p) { return Value(Tensor::scalar<int64_t>(p)); };
  EXPECT_EQ(run("sequence_at", {seq({1, 2, 3}), at(-3)}), "1");
  EXPECT_EQ(run("sequence_at", {seq({1, 2, 3}), at(3)}), "sequence_at: position 3 is outside [-3, 2] for 3 items");
  EXPECT_EQ(run("sequence_insert", {seq({1, 2}), Value(Tensor::scalar<float>(9)), at(2)}), "1 2 9 ");
  EXPECT_EQ(run("sequence_insert", {seq({1, 2}), Value(Tensor::scalar<float>(9)), at(-1)}), "1 9 2 ");
  EXPECT_EQ(run("sequence_erase", {seq({1, 2})}), "1 ");
  EXPECT_EQ(run("sequence_erase", {seq({})}), "sequence_erase: the sequence is empty");
  EXPECT_EQ(run("sequence_length", {seq({4, 5})}), "2");
  EXPECT_EQ(run("optional_get_element", {Value(Optional{})}), "optional_get_element: the optional is empty");
  EXPECT_EQ(run("optional_has_element", {Value(Optional{})}), "false");
  EXPECT_EQ(run("split_to_sequence", {Value(Tensor::of<float>(Shape{5}, {1, 2, 3, 4, 5})), at(2)}), "1 3 5 ");
}

}  // namespace
}  // namespace nnex
