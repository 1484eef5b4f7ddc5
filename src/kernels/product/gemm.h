#pragma once
// Matrix products on float32. Every element is one multiply-add chain over ascending k from 0: its bytes depend on its
// row, its column and the epilogue alone, never on threads, blocks or how many rows there are.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/threads.h"
#include "kernels/product/tiles.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// Floats a packed right-hand side of k rows and n columns takes for these loops.
int64_t packed_floats(const simd::Loops& loops, int64_t k, int64_t n);

/// Packs b[i][j] = float at b + 4 * (i * row_stride + j * col_stride), at any address, for i < k, j < n. `packed`
/// should be aligned to 64 bytes.
void pack_b(const simd::Loops& loops, Team& team, const std::byte* b, int64_t k, int64_t n, int64_t row_stride,
            int64_t col_stride, float* packed);
/// The same of a constant that lies dense in memory of `owner`. The pages of a mapped file are given back once they are
/// packed, where columns lie dense some columns at a time: a large matrix is never there in both forms.
void pack_constant_b(const simd::Loops& loops, Team& team, const std::shared_ptr<const void>& owner, const std::byte* b,
                     int64_t k, int64_t n, int64_t row_stride, int64_t col_stride, float* packed);

/// c[i][j] = finish(sum over p of a[i][p] * b[p][j]), i < m, j < n, p < k. Strides count elements. c overlaps nothing
/// that is read.
struct Gemm {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  const float* a = nullptr;
  int64_t a_row_stride = 0;
  int64_t a_col_stride = 1;
  const float* b = nullptr;            ///< From pack_b with the same loops.
  const CodeColumns* codes = nullptr;  ///< Instead of b.
  float* unpacked = nullptr;           ///< With codes: unpacked_floats().
  float* c = nullptr;
  int64_t c_row_stride = 0;
  Epilogue end = {};
};

void gemm(const simd::Loops& loops, Team& team, const Gemm& product);

/// One axis along which products of one shape repeat: how far each pointer moves with it, in elements.
struct BatchAxis {
  int64_t extent = 1;
  int64_t a = 0;
  int64_t b = 0;
  int64_t c = 0;
  int64_t bias = 0;
  int64_t row_bias = 0;
  int64_t residual = 0;
};

/// Products of one shape, one for every index of `axes`, outermost first; none: one product. A right-hand side that
/// several products in a row read is packed once for them: axes along which b stands still go last.
struct BatchGemm {
  Gemm one = {};  ///< one.b: plain floats, or with `packed` what pack_b made of each matrix.
  bool packed = false;
  int64_t b_row_stride = 0;
  int64_t b_col_stride = 1;
  std::vector<BatchAxis> axes = {};

  int64_t batch() const;
};

/// Bytes of workspace gemm_batch needs with a team of `threads`.
int64_t gemm_batch_workspace(const simd::Loops& loops, const BatchGemm& products, int threads);

/// `workspace` is aligned to 64 bytes.
void gemm_batch(const simd::Loops& loops, Team& team, const BatchGemm& products, std::byte* workspace);

}  // namespace nnex::kernels
