// The proof of no overflow where it once erred: one fault each.

#include <gtest/gtest.h>

#include "cvm_model.h"
#include "cvm_rows.h"
#include "graph/intervals.h"
#include "ops/cast.h"
#include "ops/reduce.h"

namespace nnex {
namespace {

using cvm_format::Importer;
using cvm_rows::In;

TEST(CvmProofFaults, AnAnswerNeedsTwoBits) {
  const std::vector<In> in = {{{2}, 1, {0, 0}}, {{2}, 8, {-3, 3}}};
  const auto ours = cvm_rows::run("broadcast_greater", {}, in),
             theirs = cvm_rows::run("broadcast_greater", {}, in, true);
  EXPECT_EQ(ours.values[0], (cvm_rows::Numbers{1, 0}));
  EXPECT_EQ(ours.bits, std::vector<int64_t>{2});
  EXPECT_EQ(theirs.bits, std::vector<int64_t>{1});
}

TEST(CvmProofFaults, RowsOfMinusOneNeedTwoBits) {
  const In rows = {{1, 1, 6}, 1, {0, 0, 0, 0, 0, 0}};
  EXPECT_EQ(cvm_rows::run("get_valid_counts", {}, {rows}).bits, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(cvm_rows::run("non_max_suppression", {}, {rows, {{1}, 2, {0}}}).bits, std::vector<int64_t>{2});
}

/// x doubled until it overflows; what the proof says of each node.
std::vector<bool> doubled(ValueId (*first)(Importer&, ValueId), const Ints& extents, int64_t bits, bool compatible) {
  ir::Graph graph;
  Importer importer(graph, compatible);
  ValueId x = importer.variable("data", extents, bits);
  x = (*importer.add("cvm_clip", {{"precision", std::to_string(bits)}}, {x}, "c", 0))[0];
  x = first(importer, x);
  size_t made = 0;
  for (; made < 31; ++made) {
    auto y = importer.add("elemwise_add", {}, {x, x}, "y", 0);
    if (!y.ok()) break;
    x = (*y)[0];
  }
  std::vector<bool> out;
  const Intervals intervals(graph, {});
  for (const NodeBound& n : intervals.nodes())
    if (graph[n.node].op->name == "add") out.push_back(n.overflows);
  out.resize(made);  // not the one that is refused
  return out;
}

TEST(CvmProofFaults, NoRuleIsTakenOnTrust) {
  const auto greater = [](Importer& i, ValueId x) { return (*i.add("broadcast_greater", {}, {x, x}, "g", 0))[0]; };
  const auto valid = [](Importer& i, ValueId x) { return (*i.add("get_valid_counts", {}, {x}, "g", 0))[1]; };
  // Upstream's rules say one bit, then 31 more: 32 at last. The value is 1, or -1.
  std::vector<bool> found = doubled(greater, {2}, 1, true);
  ASSERT_EQ(found.size(), 31U);
  EXPECT_TRUE(found[30]) << "2^31";
  EXPECT_FALSE(found[29]);
  found = doubled(valid, {1, 2, 3}, 1, true);
  ASSERT_EQ(found.size(), 31U);
  EXPECT_FALSE(found[30]) << "-2^31 fits";
  // Our own refuse the last.
  EXPECT_EQ(doubled(greater, {2}, 1, false).size(), 30U);
  EXPECT_EQ(doubled(valid, {1, 2, 3}, 1, false).size(), 30U);
}

/// A graph of one input of int32 and one row.
struct OneRow {
  ir::Graph graph;
  Builder b{graph, kMain};
  ValueId x = graph.add_param(kMain, "x", Type::tensor(DType::i32, Dims{Dim(2)}));

  std::optional<NodeBound> proven(const std::map<ValueId, Interval>& known) {
    Faults faults;
    infer_types(graph, faults);
    const Intervals intervals(graph, known);
    return intervals.nodes().empty() ? std::nullopt : std::optional(intervals.nodes().back());
  }
};

TEST(CvmProofFaults, AMaximumMayStartFromZero) {
  OneRow row;
  ExtremeAttrs a;
  a.initial = 0.0;
  row.b("max_reduce", {row.x}, a);
  EXPECT_EQ(row.proven({{row.x, {-10, -5}}})->result, (Interval{0, 0}));
}

TEST(CvmProofFaults, QuotientsStayWhatTheyCanBe) {
  const auto quotient = [](const Interval& x, const Interval& y) {
    OneRow row;
    const ValueId z = row.graph.add_param(kMain, "y", Type::tensor(DType::i32, Dims{Dim(2)}));
    row.b("div", {row.x, z});
    return *row.proven({{row.x, x}, {z, y}});
  };
  EXPECT_EQ(quotient({-100, 50}, {3, 10}).result, (Interval{-33, 16}));
  EXPECT_EQ(quotient({7, 9}, {-2, 2}).result, (Interval{-9, 9}));
  EXPECT_EQ(quotient({7, 9}, {0, 0}).result, (Interval{0, 0}));
  EXPECT_TRUE(quotient(kAllInt32, {-1, -1}).overflows);
  EXPECT_FALSE(quotient(kAllInt32, {-9, -2}).overflows);
}

TEST(CvmProofFaults, WhatNobodyBoundsIsNotProven) {
  OneRow row;
  row.b("sign", {row.x});
  const auto sign = row.proven({});
  ASSERT_TRUE(sign.has_value());
  EXPECT_FALSE(sign->bounded);
}

/// 300 does not fit a byte: the filter is 44.
TEST(CvmProofFaults, ANarrowedFilterIsNotItsWideNumbers) {
  OneRow row;
  CastAttrs to_byte, to_wide;
  to_byte.to = DType::i8, to_wide.to = DType::i32;
  const ValueId w = row.b.constant(Tensor::of<int32_t>(Shape{1, 2}, {-200, -200}));
  const ValueId wide = row.b("cast", {row.b("cast", {w}, to_byte)}, to_wide);
  const ValueId x = row.b("reshape", {row.x, row.b.ints({1, 2})});
  row.b("linear", {x, wide});
  // -200 as a byte is 56.
  const auto bound = row.proven({{row.x, {1, 1}}});
  ASSERT_TRUE(bound.has_value());
  EXPECT_GE(bound->result.high, 112);
}

TEST(CvmProofFaults, UnknownBitsAreNeverFew) {
  ir::Graph graph;
  Builder b(graph, kMain);
  const ValueId x = graph.add_param(kMain, "x", Type::tensor(DType::i32, Dims{Dim(2)}));
  const ValueId y = graph.add_param(kMain, "y", Type::tensor(DType::i32, Dims{Dim(2)}));
  graph.provenance.bits = {{"x", 32}, {"y", 4}};
  const ValueId sum = b("add", {x, x});  // 33 bits: refused, so nobody knows
  const ValueId after = b("add", {sum, y}), max = b("max", {sum, y});
  Faults faults;
  infer_types(graph, faults);
  for (uint32_t n = 0; n < graph.value_count(); ++n) ASSERT_TRUE(graph[ValueId{n}].type.is_tensor());
  const std::vector<int64_t> bits = infer_precision(graph, {}, faults);
  EXPECT_EQ(bits[sum.n], 0);
  EXPECT_EQ(bits[after.n], 0);
  EXPECT_EQ(bits[max.n], 0);
}

/// A file may call one variable "".
TEST(CvmProofFaults, AVariableWithoutANameKeepsItsBits) {
  cvm_format::Symbol symbol = cvm_model::base_symbol();
  symbol.nodes[1].name = "";
  auto params = cvm_model::base_params();
  params[0].name = "";
  auto graph = cvm_format::read_model(write_symbol(symbol), write_params(params), nullptr, false);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  Faults faults;
  const std::vector<int64_t> bits = infer_precision(*graph, {}, faults);
  ASSERT_TRUE(faults.none());
  EXPECT_EQ(bits[graph->outputs()[0].n], 8);
  for (NodeId id : graph->order()) {
    const Node& node = (*graph)[id];
    EXPECT_EQ(node.op->name == "mul" ? bits[node.out[0].n] : 16, 16) << "8 of data, 8 declared of w";
  }
}

}  // namespace
}  // namespace nnex
