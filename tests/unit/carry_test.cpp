// Outputs that become inputs of the next run: caches that grow, recurrent states, and what is refused.

#include <gtest/gtest.h>

#include "nnex/graph.h"
#include "nnex/model.h"

namespace nnex {
namespace {

Value numbers(Shape shape, const std::vector<float>& values) { return Value(Tensor::of<float>(shape, values)); }

std::vector<float> floats(const Value& v) {
  const auto x = v.tensor()->as<float>();
  return {x.begin(), x.end()};
}

/// y = the sums of the cache's columns; present = past and x behind it.
Graph cache(const std::string& past = "f32[past,2]", const std::string& x = "f32[1,2]") {
  Graph g;
  const ValueId p = *g.add_input("past.key", past), in = *g.add_input("x", x);
  const Attributes first = {{"axis", int64_t{0}}};
  const ValueId present = *g.add("concat", {p, in}, first);
  const ValueId axes = *g.add_constant(Tensor::of<int64_t>(Shape{1}, {0}));
  const ValueId y = *g.add("sum_reduce", {present, axes});
  EXPECT_TRUE(g.set_outputs({{"present.key", present}, {"y", y}}).ok());
  return g;
}

LoadOptions carrying(std::vector<Carry> pairs) {
  LoadOptions o;
  o.carry = std::move(pairs);
  return o;
}

TEST(Carry, ACacheGrows) {
  auto model = Model::compile(cache(), carrying({{"present.key", "past.key"}}));
  ASSERT_TRUE(model.ok()) << model.error().text();
  ASSERT_EQ(model->inputs().size(), 1u);
  ASSERT_EQ(model->outputs().size(), 1u);
  ASSERT_EQ(model->states().size(), 1u);
  EXPECT_EQ(model->states()[0].name, "past.key");
  Session s = model->session();
  for (float step = 1; step <= 40; ++step) {  // more than plans are kept
    const std::vector<Value> in = {numbers({1, 2}, {1, step})};
    auto out = s.run(in);
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_EQ(floats((*out)[0]), (std::vector<float>{step, step * (step + 1) / 2}));
  }
  EXPECT_EQ(s.state("past.key")->tensor()->shape(), (Shape{40, 2}));
  ASSERT_TRUE(s.reset_states().ok());
  EXPECT_EQ(s.state("past.key")->tensor()->shape(), (Shape{0, 2}));
  ASSERT_TRUE(s.set_state("past.key", numbers({1, 2}, {5, 6})).ok());
  const std::vector<Value> in = {numbers({1, 2}, {1, 1})};
  EXPECT_EQ(floats((*s.run(in))[0]), (std::vector<float>{6, 7}));
}

TEST(Carry, IntoMemoryOfTheCaller) {
  auto model = Model::compile(cache(), carrying({{"present.key", "past.key"}}));
  ASSERT_TRUE(model.ok()) << model.error().text();
  Session s = model->session();
  std::vector<float> sums(2);
  std::vector<Tensor> out = {Tensor::borrow_mutable(DType::f32, Shape{1, 2}, sums.data())};
  for (float step = 1; step <= 5; ++step) {
    const std::vector<Value> in = {numbers({1, 2}, {1, step})};
    const Status ran = s.run_into(in, out);
    ASSERT_TRUE(ran.ok()) << ran.error().text();
    EXPECT_EQ(sums, (std::vector<float>{step, step * (step + 1) / 2}));
  }
  EXPECT_EQ(s.state("past.key")->tensor()->shape(), (Shape{5, 2}));
  std::vector<Tensor> small = {Tensor::borrow_mutable(DType::f32, Shape{1}, sums.data())};
  const std::vector<Value> in = {numbers({1, 2}, {1, 6})};
  EXPECT_EQ(s.run_into(in, small).error().code(), Code::invalid_argument);
  EXPECT_EQ(s.state("past.key")->tensor()->shape(), (Shape{5, 2})) << "a run that failed changes no state";
}

TEST(Carry, AStateThatIsAnOutputTooIsNoMemoryOfTheCaller) {
  Graph g;  // y = state + x is carried, z = y too is given
  const ValueId state = *g.add_input("state", "f32[2]"), x = *g.add_input("x", "f32[2]");
  const ValueId y = *g.add("add", {state, x});
  ASSERT_TRUE(g.set_outputs({{"y", y}, {"z", y}}).ok());
  auto model = Model::compile(std::move(g), carrying({{"y", "state"}}));
  ASSERT_TRUE(model.ok()) << model.error().text();
  Session s = model->session();
  std::vector<float> z(2);
  std::vector<Tensor> out = {Tensor::borrow_mutable(DType::f32, Shape{2}, z.data())};
  const std::vector<Value> in = {numbers({2}, {1, 2})};
  for (float step = 1; step <= 3; ++step) {
    ASSERT_TRUE(s.run_into(in, out).ok());
    EXPECT_EQ(z, (std::vector<float>{step, 2 * step}));
    std::fill(z.begin(), z.end(), -1000.0F);
  }
  EXPECT_EQ(floats(*s.state("state")), (std::vector<float>{3, 6}));
}

/// The frame before, as a view of an input: the next one is written into the same memory.
TEST(Carry, AStateIsNoMemoryOfTheCaller) {
  const auto graph =
      Graph::parse("graph g(x: f32[1], past: f32[1]) -> (now, y) { now = reshape(x, [1]); y = x - past; }");
  auto model = Model::compile(*graph, carrying({{"now", "past"}}));
  ASSERT_TRUE(model.ok()) << model.error().text();
  for (const bool into : {false, true}) {
    Session s = model->session();
    float frame = 0, made = 0;
    const std::vector<Value> in = {Tensor::borrow(DType::f32, Shape{1}, &frame, std::make_shared<const int>(0))};
    std::vector<Tensor> room = {Tensor::borrow_mutable(DType::f32, Shape{1}, &made)};
    std::vector<float> differences;
    for (float next : {1.0f, 4.0f, 9.0f, 16.0f}) {
      frame = next;
      if (into)
        ASSERT_TRUE(s.run_into(in, room).ok());
      else
        made = floats((*s.run(in))[0])[0];
      differences.push_back(made);
    }
    EXPECT_EQ(differences, (std::vector<float>{1, 3, 5, 7})) << into;
    ASSERT_TRUE(s.set_state("past", in[0]).ok());
    frame = 20;
    EXPECT_EQ(floats((*s.run(in))[0]), std::vector<float>{4}) << into;
  }
}

TEST(Carry, NothingButStates) {
  Graph g;
  const ValueId state = *g.add_input("state", "f32[1]"), x = *g.add_input("x", "f32[1]");
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("add", {state, x})}}).ok());
  auto model = Model::compile(std::move(g), carrying({{"y", "state"}}));
  ASSERT_TRUE(model.ok()) << model.error().text();
  Session s = model->session();
  const std::vector<Value> in = {numbers({1}, {2})};
  ASSERT_TRUE(s.run_into(in, {}).ok());
  ASSERT_TRUE(s.run_into(in, {}).ok());
  EXPECT_EQ(floats(*s.state("state")), (std::vector<float>{4}));
}

TEST(Carry, SessionsHaveTheirOwn) {
  auto model = Model::compile(cache(), carrying({{"present.key", "past.key"}}));
  Session a = model->session(), b = model->session();
  const std::vector<Value> in = {numbers({1, 2}, {1, 2})};
  ASSERT_TRUE(a.run(in).ok() && a.run(in).ok());
  EXPECT_EQ(floats((*b.run(in))[0]), (std::vector<float>{1, 2}));
}

TEST(Carry, RefusesWhatDoesNotFit) {
  const struct {
    std::vector<Carry> pairs;
    Graph graph;
    std::string_view needed;
  } rows[] = {
      {{{"present.kei", "past.key"}}, cache(), "present.key"},
      {{{"present.key", "pst.key"}}, cache(), "past.key"},
      {{{"y", "past.key"}}, cache("f32[3,2]"), "cannot be carried"},
      {{{"present.key", "past.key"}}, cache("f32[3,2]"), "cannot be carried into"},
      {{{"present.key", "past.key"}, {"present.key", "x"}}, cache(), "carried already"},
      {{{"present.key", "past.key"}}, cache("f32[N,2]", "f32[N,2]"), "decides its extent N"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.needed);
    auto model = Model::compile(row.graph, carrying(row.pairs));
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code(), Code::invalid_argument);
    EXPECT_NE(model.error().text().find(row.needed), std::string::npos) << model.error().text();
  }
}

TEST(Carry, LikelyPairsAreFoundByName) {
  const auto port = [](std::string name, size_t rank = 4) {
    PortInfo p;
    p.name = std::move(name), p.dtype = DType::f32, p.extents.resize(rank, -1);
    return p;
  };
  const std::vector<PortInfo> inputs = {
      port("input_ids", 2), port("past_key_values.0.key"), port("past_key_values.0.value"), port("h_in"), port("c0"),
      port("state")};
  const std::vector<PortInfo> outputs = {
      port("logits", 3), port("present.0.value"), port("present.0.key"), port("h_out"),
      port("cn"),        port("stateN"),          port("present.1.key")};
  const std::vector<Carry> pairs = likely_carries(inputs, outputs);
  ASSERT_EQ(pairs.size(), 5u);
  EXPECT_EQ(pairs[0].input, "past_key_values.0.value");
  EXPECT_EQ(pairs[1].input, "past_key_values.0.key");
  EXPECT_EQ(pairs[2].input, "h_in");
  EXPECT_EQ(pairs[3].input, "c0");
  EXPECT_EQ(pairs[4].input, "state");
}

}  // namespace
}  // namespace nnex
