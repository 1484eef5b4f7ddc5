// Session::prepare: what a first run would have to plan and pack is done ahead.

#include <gtest/gtest.h>

#include <thread>

#include "nnex/graph.h"
#include "nnex/model.h"

namespace {

using nnex::Graph;
using nnex::Model;
using nnex::Shape;
using nnex::Tensor;
using nnex::Value;
using nnex::ValueId;

/// y = relu(x * w), x: f32[N,K], w: f32[64,64].
Model product(const std::string& type) {
  Graph g;
  const ValueId x = *g.add_input("x", type);
  const ValueId w = *g.add_constant(Tensor::of<float>(Shape{64, 64}, std::vector<float>(64 * 64, 0.5f)));
  EXPECT_TRUE(g.set_outputs({{"y", *g.add("relu", {*g.add("relu", {*g.add("matmul", {x, w})})})}}).ok());
  auto model = Model::compile(g);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().text());
  return std::move(model).value();
}

Tensor ones(Shape shape) {
  const auto n = static_cast<size_t>(shape.count());
  return Tensor::of<float>(shape, std::vector<float>(n, 1.0f));
}

TEST(Prepare, PlansAndPacksAhead) {
  const Model model = product("f32[N,64]");
  nnex::Session session = model.session();
  EXPECT_EQ(model.packed_memory(), 0);
  const nnex::Status ready = session.prepare({{"x", {3, 64}}});
  ASSERT_TRUE(ready.ok()) << ready.error().text();
  const int64_t packed = model.packed_memory(), held = session.memory();
  EXPECT_GT(packed, 0);
  const auto out = session.run(std::vector<Value>{ones({3, 64})});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ((*out)[0].tensor()->as<float>()[0], 32.0f);
  EXPECT_EQ(model.packed_memory(), packed);  // the run packed nothing
  EXPECT_EQ(session.memory(), held);         // and took no memory for activations
}

TEST(Prepare, DeclaredExtentsNeedNoNames) {
  const Model model = product("f32[2,64]");
  nnex::Session session = model.session();
  ASSERT_TRUE(session.prepare().ok());
  EXPECT_GT(model.packed_memory(), 0);
  EXPECT_TRUE(session.run(std::vector<Value>{ones({2, 64})}).ok());
}

TEST(Prepare, OtherShapesStillRun) {
  const Model model = product("f32[N,64]");
  nnex::Session session = model.session();
  for (const int64_t n : {1, 4, 2}) ASSERT_TRUE(session.prepare({{"x", {n, 64}}}).ok());
  for (const int64_t n : {4, 7, 1}) {
    const auto out = session.run(std::vector<Value>{ones({n, 64})});
    ASSERT_TRUE(out.ok());
    EXPECT_EQ((*out)[0].tensor()->shape(), (Shape{n, 64}));
    for (float y : (*out)[0].tensor()->as<float>()) ASSERT_EQ(y, 32.0f);
  }
}

TEST(Prepare, MistakesAreErrors) {
  const Model model = product("f32[N,64]");
  nnex::Session session = model.session();
  const auto said = [&](const std::map<std::string, std::vector<int64_t>>& shapes) {
    const nnex::Status s = session.prepare(shapes);
    return s.ok() ? "" : s.error().message();
  };
  EXPECT_EQ(said({}), "input 'x': extent N of f32[N,64] is not known; name its shape");
  EXPECT_EQ(said({{"z", {1}}}).substr(0, 12), "no input 'z'");
  EXPECT_EQ(said({{"x", {2, 63}}}), "input 'x': found f32[2,63]; needed f32[N,64]");
  EXPECT_EQ(said({{"x", {2}}}), "input 'x': found f32[2]; needed f32[N,64]");
  EXPECT_EQ(said({{"x", {-1, 64}}}), "input 'x': [-1,64] is no shape");
  EXPECT_EQ(said({{"x", {int64_t{1} << 62, 64}}}), "input 'x': a tensor f32[4611686018427387904,64] is too large");
  EXPECT_EQ(said({{"x", {int64_t{1} << 55, 64}}}), "input 'x': a tensor f32[36028797018963968,64] is too large");
  EXPECT_EQ(model.packed_memory(), 0);
}

TEST(Prepare, WhatPassesTheLimitIsRefusedAsByARun) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[N,3]");
  const ValueId w = *g.add_constant(Tensor::of<float>(Shape{3, 2}, {1, 2, 3, 4, 5, 6}));
  const ValueId y = *g.add("relu", {*g.add("matmul", {x, w})});
  ASSERT_TRUE(g.set_outputs({{"y", y}, {"z", *g.add("neg", {y})}}).ok());
  nnex::LoadOptions options;
  options.memory_limit = 1 << 20;
  const auto model = Model::compile(g, options);
  ASSERT_TRUE(model.ok()) << model.error().text();
  nnex::Session session = model->session();
  for (const int64_t n : {int64_t{1} << 20, int64_t{100000}}) {  // one result is too large; two are together
    const nnex::Status ready = session.prepare({{"x", {n, 3}}});
    ASSERT_FALSE(ready.ok()) << n;
    EXPECT_EQ(ready.error().code(), nnex::Code::limit);
    const auto out = session.run(std::vector<Value>{ones({n, 3})});
    ASSERT_FALSE(out.ok()) << n;
    EXPECT_EQ(out.error().code(), nnex::Code::limit);
  }
  EXPECT_FALSE(session.prepare({{"x", {int64_t{1} << 30, 3}}}).ok());
  ASSERT_TRUE(session.prepare({{"x", {1000, 3}}}).ok());
  EXPECT_TRUE(session.run(std::vector<Value>{ones({1000, 3})}).ok());
}

TEST(Prepare, OneInputNamesTheSymbolsOfOthers) {
  Graph g;
  const ValueId a = *g.add_input("a", "f32[N,2]"), b = *g.add_input("b", "f32[N,2]");
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("add", {a, b})}}).ok());
  const auto model = Model::compile(g);
  ASSERT_TRUE(model.ok());
  nnex::Session session = model->session();
  EXPECT_TRUE(session.prepare({{"a", {5, 2}}}).ok());
  EXPECT_FALSE(session.prepare({{"a", {5, 2}}, {"b", {4, 2}}}).ok());
  EXPECT_TRUE(session.run(std::vector<Value>{ones({5, 2}), ones({5, 2})}).ok());
}

TEST(Prepare, WhatContentsDecideIsLeftToTheRun) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[6]"), s = *g.add_input("s", "i64[2]");
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("reshape", {x, s})}}).ok());
  const auto model = Model::compile(g);
  ASSERT_TRUE(model.ok()) << model.error().text();
  nnex::Session session = model->session();
  ASSERT_TRUE(session.prepare().ok());
  const auto out = session.run(std::vector<Value>{ones({6}), Tensor::of<int64_t>(Shape{2}, {2, 3})});
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].tensor()->shape(), (Shape{2, 3}));
}

TEST(Prepare, ManySessionsOfOneModel) {
  const Model model = product("f32[2,64]");
  std::vector<std::thread> threads;
  std::atomic<int> fine = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      nnex::Session session = model.session();
      if (session.prepare().ok() && session.run(std::vector<Value>{ones({2, 64})}).ok()) ++fine;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(fine, 4);
}

}  // namespace
