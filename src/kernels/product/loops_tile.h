#pragma once
// The register tile every float product is made of: a few rows times a panel of columns.

#include <cstddef>
#include <cstdint>

#include "kernels/elementwise/unary.h"

namespace nnex::kernels::simd {

/// What an instruction set's tiles are: at most `rows` rows and `columns` columns, in vectors of `lanes` columns.
struct TileShape {
  int rows = 0;
  int columns = 0;
  int lanes = 0;
};

constexpr int kMaxTileColumns = 32;  ///< Of any instruction set's tiles.

/// The next `k` values of every row of a tile: row i's are a[i * row_stride + 0 .. k). A row stride of 0 repeats one
/// row. Nothing is set by itself: filling a product's list of them takes longer than a small product.
template <class T>
struct RowRunOf {
  const T* a;
  int64_t row_stride;
  int64_t k;
};
using RowRun = RowRunOf<float>;

/// What happens to a finished sum s: s * scale, + bias[column], + row_bias[row], + residual * residual_scale, then
/// relu, clamp or nothing; each step rounds on its own. Null pointers are steps left out.
struct TileEnd {
  float scale = 1;
  const float* bias = nullptr;
  const float* row_bias = nullptr;
  const float* residual = nullptr;  ///< May be the tile's own c.
  int64_t residual_stride = 0;
  float residual_scale = 1;
  Unary activation = {};  ///< identity, relu or clamp.
};

/// c[i][j] = the chain of multiply-adds over ascending k of row i and column j, for `rows` rows and `columns` columns.
/// Rows beyond a register tile's are served one such tile after the other.
/// Column j of panel p = j / shape.columns lies at b[p * panel_stride + k * b_stride + j % shape.columns]; whole
/// vectors are read, also where `columns` ends inside one. More than one panel: rows and panels as few_rows_panels()
/// says. `spans` such tiles of whole panels lie side by side: their panels of b, their columns of c and of what `end`
/// points to, and what they fetch.
struct Tile {
  const RowRun* runs = nullptr;
  int64_t n_runs = 0;
  const float* b = nullptr;
  const int64_t* b_runs = nullptr;  ///< Where given, run r reads rows of B from b + b_runs[r] on; else they go on.
  int64_t b_stride = 0;
  int64_t panel_stride = 0;
  float* c = nullptr;
  int64_t c_stride = 0;
  int rows = 0;
  int columns = 0;  ///< Of a span.
  int64_t spans = 1;
  bool go_on = false;                ///< The chains continue from the stored c; else from 0.
  const TileEnd* end = nullptr;      ///< Null: c gets the plain sums.
  const std::byte* ahead = nullptr;  ///< Fetched meanwhile: columns that later tiles read. Null: nothing is.
  int64_t ahead_step = 0;            ///< Bytes of it a value of k, at most those of B that it takes.
};

/// How many whole panels one call may span: few rows alone do not fill the multipliers, and more than the registers
/// hold wait for memory.
constexpr int few_rows_panels(const TileShape& shape, int64_t rows) {
  const int64_t most = shape.rows >= 8 ? 3 : 2;  // of two panels
  return rows == 1 ? 4 : rows <= most ? 2 : 1;
}

}  // namespace nnex::kernels::simd
