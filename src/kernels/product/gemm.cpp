#include "kernels/product/gemm.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/product/matrix_rows.h"

namespace nnex {
namespace {

/// One panel; the source's bytes may lie anywhere.
void pack_panel(const std::byte* b, int64_t k, int columns, int width, int64_t row_stride, int64_t col_stride,
                float* packed) {
  constexpr int64_t kRowsAtOnce = 128;  // a panel's part that stays in the first level cache
  if (col_stride == 1) {
    for (int64_t i = 0; i < k; ++i) {
      std::memcpy(packed + i * width, b + i * row_stride * 4, static_cast<size_t>(columns) * 4);
      std::fill(packed + i * width + columns, packed + (i + 1) * width, 0.0F);
    }
    return;
  }
  for (int64_t first = 0; first < k; first += kRowsAtOnce) {
    const int64_t end = std::min(first + kRowsAtOnce, k);
    for (int j = 0; j < width; ++j) {
      const std::byte* column = b + j * col_stride * 4;
      for (int64_t i = first; i < end; ++i) {
        float value = 0;
        if (j < columns) std::memcpy(&value, column + i * row_stride * 4, 4);
        packed[i * width + j] = value;
      }
    }
  }
}

Columns columns_of(const simd::Loops& loops, int64_t k, int64_t n, const float* b) {
  return {loops.tile_shape_f32(), k, n, b, 0};
}

/// Whether few enough rows read b that they take it where it lies.
bool reads_b_in_place(const simd::Loops& loops, const BatchGemm& products) {
  const simd::TileShape shape = loops.tile_shape_f32();
  return products.b_col_stride == 1 && products.b_row_stride > 0 && products.one.n % shape.lanes == 0 &&
         products.one.m <= 2 * shape.rows;
}

/// Products a part packs for, one after the other. A team may have more threads than the workspace was made for.
int64_t batch_parts(const BatchGemm& products, int threads) {
  return std::min<int64_t>(products.batch, std::min(threads, usable_threads()));
}

/// A whole number of cache lines, so that neighbours share none.
int64_t workspace_floats(const simd::Loops& loops, const BatchGemm& products) {
  return ceil_div(packed_floats(loops, products.one.k, products.one.n), 16) * 16;
}

Gemm product_of(const BatchGemm& products, int64_t i) {
  Gemm one = products.one;
  one.a += i * products.a_stride;
  one.b += i * products.b_stride;
  one.c += i * products.c_stride;
  if (one.end.bias) one.end.bias += i * products.bias_stride;
  if (one.end.row_bias) one.end.row_bias += i * products.row_bias_stride;
  if (one.end.residual) one.end.residual += i * products.residual_stride;
  return one;
}

void run_unpacked(const simd::Loops& loops, Team& team, const BatchGemm& products, int64_t i, float* packed) {
  Gemm one = product_of(products, i);
  if (reads_b_in_place(loops, products)) {
    const Columns columns{loops.tile_shape_f32(), one.k, one.n, one.b, products.b_row_stride};
    multiply_tiles(loops, team,
                   MatrixRows<LiftFloat>(columns.shape, {}, one.a, one.m, one.a_row_stride, one.a_col_stride), columns,
                   one.c, one.c_row_stride, one.end);
    return;
  }
  pack_b(loops, team, reinterpret_cast<const std::byte*>(one.b), one.k, one.n, products.b_row_stride,
         products.b_col_stride, packed);
  one.b = packed;
  gemm(loops, team, one);
}

}  // namespace

int64_t packed_floats(const simd::Loops& loops, int64_t k, int64_t n) {
  return columns_of(loops, k, n, nullptr).floats();
}

void pack_b(const simd::Loops& loops, Team& team, const std::byte* b, int64_t k, int64_t n, int64_t row_stride,
            int64_t col_stride, float* packed) {
  const Columns columns = columns_of(loops, k, n, packed);
  team.run(columns.panels(), [&](int64_t panel) {
    pack_panel(b + panel * columns.shape.columns * col_stride * 4, k, columns.columns(panel), columns.width(panel),
               row_stride, col_stride, packed + panel * columns.panel_stride());
  });
}

void gemm(const simd::Loops& loops, Team& team, const Gemm& product) {
  const Columns columns = columns_of(loops, product.k, product.n, product.b);
  const MatrixRows<LiftFloat> rows(columns.shape, {}, product.a, product.m, product.a_row_stride, product.a_col_stride);
  multiply_tiles(loops, team, rows, columns, product.c, product.c_row_stride, product.end);
}

int64_t matmul_workspace(const simd::Loops& loops, const BatchGemm& products, int threads) {
  if (reads_b_in_place(loops, products)) return 0;
  return std::max<int64_t>(1, batch_parts(products, threads)) * workspace_floats(loops, products) * 4;
}

void matmul_unpacked(const simd::Loops& loops, Team& team, const BatchGemm& products, std::byte* workspace) {
  float* const packed = reinterpret_cast<float*>(workspace);
  const int64_t parts = batch_parts(products, team.size());
  if (products.batch < 2 * team.size()) {  // too few to share out: each is cut instead
    for (int64_t i = 0; i < products.batch; ++i) run_unpacked(loops, team, products, i, packed);
    return;
  }
  const int64_t floats = workspace_floats(loops, products);
  team.run(parts, [&](int64_t part) {
    Team alone;
    for (int64_t i = share(products.batch, parts, part); i < share(products.batch, parts, part + 1); ++i)
      run_unpacked(loops, alone, products, i, packed + (packed ? part * floats : 0));
  });
}

}  // namespace nnex
