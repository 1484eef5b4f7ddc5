// Products of matrices by their reference kernels.

#include <gtest/gtest.h>

#include "op_run.h"
#include "tensor_of.h"

namespace nnex {
namespace {

using test::f;
using test::i32;
using test::i8;
using test::run_op;
using test::shown;
using test::u8;

const Tensor kA = f({2, 3}, {1, 2, 3, 4, 5, 6});
const Tensor kB = f({3, 2}, {7, 8, 9, 10, 11, 12});

TEST(Matmul, Shapes) {
  EXPECT_EQ(shown(run_op("matmul", {kA, kB})), "f32[2,2] 58 64 139 154");
  EXPECT_EQ(shown(run_op("matmul", {kB, kA}, {{"transposeA", true}, {"transposeB", true}})), "f32[2,2] 58 139 64 154");
  EXPECT_EQ(shown(run_op("matmul", {f({3}, {1, 1, 1}), kB})), "f32[2] 27 30");
  EXPECT_EQ(shown(run_op("matmul", {kA, f({3}, {1, 1, 1})})), "f32[2] 6 15");
  EXPECT_EQ(shown(run_op("matmul", {f({3}, {1, 2, 3}), f({3}, {1, 1, 1})})), "f32[] 6");
  EXPECT_EQ(shown(run_op("matmul", {f({2, 1, 1, 2}, {1, 2, 3, 4}), f({3, 2, 1}, {1, 1, 2, 2, 3, 3})})),
            "f32[2,3,1,1] 3 6 9 7 14 21");
  EXPECT_EQ(shown(run_op("matmul", {f({2, 0}, {}), f({0, 2}, {})})), "f32[2,2] 0 0 0 0");
  EXPECT_EQ(shown(run_op("matmul", {f({0, 2}, {}), f({2, 0}, {})}, {{"transposeA", true}, {"transposeB", true}})),
            "f32[2,2] 0 0 0 0");
  EXPECT_EQ(shown(run_op("matmul", {kA, kA})), "matmul: x has rows of 3, y has columns of 2; needed the same");
  EXPECT_EQ(shown(run_op("matmul", {f({}, {1}), kA})), "matmul: x is a scalar; needed a vector or matrices");
  EXPECT_EQ(shown(run_op("matmul", {i32({1, 1}, {1 << 30}), i32({1, 1}, {4})})), "i32[1,1] 0");
}

TEST(Linear, Bias) {
  const Tensor filter = f({2, 3}, {7, 9, 11, 8, 10, 12});
  EXPECT_EQ(shown(run_op("linear", {kA, filter})), "f32[2,2] 58 64 139 154");
  EXPECT_EQ(shown(run_op("linear", {kA, filter, f({2}, {1, 2})}, {{"alpha", 0.5}, {"beta", 2.0}})),
            "f32[2,2] 31 36 71.5 81");
  EXPECT_EQ(shown(run_op("linear", {kA, filter, f({2, 1}, {1, 2})})), "f32[2,2] 59 65 141 156");
  EXPECT_EQ(shown(run_op("linear", {kA, filter, f({3}, {1, 2, 3})})),
            "linear: shapes [2,2] and [3] do not broadcast: 2 meets 3 at axis 1 from the last");
  EXPECT_EQ(shown(run_op("linear", {f({1, 3}, {1, 2, 3}), filter, f({2, 1}, {1, 2})})),
            "linear: bias [2,1] does not broadcast to the product [1,2]");
}

TEST(MatmulInteger, ZeroPoints) {
  EXPECT_EQ(shown(run_op("matmul_integer", {u8({1, 2}, {200, 100}), i8({2, 1}, {-128, 127}), u8({}, {128})})),
            "i32[1,1] -12772");
  EXPECT_EQ(
      shown(run_op("matmul_integer", {u8({2, 1}, {10, 20}), u8({1, 2}, {1, 2}), u8({2, 1}, {10, 0}), u8({2}, {0, 2})})),
      "i32[2,2] 0 0 20 0");
}

TEST(QlinearMatmul, RoundsHalfToEvenAndSaturates) {
  const Tensor one = f({}, {1}), zero = u8({}, {0});
  EXPECT_EQ(
      shown(run_op("qlinear_matmul", {u8({1, 1}, {5}), f({}, {0.5f}), zero, u8({1, 2}, {1, 3}), one, zero, one, zero})),
      "u8[1,2] 2 8");
  EXPECT_EQ(shown(run_op("qlinear_matmul",
                         {u8({1, 1}, {200}), one, zero, i8({1, 1}, {-2}), one, i8({}, {0}), one, i8({}, {5})})),
            "i8[1,1] -128");
}

TEST(Einsum, Equations) {
  auto run = [](std::vector<Tensor> in, const char* equation) {
    return shown(run_op("einsum", in, {{"equation", std::string(equation)}}));
  };
  EXPECT_EQ(run({kA, kB}, "ij,jk->ik"), "f32[2,2] 58 64 139 154");
  EXPECT_EQ(run({kA, kB}, "ij, jk"), "f32[2,2] 58 64 139 154");
  EXPECT_EQ(run({kA}, "ij->ji"), "f32[3,2] 1 4 2 5 3 6");
  EXPECT_EQ(run({kA}, "ij->"), "f32[] 21");
  EXPECT_EQ(run({f({2, 2}, {1, 2, 3, 4})}, "ii"), "f32[] 5");
  EXPECT_EQ(run({f({2, 2}, {1, 2, 3, 4})}, "ii->i"), "f32[2] 1 4");
  EXPECT_EQ(run({f({2, 2, 1}, {1, 2, 3, 4}), f({1, 3}, {1, 2, 3})}, "...ij,jk->...ik"),
            "f32[2,2,3] 1 2 3 2 4 6 3 6 9 4 8 12");
  EXPECT_EQ(run({kA}, "...i->..."), "f32[2] 6 15");
  EXPECT_EQ(run({kA}, "..."), "f32[2,3] 1 2 3 4 5 6");
  EXPECT_EQ(run({f({0}, {})}, "i->"), "f32[] 0");
  EXPECT_EQ(run({kA, kB, f({2}, {1, 2})}, "ij,jk,k->i"), "f32[2] 186 447");
  EXPECT_EQ(run({kA}, "ijk->i"), "einsum: equation 'ijk->i' has 3 indices for operand 0; it has 2 axes");
  EXPECT_EQ(run({kA}, "ij->k"), "einsum: equation 'ij->k' has 'k' in the result alone");
  EXPECT_EQ(run({kA}, "i,j->i"), "einsum: equation 'i,j->i' names 2 operands; found 1");
  EXPECT_EQ(run({kA}, "i_"), "einsum: equation 'i_' has '_' where a letter, '...', ',' or '->' is needed");
  EXPECT_EQ(run({kA, kA}, "ij,jk"), "einsum: extent of index 'j' in operand 1: found 2, needed 3");
}

TEST(Det, Pivots) {
  EXPECT_EQ(shown(run_op("det", {f({2, 2}, {0, 1, 1, 0})})), "f32[] -1");
  EXPECT_EQ(shown(run_op("det", {f({2, 2, 2}, {1, 2, 3, 4, 2, 0, 0, 3})})), "f32[2] -2 6");
  EXPECT_EQ(shown(run_op("det", {f({0, 0}, {})})), "f32[] 1");
  EXPECT_EQ(shown(run_op("det", {f({2, 3}, {1, 2, 3, 4, 5, 6})})),
            "det: x holds matrices of 2 by 3; needed square ones");
}

}  // namespace
}  // namespace nnex
