#include "kernels/product/gemm_i8.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/product/matrix_rows.h"
#include "kernels/product/tiles_i8.h"

namespace nnex::kernels {
namespace {

int64_t terms_bytes(int64_t n) { return ceil_div(n * 4, 64) * 64; }

}  // namespace

int64_t packed_bytes_i8(const simd::Loops& loops, int64_t k, int64_t n) {
  return IntColumns(loops, k, n, nullptr).bytes();
}

void pack_b_i8(const simd::Loops& loops, Team& team, const ByteMatrix& b, std::byte* packed) {
  const ByteColumns from{b.b,          std::max<int64_t>(b.k, 1), 0, b.row_stride, b.col_stride, b.is_signed, b.zero,
                         b.zero_stride};
  pack_int_columns(loops, team, b.k, b.n, from, packed);
}

int64_t gemm_i8_workspace(const simd::Loops& loops, int64_t m, int64_t n, int64_t k, bool to_bytes) {
  return terms_bytes(n) + (sums_needed(loops, k, to_bytes) ? m * n * 4 : 0);
}

void gemm_i8(const simd::Loops& loops, Team& team, const GemmI8& p, std::byte* workspace) {
  const IntColumns columns(loops, p.k, p.n, p.b);
  auto* const terms = reinterpret_cast<int32_t*>(workspace);
  auto* const sums = reinterpret_cast<int32_t*>(workspace + terms_bytes(p.n));
  const auto* const a = reinterpret_cast<const uint8_t*>(p.a);
  with_lift(columns, p.a_signed, p.a_zero, [&]<class Lift>(Lift lift, int32_t zero) {
    column_terms(columns, zero, p.end.bias, terms);
    const MatrixRows<Lift> rows(columns.shape, lift, a, p.m, p.a_row_stride, p.a_col_stride);
    multiply_int_tiles(loops, team, rows, columns, terms, p.end, sums);
  });
}

}  // namespace nnex::kernels
