// simplify(): what it put where is told place by place, each place is compared, and a wrong one is taken back.

#include "api/simplify_graph.h"

#include <gtest/gtest.h>

#include "api/graph_impl.h"
#include "nnex/operators.h"
#include "ops/activation.h"

namespace nnex {
namespace {

Tensor floats(Shape shape, const std::vector<float>& values) { return Tensor::of<float>(std::move(shape), values); }

const Replaced* find(const SimplifyReport& report, std::string_view pass, std::string_view tensor) {
  for (const Rewrite& row : report.rewrites)
    for (const Replaced& r : row.replaced)
      if (row.pass == pass && r.tensor == tensor) return &r;
  return nullptr;
}

const Rewrite* find(const SimplifyReport& report, std::string_view pass) {
  for (const Rewrite& row : report.rewrites)
    if (row.pass == pass) return &row;
  return nullptr;
}

/// y = relu(x * sigmoid(x)) + relu(x * (sigmoid(x)))
struct Twice {
  Graph g;
  ValueId x, gate, product, y;
  Twice() {
    x = *g.add_input("x", "f32[3,5]");
    gate = *g.add("sigmoid", {x});
    product = *g.add("mul", {x, gate});
    EXPECT_TRUE(g.set_name(product, "gated").ok());
    const ValueId one = *g.add("relu", {product}), other = *g.add("relu", {product});
    EXPECT_TRUE(g.set_name(other, "other").ok());
    y = *g.add("add", {one, other});
    EXPECT_TRUE(g.set_outputs({{"y", y}}).ok());
  }
};

TEST(Simplify, TellsEachPlaceAndComparesIt) {
  Twice t;
  const auto report = simplify(t.g);
  ASSERT_TRUE(report.ok()) << report.error().text();
  const Replaced* silu = find(*report, "simplify", "gated");
  ASSERT_NE(silu, nullptr);
  EXPECT_EQ(silu->before, "sigmoid, mul");
  EXPECT_EQ(silu->after, "silu");
  EXPECT_EQ(silu->elements, 15);
  EXPECT_TRUE(silu->same);
  const Replaced* merged = find(*report, "merge_equal", "other");
  ASSERT_NE(merged, nullptr);
  EXPECT_EQ(merged->before, "relu");
  EXPECT_EQ(merged->after, "relu");
  EXPECT_EQ(merged->max_absolute, 0);
}

TEST(Simplify, TellsWhatBecameConstant) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[N,2]");
  const ValueId a = *g.add_constant(floats({2}, {1, 2})), b = *g.add_constant(floats({2}, {3, 4}));
  const ValueId sum = *g.add("add", {a, b});
  const ValueId product = *g.add("mul", {sum, b});
  ASSERT_TRUE(g.set_name(product, "scale").ok());
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("mul", {x, product})}}).ok());
  const auto report = fold(g);
  ASSERT_TRUE(report.ok()) << report.error().text();
  const Replaced* scale = find(*report, "fold_constants", "scale");
  ASSERT_NE(scale, nullptr);
  EXPECT_EQ(scale->before, "add, mul");  // what is folded on the way stands nowhere
  EXPECT_EQ(scale->after, "constant");
  EXPECT_EQ(scale->elements, 2);
  EXPECT_EQ(find(*report, "fold_constants")->applied, 2);
  EXPECT_TRUE(find(*report, "fold_constants")->kept);
}

/// What a file holds in fewer bytes: codes, halves, one number for many.
TEST(Simplify, KeepsWhatIsStoredNarrow) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[2000]");
  const ValueId codes = *g.add_constant(Tensor::of<int8_t>({2000}, std::vector<int8_t>(2000, 3)));
  const ValueId scale = *g.add_constant(floats({}, {0.5F}));
  const ValueId few = *g.add_constant(Tensor::of<int8_t>({1}, std::vector<int8_t>{3}));
  const ValueId extents = *g.add_constant(Tensor::of<int64_t>({1}, std::vector<int64_t>{2000}));
  const ValueId list = *g.add("dequantize_linear", {codes, scale}), one = *g.add("dequantize_linear", {few, scale});
  const ValueId many = *g.add("expand", {scale, extents});
  const ValueId sum = *g.add("add", {*g.add("mul", {x, list}), one});
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("mul", {sum, many})}}).ok());
  const auto report = simplify(g);
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_EQ(report->operators.at("dequantize_linear"), (std::pair<int64_t, int64_t>(2, 2)));
  EXPECT_EQ(report->operators.at("expand"), (std::pair<int64_t, int64_t>(1, 1)));
}

/// Negative numbers are lost: relu is taken for its input.
Result<int> forget_relu(ir::Graph& graph) {
  int count = 0;
  for (NodeId id : graph.order()) {
    if (graph[id].op->name != "relu") continue;
    graph.replace_uses(graph[id].out[0], graph[id].in[0]);
    graph.erase(id);
    ++count;
  }
  return count;
}

TEST(Simplify, TakesBackWhatIsWrongAtOnePlaceThoughOutputsAgree) {
  Graph g;  // y = abs(x) + 0 * sum(relu(x)): no output tells of the relu.
  const ValueId x = *g.add_input("x", "f32[8]"), zero = *g.add_constant(floats({}, {0}));
  const ValueId r = *g.add("relu", {x});
  ASSERT_TRUE(g.set_name(r, "positive").ok());
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("add", {*g.add("abs", {x}), *g.add("mul", {r, zero})})}}).ok());
  const Simplifier passes[] = {{"forget_relu", forget_relu}};
  const auto report = simplify_by(g, passes);
  ASSERT_TRUE(report.ok()) << report.error().text();
  ASSERT_EQ(report->rewrites.size(), 1u);
  const Rewrite& row = report->rewrites[0];
  EXPECT_FALSE(row.kept);
  EXPECT_EQ(row.nodes_after, row.nodes_before);
  EXPECT_NE(row.reason.find("'positive' (relu -> input)"), std::string::npos) << row.reason;
  ASSERT_EQ(row.replaced.size(), 1u);
  EXPECT_FALSE(row.replaced[0].same);
  EXPECT_EQ(report->operators.at("relu"), std::pair(int64_t{1}, int64_t{1}));
}

/// What a pass does in place, without a replacement, the outputs tell.
Result<int> steepen_last(ir::Graph& graph) {
  const NodeId last = graph.order().back();
  graph.set_attrs(last, LeakyReluAttrs{2});
  return 1;
}

TEST(Simplify, TakesBackWhatTheOutputsTell) {
  Graph g;
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("leaky_relu", {*g.add_input("x", "f32[8]")})}}).ok());
  const Simplifier passes[] = {{"steepen_last", steepen_last}};
  const auto report = simplify_by(g, passes);
  ASSERT_TRUE(report.ok()) << report.error().text();
  ASSERT_EQ(report->rewrites.size(), 1u);
  EXPECT_FALSE(report->rewrites[0].kept);
  EXPECT_NE(report->rewrites[0].reason.find("output 'y'"), std::string::npos) << report->rewrites[0].reason;
  EXPECT_EQ(report->operators.count("neg"), 0u);
}

}  // namespace
}  // namespace nnex
