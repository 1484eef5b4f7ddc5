#pragma once
// Matrix products on float32. Every element is one multiply-add chain over ascending k from 0: its bytes depend on its
// row, its column and the epilogue alone, never on threads, blocks or how many rows there are.

#include <cstddef>
#include <cstdint>

#include "base/threads.h"
#include "kernels/product/tiles.h"
#include "kernels/simd/loops.h"

namespace nnex {

/// Floats a packed right-hand side of k rows and n columns takes for these loops.
int64_t packed_floats(const simd::Loops& loops, int64_t k, int64_t n);

/// Packs b[i][j] = float at b + 4 * (i * row_stride + j * col_stride), at any address, for i < k, j < n. `packed`
/// should be aligned to 64 bytes.
void pack_b(const simd::Loops& loops, Team& team, const std::byte* b, int64_t k, int64_t n, int64_t row_stride,
            int64_t col_stride, float* packed);

/// c[i][j] = finish(sum over p of a[i][p] * b[p][j]), i < m, j < n, p < k. Strides count elements. c overlaps nothing
/// that is read.
struct Gemm {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  const float* a = nullptr;
  int64_t a_row_stride = 0;
  int64_t a_col_stride = 1;
  const float* b = nullptr;  ///< From pack_b with the same loops.
  float* c = nullptr;
  int64_t c_row_stride = 0;
  Epilogue end = {};
};

void gemm(const simd::Loops& loops, Team& team, const Gemm& product);

/// `batch` products of one shape whose right-hand side is not packed: product i reads a + i * a_stride,
/// b + i * b_stride and writes c + i * c_stride (0: the same for all); bias, row_bias and residual advance by their
/// strides too.
struct BatchGemm {
  Gemm one = {};  ///< one.b: plain floats.
  int64_t b_row_stride = 0;
  int64_t b_col_stride = 1;
  int64_t batch = 1;
  int64_t a_stride = 0;
  int64_t b_stride = 0;
  int64_t c_stride = 0;
  int64_t bias_stride = 0;
  int64_t row_bias_stride = 0;
  int64_t residual_stride = 0;
};

/// Bytes of workspace matmul_unpacked needs with a team of `threads`.
int64_t matmul_workspace(const simd::Loops& loops, const BatchGemm& products, int threads);

/// `workspace` is aligned to 64 bytes.
void matmul_unpacked(const simd::Loops& loops, Team& team, const BatchGemm& products, std::byte* workspace);

}  // namespace nnex
