// CVM's operators one at a time: values by hand, where back-ends of the reference runtime differ or stop.

#include <gtest/gtest.h>

#include "cvm_rows.h"
#include "ops/cvm.h"

namespace nnex {
namespace {

using namespace cvm_rows;

TEST(CvmOps, RightShiftRoundsHalvesUp) {
  EXPECT_EQ(one("cvm_right_shift", {{"precision", "8"}, {"shift_bit", "1"}}, {{{4}, 8, {3, -3, 127, -127}}}),
            (Numbers{2, -1, 64, -63}));
  EXPECT_EQ(one("cvm_right_shift", {{"precision", "4"}, {"shift_bit", "2"}}, {{{3}, 8, {127, -127, 5}}}),
            (Numbers{7, -7, 1}));
  for (const char* shift : {"31", "32"})
    EXPECT_EQ(one("cvm_right_shift", {{"precision", "2"}, {"shift_bit", shift}}, {{{3}, 32, {kMax, -kMax, 0}}}),
              shift[1] == '1' ? (Numbers{1, -1, 0}) : (Numbers{0, 0, 0}));
}

/// 32-bit arithmetic would wrap to -2^30 here.
TEST(CvmOps, RightShiftOfTheLargestNumberIsWide) {
  EXPECT_EQ(one("cvm_right_shift", {{"precision", "32"}, {"shift_bit", "1"}}, {{{2}, 32, {kMax, -kMax}}}),
            (Numbers{1 << 30, -(1 << 30) + 1}));
}

TEST(CvmOps, LeftShiftClamps) {
  EXPECT_EQ(one("cvm_left_shift", {{"precision", "8"}, {"shift_bit", "3"}}, {{{3}, 8, {1, 100, -100}}}),
            (Numbers{8, 127, -127}));
  const Answer wide = run("cvm_left_shift", {{"precision", "32"}, {"shift_bit", "25"}}, {{{1}, 8, {1}}});
  EXPECT_EQ(wide.blame, cvm_format::Blame::runtime) << wide.error;
}

TEST(CvmOps, PrecisionCountsDigits) {
  EXPECT_EQ(one("cvm_precision", {}, {{{6}, 32, {0, 1, 2, -3, 4, kMax}}}), (Numbers{1, 1, 2, 2, 3, 31}));
}

TEST(CvmOps, DivisionByZeroIsZeroAndTruncates) {
  EXPECT_EQ(one("broadcast_div", {}, {{{4}, 8, {7, -7, 7, -7}}, {{4}, 8, {0, 2, -2, -2}}}), (Numbers{0, -3, -3, 3}));
}

/// Upstream copies a quarter of each row, and promises the condition's bits for the choices.
TEST(CvmOps, WhereChoosesRowsAndKeepsTheChoicesBits) {
  const std::vector<In> in = {{{2}, 2, {0, 1}}, {{2, 3}, 8, {1, 2, 3, 4, 5, 6}}, {{2, 3}, 9, {11, 12, 13, 14, 15, 16}}};
  const Answer a = run("where", {}, in);
  ASSERT_EQ(a.error, "");
  EXPECT_EQ(a.values[0], (Numbers{11, 12, 13, 4, 5, 6}));
  EXPECT_EQ(a.bits[0], 9);
  EXPECT_EQ(run("where", {}, in, true).bits[0], 2);
}

/// Upstream starts from 0 where no axis is named.
TEST(CvmOps, MaximumOverEverythingIsTheTrueOne) {
  const std::vector<In> in = {{{2, 2}, 8, {-4, -3, -2, -5}}};
  EXPECT_EQ(one("max", {}, in), (Numbers{-2}));
  EXPECT_EQ(one("max", {}, in, true), (Numbers{0}));
  EXPECT_EQ(one("max", {{"axis", "(0, 1)"}}, in, true), (Numbers{-2}));
}

TEST(CvmOps, SumKeepsAxesOfOneElement) {
  EXPECT_EQ(one("sum", {{"axis", "(0,)"}}, {{{2, 3, 1}, 8, {1, 2, 3, 10, 20, 30}}}), (Numbers{11, 22, 33}));
  const Answer same = run("sum", {{"axis", "(0, 1)"}, {"exclude", "1"}}, {{{1, 2}, 8, {5, 6}}});
  EXPECT_EQ(same.values[0], (Numbers{5, 6}));
  EXPECT_EQ(same.bits[0], 9);
}

TEST(CvmOps, UpsamplingRepeatsPixels) {
  EXPECT_EQ(one("upsampling", {{"scale", "2"}}, {{{1, 1, 1, 2}, 8, {1, 2}}}), (Numbers{1, 1, 2, 2, 1, 1, 2, 2}));
}

TEST(CvmOps, IndicesAreClampedNeverWrapped) {
  EXPECT_EQ(one("take", {}, {{{2, 2}, 8, {1, 2, 3, 4}}, {{3}, 8, {-1, 2, 9}}}), (Numbers{1, 3, 4}));
  EXPECT_EQ(one("cvm_lut", {{"in_dim", "4"}}, {{{3}, 8, {-1, 2, 9}}, {{2, 2}, 8, {1, 2, 3, 4}}}), (Numbers{1, 3, 4}));
}

TEST(CvmOps, SliceListsLongerThanTheRankAreRefused) {
  const Answer a = run("strided_slice", {{"begin", "(0, 0)"}, {"end", "(1, 1)"}}, {{{3}, 8, {1, 2, 3}}});
  EXPECT_EQ(a.blame, cvm_format::Blame::logic);
  EXPECT_EQ(one("strided_slice", {}, {{{3}, 8, {1, 2, 3}}}), (Numbers{1}));
  EXPECT_EQ(one("strided_slice", {{"begin", "(2,)"}, {"end", "(-4,)"}, {"stride", "(-2,)"}}, {{{3}, 8, {1, 2, 3}}}),
            (Numbers{3, 1}));
}

/// Upstream reads past the filter, or garbage.
TEST(CvmOps, FiltersOfAnotherShapeAreRefused) {
  const Answer a = run("conv2d", {{"channels", "1"}, {"kernel_size", "(2, 2)"}, {"use_bias", "0"}},
                       {{{1, 1, 2, 2}, 8, {1, 2, 3, 4}}, {{1, 1, 1, 2}, 8, {1, 1}}});
  EXPECT_EQ(a.blame, cvm_format::Blame::logic) << a.error;
}

TEST(CvmOps, ReshapeCodes) {
  Numbers x(24);
  const auto extents = [&](const char* shape) -> std::vector<int64_t> {
    ir::Graph graph;
    Importer importer(graph, false);
    auto y = importer.add("reshape", {{"shape", shape}}, {importer.variable("x", {2, 3, 4}, 8)}, "y", 0);
    if (!y.ok()) return {};
    const Shape s = importer.shape((*y)[0]);
    return {s.begin(), s.end()};
  };
  using List = std::vector<int64_t>;
  EXPECT_EQ(extents("(-1, 0)"), (List{8, 3}));
  EXPECT_EQ(extents("(-3, -2)"), (List{6, 4}));
  EXPECT_EQ(extents("(2, -4, -1, 3, -2)"), (List{2, 1, 3, 4}));
  EXPECT_EQ(extents("(-4, -1, -1, 3)"), List{});
  EXPECT_EQ(extents("(-1, -1)"), List{});
  EXPECT_EQ(extents("(5, -1)"), List{});
  EXPECT_EQ(extents("24"), List{24});
}

TEST(CvmOps, ValidCountsLookAtScoresAlone) {
  const Answer a = run("get_valid_counts", {{"score_threshold", "10"}}, {{{1, 3, 2}, 8, {-1, 11, 5, 10, 7, 12}}});
  ASSERT_EQ(a.error, "");
  EXPECT_EQ(a.values[0], Numbers{2});
  EXPECT_EQ(a.values[1], (Numbers{-1, 11, 7, 12, -1, -1}));
  EXPECT_EQ(a.bits, (std::vector<int64_t>{4, 8}));
}

/// A batch without rows stops other back-ends; batches are on their own here.
TEST(CvmOps, SuppressionGoesBatchByBatch) {
  EXPECT_EQ(one("non_max_suppression", {}, {kBoxes, {{2}, 4, {-3, 2}}}),
            (Numbers{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 5, 5, 9, 9, 1, 3, 0, 0, 4, 4}));
  EXPECT_EQ(one("non_max_suppression", {}, {kBoxes, {{2}, 4, {2, 0}}}),
            (Numbers{0, 9, 0, 0, 10, 9, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
}

TEST(CvmOps, SuppressionKeepsNoRowsWhenToldSo) {
  EXPECT_EQ(one("non_max_suppression", {{"max_output_size", "0"}}, {kBoxes, {{2}, 4, {2, 2}}}), Numbers(24, -1));
  EXPECT_EQ(one("non_max_suppression", {{"top_k", "0"}}, {kBoxes, {{2}, 4, {2, 2}}}), Numbers(24, -1));
}

TEST(CvmOps, SuppressionOfWideCoordinatesIsRefused) {
  In boxes = kBoxes;
  boxes.bits = 31;
  EXPECT_EQ(run("non_max_suppression", {}, {boxes, {{2}, 4, {2, 2}}}).blame, cvm_format::Blame::logic);
  EXPECT_EQ(run("non_max_suppression", {}, {boxes, {{2}, 4, {2, 2}}}, true).error, "");
}

TEST(CvmOps, OverlapInPercent) {
  const int32_t a[] = {0, 0, 10, 10}, b[] = {5, 0, 15, 10}, inverted[] = {10, 10, 0, 0}, far[] = {20, 20, 30, 30};
  EXPECT_EQ(cvm_overlap_percent(a, a), 100);
  EXPECT_EQ(cvm_overlap_percent(a, b), 33);
  EXPECT_EQ(cvm_overlap_percent(a, far), 0);
  EXPECT_EQ(cvm_overlap_percent(a, inverted), 0);
  const int32_t wide[] = {INT32_MIN, INT32_MIN, INT32_MAX, INT32_MAX};
  EXPECT_EQ(cvm_overlap_percent(wide, wide), 100);
}

TEST(CvmOps, AttributeTexts) {
  const In x = {{2}, 8, {1, 2}};
  const struct {
    const char* op;
    TextMap attrs;
    cvm_format::Blame blame;
  } rows[] = {
      {"repeat", {{"repeats", " 2 "}}, cvm_format::Blame::none},
      {"repeat", {{"repeats", "2.5"}}, cvm_format::Blame::runtime},
      {"repeat", {{"repeats", "99999999999"}}, cvm_format::Blame::runtime},
      {"repeat", {{"repeats", "0"}}, cvm_format::Blame::logic},
      {"repeat", {}, cvm_format::Blame::runtime},
      {"repeat", {{"repeats", "2"}, {"__note__", "x"}}, cvm_format::Blame::none},
      {"repeat", {{"repeats", "2"}, {"note", "x"}}, cvm_format::Blame::runtime},
      {"relu", {{"note", "x"}}, cvm_format::Blame::logic},
      {"sum", {{"axis", "(0L,)"}, {"keepdims", "tRUE"}}, cvm_format::Blame::none},
      {"sum", {{"axis", "(0"}}, cvm_format::Blame::runtime},
      {"sum", {{"keepdims", "yes"}}, cvm_format::Blame::runtime},
      {"sum", {{"axis", "[-1]"}}, cvm_format::Blame::none},
      {"sum", {{"axis", "(0, -1)"}}, cvm_format::Blame::logic},
      {"tile", {}, cvm_format::Blame::logic},
      {"tile", {{"reps", "3"}}, cvm_format::Blame::none},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.op);
    const Answer a = run(row.op, row.attrs, {x});
    EXPECT_EQ(a.blame, row.blame) << a.error;
  }
}

TEST(CvmOps, BitsOfResults) {
  const In x8 = {{1, 4}, 8, {1, 2, 3, 4}}, x32 = {{1, 4}, 32, {1, 2, 3, 4}};
  EXPECT_EQ(run("elemwise_add", {}, {x8, x8}).bits[0], 9);
  EXPECT_EQ(run("elemwise_add", {}, {x32, x8}).blame, cvm_format::Blame::logic);
  EXPECT_EQ(run("broadcast_mul", {}, {x8, x8}).bits[0], 16);
  EXPECT_EQ(run("clip", {{"a_min", "-5"}, {"a_max", "127"}}, {x8}).bits[0], 9);
  EXPECT_EQ(run("clip", {{"a_min", "5"}, {"a_max", "5"}}, {x8}).blame, cvm_format::Blame::logic);
  EXPECT_EQ(run("dense", {{"units", "1"}, {"use_bias", "0"}}, {x8, x8}).bits[0], 19);
  EXPECT_EQ(run("dense", {{"units", "1"}}, {x8, x8, {{1}, 8, {1}}}).bits[0], 20);
  EXPECT_EQ(run("sum", {}, {x8}).bits[0], 11);
  EXPECT_EQ(run("concatenate", {}, {x8, x32}).bits[0], 32);
}

}  // namespace
}  // namespace nnex
