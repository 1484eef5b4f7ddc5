// Graphs that no file was read for: their nodes have places, and their mistakes sentences, as those of files.

#include <gtest/gtest.h>

#include "nnex/graph.h"
#include "nnex/model.h"
#include "nnex/save.h"

namespace nnex {
namespace {

/// Two rows of a table, by numbers that are known when it runs.
Graph two_gathers() {
  Graph g;
  const ValueId table = *g.add_constant(Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  const ValueId i = *g.add_input("i", "i64[1]"), j = *g.add_input("j", "i64[1]");
  EXPECT_TRUE(g.set_outputs({{"first", *g.add("gather", {table, i})}, {"second", *g.add("gather", {table, j})}}).ok());
  return g;
}

TEST(HandBuilt, NodesAreCalledAfterWhatTheyMake) {
  const Model model = *Model::compile(two_gathers());
  Session session = model.session();
  session.profile(true);
  const auto row = [](int64_t i) { return Value(Tensor::of<int64_t>({1}, {i})); };
  const auto wrong = session.run(std::vector<Value>{row(0), row(7)});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().where(), "node 'second' (gather)");
  ASSERT_TRUE(session.run(std::vector<Value>{row(0), row(1)}).ok());
  for (const NodeTime& n : session.nodes()) EXPECT_EQ(n.place.substr(0, 6), "node '") << n.op;
  EXPECT_FALSE(session.nodes().empty());
}

TEST(HandBuilt, AStandardsNameIsExplained) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[2,2]");
  EXPECT_EQ(g.add("Gemm", {x, x}).error().text(), "no operator 'Gemm'; ONNX's Gemm is 'linear'");
  EXPECT_EQ(g.add("ReduceSum", {x}).error().text(), "no operator 'ReduceSum'; ONNX's ReduceSum is 'sum_reduce'");
  EXPECT_EQ(g.add("gemm", {x, x}).error().text().find("no operator 'gemm'; "), 0u);
  EXPECT_NE(g.add("rellu", {x}).error().text().find("did you mean 'relu'?"), std::string::npos);
}

TEST(HandBuilt, VersionsOfACustomOperatorAreTold) {
  CustomOperator op;
  op.domain = "com.example", op.name = "Same", op.since = 2, op.until = 9;
  op.run = [](CustomRun& c) { return c.set(0, *c.input(0)); };
  LoadOptions options;
  ASSERT_TRUE(options.custom_operators.add(op).ok());
  Graph g;
  const ValueId x = *g.add_input("x", "f32[2]");
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("com.example:Same", {x})}}).ok());
  EXPECT_TRUE(Model::compile(g, options).ok());  // a graph that says no version takes any
  SaveOptions save_options;
  save_options.custom = true;
  const auto saved = to_bytes(g, Format::onnx, save_options);
  ASSERT_TRUE(saved.ok()) << saved.error().text();
  const auto loaded = Model::from_bytes((*saved)[0].bytes, options);
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().text().find("found version 1 of 'com.example'; its host serves 2 to 9"), std::string::npos)
      << loaded.error().text();
  g.metadata().opsets["com.example"] = 5;
  const auto fifth = to_bytes(g, Format::onnx, save_options);
  ASSERT_TRUE(fifth.ok()) << fifth.error().text();
  EXPECT_TRUE(Model::from_bytes((*fifth)[0].bytes, options).ok());
}

TEST(HandBuilt, ExtentsThatNeedNumbersNameTheWay) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[N,3]");
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("relu", {x})}}).ok());
  const auto saved = to_bytes(g, Format::c);
  ASSERT_FALSE(saved.ok());
  EXPECT_NE(saved.error().text().find("; LoadOptions::symbols or Graph::set_symbols() fixes them"), std::string::npos)
      << saved.error().text();
  ASSERT_TRUE(g.set_symbols({{"N", 2}}).ok());
  EXPECT_TRUE(to_bytes(g, Format::c).ok());
}

/// A shape rule that changes a type of its input.
std::string said_of_a_rule(const std::function<void(TypeInfo&)>& change) {
  CustomOperator op;
  op.domain = "com.example", op.name = "Same";
  op.infer = [&](const CustomInfer& c) -> Result<std::vector<TypeInfo>> {
    std::vector<TypeInfo> types{c.inputs[0]};
    change(types[0]);
    return types;
  };
  op.run = [](CustomRun& c) { return c.set(0, *c.input(0)); };
  LoadOptions options;
  EXPECT_TRUE(options.custom_operators.add(op).ok());
  Graph g;
  const ValueId x = *g.add_input("x", "f32[2,2]");
  EXPECT_TRUE(g.set_outputs({{"y", *g.add("com.example:Same", {x})}}).ok());
  const auto model = Model::compile(g, options);
  return model.ok() ? model->outputs()[0].type : model.error().message();
}

TEST(HandBuilt, ATypeThatContradictsItselfIsRefused) {
  EXPECT_EQ(said_of_a_rule([](TypeInfo&) {}), "f32[2,2]");
  EXPECT_EQ(said_of_a_rule([](TypeInfo& t) { t.extents[1] = 7; }),
            "com.example:Same: output 0: a type's extents are [2,7], its dims [2,2]; TypeInfo::of() makes both");
  EXPECT_EQ(said_of_a_rule([](TypeInfo& t) { t.text = "f32[2,7]"; }),
            "com.example:Same: output 0: a type's text is f32[2,7], its dims [2,2]; TypeInfo::of() makes both");
  EXPECT_EQ(said_of_a_rule([](TypeInfo& t) { t = *TypeInfo::of(DType::f32, {"2", "7"}); }), "f32[2,7]");
  EXPECT_EQ(said_of_a_rule([](TypeInfo& t) {
              t = TypeInfo(), t.tensor = t.known_rank = true, t.dtype = DType::f32, t.dims = {"2", "7"};
            }),
            "f32[2,7]");
}

}  // namespace
}  // namespace nnex
