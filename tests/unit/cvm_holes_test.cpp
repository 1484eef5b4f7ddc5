// The sixteen holes that are known of the reference runtime of CVM, one test each, in their order: what another
// back-end answers wrongly, reads or writes beyond its memory, or lets pass, is answered by the formula here or
// refused.
//
//   1 where copies a quarter of a row        9 no rows at all were asked for
//   2 max of everything starts from 0       10 storage plans that overwrite live values
//   3 left shift throws                     11 rows with id -1
//   4 right shift by 31, 32, near 2^31      12 coordinates of 31 and 32 bits
//   5 where promises the condition's bits   13 nodes, outputs and heads that are not there
//   6 filters of another shape              14 slices longer than the rank
//   7 sums that keep an axis of 1           15 argmax of several rows, detection of several batches
//   8 suppression stops at an empty batch   16 a parameter cut short

#include <gtest/gtest.h>

#include "cvm_model.h"
#include "cvm_rows.h"

namespace nnex {
namespace {

using cvm_format::Blame;
using cvm_format::Symbol;
using cvm_model::base_params;
using cvm_model::base_symbol;
using cvm_model::load;
using namespace cvm_rows;

constexpr auto kSuppress = "non_max_suppression";

TEST(CvmHoles, Hole01_WhereCopiesWholeRows) {
  const std::vector<In> in = {{{3}, 2, {0, 1, 1}},
                              {{3, 4}, 8, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
                              {{3, 4}, 8, {-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12}}};
  EXPECT_EQ(one("where", {}, in), (Numbers{-1, -2, -3, -4, 5, 6, 7, 8, 9, 10, 11, 12}));
  const std::vector<In> deep = {{{2}, 2, {1, 0}}, {{2, 1, 2}, 8, {1, 2, 3, 4}}, {{2, 1, 2}, 8, {5, 6, 7, 8}}};
  EXPECT_EQ(one("where", {}, deep), (Numbers{1, 2, 7, 8}));
}

TEST(CvmHoles, Hole02_MaxOfEverythingMayBeNegative) {
  EXPECT_EQ(one("max", {}, {{{2, 3}, 8, {-4, -3, -9, -5, -7, -6}}}), Numbers{-3});
  EXPECT_EQ(one("max", {{"keepdims", "1"}}, {{{1, 1}, 8, {-127}}}), Numbers{-127});
  EXPECT_EQ(one("max", {}, {{{2}, 8, {-4, -3}}}, true), Numbers{0}) << "upstream's answer, where it is asked for";
}

TEST(CvmHoles, Hole03_LeftShiftIsAnswered) {
  EXPECT_EQ(one("cvm_left_shift", {{"precision", "8"}, {"shift_bit", "4"}}, {{{4}, 4, {7, -7, 1, 0}}}),
            (Numbers{112, -112, 16, 0}));
  EXPECT_EQ(one("cvm_left_shift", {{"precision", "8"}, {"shift_bit", "6"}}, {{{3}, 4, {7, -7, 1}}}),
            (Numbers{127, -127, 64}));
}

TEST(CvmHoles, Hole04_RightShiftsAtTheEdges) {
  const In wide = {{5}, 32, {kMax, -kMax, 1 << 30, -(1 << 30), -1}};
  const auto shifted = [&](const char* bits, const char* by) {
    return one("cvm_right_shift", {{"precision", bits}, {"shift_bit", by}}, {wide});
  };
  EXPECT_EQ(shifted("32", "32"), (Numbers{0, 0, 0, 0, 0}));
  EXPECT_EQ(shifted("32", "31"), (Numbers{1, -1, 1, 0, 0}));
  EXPECT_EQ(shifted("32", "1"), (Numbers{1 << 30, -kMax / 2, 1 << 29, -(1 << 29), 0}));
  EXPECT_EQ(shifted("1", "31"), (Numbers{0, 0, 0, 0, 0}));
  EXPECT_EQ(shifted("8", "24"), (Numbers{127, -127, 64, -64, 0}));
}

/// The promise holds for what is chosen, so that a product behind it cannot overflow unseen.
TEST(CvmHoles, Hole05_WherePromisesItsChoicesBits) {
  const std::vector<In> in = {{{2}, 2, {0, 1}}, {{2}, 20, {1, 2}}, {{2}, 30, {3, 4}}};
  EXPECT_EQ(run("where", {}, in).bits, std::vector<int64_t>{30});
  Symbol s =
      base_symbol();  // 8-bit condition, 16-bit choices: a product of them needs 17 bits more than one of 8 and 8
  s.nodes[3] = {"m", "where", {{0, 0}, {2, 0}, {2, 0}}};
  s.nodes[4] = {"a", "broadcast_mul", {{3, 0}, {2, 0}}};
  s.nodes[5] = {"r", "elemwise_add", {{4, 0}, {4, 0}}};
  EXPECT_EQ(load(s).all, Blame::logic) << "33 bits";
  EXPECT_EQ(load(s, true).all, Blame::none) << "upstream's rule, where it is asked for";
}

TEST(CvmHoles, Hole06_FiltersOfAnotherShapeAreRefused) {
  const TextMap attrs = {{"channels", "2"}, {"kernel_size", "(2, 2)"}, {"use_bias", "0"}};
  const In x = {{1, 2, 2, 2}, 8, Numbers(8, 1)};
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{2, 2, 1, 2}, {2, 2, 2, 1}, {1, 2, 2, 2}, {2, 1, 2, 2}, {2, 2, 3, 3}, {2, 2, 4}}) {
    const Answer a = run("conv2d", attrs, {x, {shape, 8, Numbers(static_cast<size_t>(Shape(shape).count()), 1)}});
    EXPECT_EQ(a.blame, Blame::logic) << Shape(shape).text();
  }
  EXPECT_EQ(run("conv2d", attrs, {x, {{2, 2, 2, 2}, 8, Numbers(16, 1)}}).error, "");
  EXPECT_EQ(run("dense", {{"units", "3"}, {"use_bias", "0"}}, {{{1, 4}, 8, Numbers(4, 1)}, {{3, 5}, 8, Numbers(15, 1)}})
                .blame,
            Blame::runtime)
      << "upstream's own class of error for this one";
}

TEST(CvmHoles, Hole07_SumsAndMaximaKeepAxesOfOne) {
  const In x = {{2, 3, 1}, 8, {1, 2, 3, 10, 20, 30}};
  EXPECT_EQ(one("sum", {{"axis", "(0,)"}}, {x}), (Numbers{11, 22, 33}));
  EXPECT_EQ(one("max", {{"axis", "(0,)"}}, {x}), (Numbers{10, 20, 30}));
  EXPECT_EQ(one("sum", {{"axis", "(1,)"}}, {{{2, 2, 1, 1}, 8, {1, 2, 3, 4}}}), (Numbers{3, 7}));
}

TEST(CvmHoles, Hole08_AnEmptyBatchStopsNobody) {
  const Numbers second = {1, 4, 5, 5, 9, 9, 1, 3, 0, 0, 4, 4};
  for (int32_t none : {0, -3}) {
    const Numbers y = one(kSuppress, {}, {kBoxes, {{2}, 4, {none, 2}}});
    EXPECT_EQ(Numbers(y.begin(), y.begin() + 12), Numbers(12, -1));
    EXPECT_EQ(Numbers(y.begin() + 12, y.end()), second);
  }
}

TEST(CvmHoles, Hole09_NoRowsWhereNoneAreAskedFor) {
  EXPECT_EQ(one(kSuppress, {{"max_output_size", "0"}}, {kBoxes, {{2}, 4, {2, 2}}}), Numbers(24, -1));
}

/// A parameter, a value that is read later, a value that is a result: none of them may be written over.
TEST(CvmHoles, Hole10_StoragePlansThatOverwriteAreRefused) {
  Symbol parameter = base_symbol();
  parameter.storage_ids[3] = 2;
  EXPECT_EQ(load(parameter).all, Blame::logic);
  Symbol live = base_symbol();
  live.nodes[6].inputs[0] = {3, 0};
  live.storage_ids[4] = live.storage_ids[5] = 3;
  EXPECT_EQ(load(live).all, Blame::logic);
  Symbol head = base_symbol();
  head.heads = {{3, 0}, {6, 0}};
  head.storage_ids[6] = 3;
  EXPECT_EQ(load(head).all, Blame::logic);
  EXPECT_EQ(load(parameter, true).all, Blame::none) << "upstream's rule, where it is asked for";
}

TEST(CvmHoles, Hole11_ValidCountsDoNotLookAtIds) {
  const Answer a = run("get_valid_counts", {{"score_threshold", "0"}}, {{{1, 2, 3}, 8, {-1, 5, 7, 0, 6, 8}}});
  ASSERT_EQ(a.error, "");
  EXPECT_EQ(a.values[0], Numbers{2});
  EXPECT_EQ(a.values[1], (Numbers{-1, 5, 7, 0, 6, 8}));
}

/// Their differences would leave 32 bits, and products of those 64.
TEST(CvmHoles, Hole12_WideCoordinatesAreRefused) {
  for (const auto& [bits, blame] :
       {std::pair<int64_t, Blame>{30, Blame::none}, {31, Blame::logic}, {32, Blame::logic}}) {
    In boxes = kBoxes;
    boxes.bits = bits;
    EXPECT_EQ(run(kSuppress, {}, {boxes, {{2}, 4, {2, 2}}}).blame, blame) << bits;
  }
}

TEST(CvmHoles, Hole13_NodesOutputsAndHeadsThatAreNotThere) {
  for (const cvm_format::Entry& nowhere :
       {cvm_format::Entry{7, 0}, {-1, 0}, {1 << 30, 0}, {0, 1}, {0, -1}, {0, 1 << 30}}) {
    Symbol input = base_symbol(), head = base_symbol();
    input.nodes[6].inputs[0] = nowhere;
    EXPECT_EQ(load(input).all, Blame::logic) << nowhere.node << " " << nowhere.output;
    head.heads = {nowhere};
    EXPECT_EQ(load(head).all, Blame::logic) << nowhere.node << " " << nowhere.output;
  }
  Symbol later = base_symbol();
  later.nodes[3].inputs[0] = {4, 0};
  EXPECT_EQ(load(later).all, Blame::logic);
}

TEST(CvmHoles, Hole14_SlicesLongerThanTheRankAreRefused) {
  const In x = {{3}, 8, {1, 2, 3}};
  for (const TextMap& attrs :
       {TextMap{{"begin", "(0, 0)"}, {"end", "(1,)"}}, TextMap{{"begin", "(0,)"}, {"end", "(1, 1)"}},
        TextMap{{"begin", "(0,)"}, {"end", "(1,)"}, {"stride", "(1, 1)"}}})
    EXPECT_EQ(run("strided_slice", attrs, {x}).blame, Blame::logic);
}

TEST(CvmHoles, Hole15_EveryRowAndBatchIsPostprocessed) {
  CvmProvenance info;
  info.head_bits = {8};
  info.postprocess = "argmax";
  const std::vector<Tensor> rows = {Tensor::of<int32_t>(Shape{3, 2}, {1, 2, 9, 4, 5, 5})};
  EXPECT_EQ(*cvm_format::output_bytes(info, rows), std::string("\1\0\0\0\0\0\0\0\0\0\0\0", 12));
  info.postprocess = "detection";
  info.head_bits = {8, 8};
  const std::vector<Tensor> batches = {Tensor::of<int32_t>(Shape{2, 1, 1}, {1, 2}),
                                       Tensor::of<int32_t>(Shape{2, 1, 1}, {3, 4})};
  EXPECT_EQ(*cvm_format::output_bytes(info, batches), std::string("\1\0\0\0\3\0\0\0\2\0\0\0\4\0\0\0", 16));
}

TEST(CvmHoles, Hole16_AParameterCutShortIsRefused) {
  const std::string symbol = cvm_format::write_symbol(base_symbol()), params = cvm_format::write_params(base_params());
  EXPECT_EQ(load(symbol, params).all, Blame::none);
  for (size_t missing : {1, 4, 23, 24, 25}) {
    const auto l = load(symbol, params.substr(0, params.size() - missing));
    EXPECT_NE(l.all, Blame::none) << missing;
  }
}

}  // namespace
}  // namespace nnex
