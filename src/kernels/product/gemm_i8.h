#pragma once
// Products of bytes, exact in int32 (sums wrap): c[i][j] = sum over k of (a[i][k] - a_zero) * (b[k][j] - b_zero[j]),
// each side signed or unsigned. The same numbers on every instruction set.

#include <cstddef>
#include <cstdint>

#include "base/threads.h"
#include "kernels/integer/chain.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// Where sums go: to c as they are, or, where y is given, to bytes, or through a chain. Bias is added first. Rows are
/// those of the product, columns too.
struct IntEpilogue {
  const int32_t* bias = nullptr;  ///< By column.
  int32_t* c = nullptr;           ///< Not needed with y.
  int64_t c_row_stride = 0;
  std::byte* y = nullptr;
  int64_t y_row_stride = 0;
  simd::Requantize to_bytes = {};  ///< scale by column (step 1) or one for all (step 0).
  const IntChain* chain = nullptr;
  int64_t first_column = 0;  ///< The chain's column of the product's column 0.
  bool keeps_sums() const { return !y && !chain; }
};

/// A right-hand side: element (i, j) is the byte at b + i * row_stride + j * col_stride.
struct ByteMatrix {
  const std::byte* b = nullptr;
  int64_t k = 0;
  int64_t n = 0;
  int64_t row_stride = 0;
  int64_t col_stride = 1;
  bool is_signed = true;
  const int32_t* zero = nullptr;  ///< Null: zeros.
  int64_t zero_stride = 0;        ///< 1: one for each column; 0: one for all.
};

int64_t packed_bytes_i8(const simd::Loops& loops, int64_t k, int64_t n);

/// `packed` is aligned to 64 bytes.
void pack_b_i8(const simd::Loops& loops, Team& team, const ByteMatrix& b, std::byte* packed);

struct GemmI8 {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  const std::byte* a = nullptr;
  bool a_signed = false;
  int32_t a_zero = 0;
  int64_t a_row_stride = 0;
  int64_t a_col_stride = 1;
  const std::byte* b = nullptr;  ///< From pack_b_i8 with the same loops.
  IntEpilogue end = {};
};

/// Bytes of workspace gemm_i8 needs; `to_bytes`: with end.y or end.chain.
int64_t gemm_i8_workspace(const simd::Loops& loops, int64_t m, int64_t n, int64_t k, bool to_bytes);

/// `workspace` is aligned to 64 bytes.
void gemm_i8(const simd::Loops& loops, Team& team, const GemmI8& product, std::byte* workspace);

}  // namespace nnex::kernels
