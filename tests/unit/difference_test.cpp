// What differs between values, and between networks as they stand.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "nnex/compare.h"
#include "nnex/edit.h"

namespace nnex {
namespace {

Value floats(const std::vector<float>& x) { return Tensor::of<float>(Shape{static_cast<int64_t>(x.size())}, x); }

TEST(Difference, NansOfBothSidesAreCountedAndProveNothing) {
  const Difference some = difference(floats({1, NAN, 2}), floats({1, NAN, 2}));
  EXPECT_TRUE(some.same());
  EXPECT_EQ(some.nan_both, 1);
  EXPECT_NEAR(some.cosine, 1, 1e-15);
  const Difference all = difference(floats({NAN, NAN}), floats({NAN, NAN}));
  EXPECT_TRUE(all.same());
  EXPECT_EQ(all.nan_both, 2);
  EXPECT_TRUE(std::isnan(all.cosine));
  EXPECT_TRUE(std::isnan(all.sqnr_db));
}

TEST(Difference, ComplexElementsAreCountedAsOne) {
  const auto complex = [](const std::vector<float>& parts) -> Value {
    Tensor t = *Tensor::make(DType::c64, Shape{2});
    std::memcpy(t.mutable_data(), parts.data(), parts.size() * sizeof(float));
    return t;
  };
  const Value a = complex({1, 2, 3, 4}), b = complex({1, 2, 3, 9}), c = complex({1, 2, 5, 9});
  const Difference one = difference(a, b), both = difference(a, c);
  EXPECT_EQ(one.worst, 1);
  EXPECT_EQ(one.differing, 1);
  EXPECT_EQ(one.count, 2);
  EXPECT_NE(one.worst_b.find("9"), std::string::npos) << one.worst_b;
  EXPECT_NE(one.worst_b.find("3"), std::string::npos) << one.worst_b;
  EXPECT_EQ(both.differing, 1);
}

/// y = c ? x + k : -x
Graph branches(std::string_view op, float k, std::string_view inner = "sum") {
  Graph g;
  const ValueId c = *g.add_input("c", "bool[]"), x = *g.add_input("x", "f32[2]");
  const BlockId yes = g.add_block(), no = g.add_block();
  AddOptions in_yes, in_no, takes;
  in_yes.block = yes, in_no.block = no, takes.blocks = {yes, no};
  const NodeId sum = *g.add_node(op, {x, *g.add_constant(Tensor::scalar(k))}, {}, in_yes);
  const ValueId a = g.node(sum)->outputs[0], b = g.node(*g.add_node("neg", {x}, {}, in_no))->outputs[0];
  EXPECT_TRUE(g.set_name(a, std::string(inner)).ok());
  EXPECT_TRUE(g.set_results(yes, {a}).ok());
  EXPECT_TRUE(g.set_results(no, {b}).ok());
  const ValueId y = g.node(*g.add_node("if_else", {c}, {}, takes))->outputs[0];
  EXPECT_TRUE(g.set_outputs({{"y", y}}).ok());
  return g;
}

TEST(GraphDifference, LooksIntoBlocks) {
  const Graph a = branches("add", 1);
  EXPECT_TRUE(graph_difference(a, branches("add", 1)).same());
  const GraphDifference op = graph_difference(a, branches("mul", 1));
  ASSERT_EQ(op.changed.size(), 1U);
  EXPECT_NE(op.changed[0].tensor.find("y/"), std::string::npos) << op.changed[0].tensor;
  EXPECT_NE(op.changed[0].tensor.find("/sum"), std::string::npos) << op.changed[0].tensor;
  EXPECT_EQ(op.changed[0].what, "operator add -> mul");
  const GraphDifference constant = graph_difference(a, branches("add", 5));
  ASSERT_EQ(constant.changed.size(), 1U);
  EXPECT_NE(constant.changed[0].what.find("by 4 at most"), std::string::npos) << constant.changed[0].what;
  const GraphDifference nan = graph_difference(a, branches("add", NAN));
  ASSERT_EQ(nan.changed.size(), 1U);
  EXPECT_NE(nan.changed[0].what.find("1 of them NaN on one side"), std::string::npos) << nan.changed[0].what;
  EXPECT_FALSE(graph_difference(a, branches("add", 1, "other")).same());
}

}  // namespace
}  // namespace nnex
