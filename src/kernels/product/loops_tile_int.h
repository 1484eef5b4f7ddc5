#pragma once
// The register tile of integer products: bytes times bytes into int32, exact (sums wrap).

#include <cstdint>

#include "kernels/product/loops_tile.h"

namespace nnex::kernels::simd {

/// Between a tile's rows: without it g++ loads what all rows multiply by first, and spills the sums.
#ifdef __clang__
#define NNEX_ROW_BY_ROW
#else
#define NNEX_ROW_BY_ROW asm volatile("" ::: "memory")
#endif

constexpr int kGroupsBeyond = 15;  ///< A tile unit reads 16 at once, and multiplies what it should not have by zeros.

/// Weights that are added to those of some groups, of a vector of columns: the group's values of a column side by side,
/// one group's after the other.
struct MoreWeights {
  const int32_t* groups = nullptr;  ///< Rising; INT32_MAX after the last.
  const int8_t* b = nullptr;
};

/// c[i][j] = (go_on ? c[i][j] : 0) + sum over k of a_i[k] * b[k][j] + row_factor[i] * column_factor[j] + column_add[j],
/// all wrapping. T = int16_t: k in groups of 2; T = uint8_t: groups of 4. Each run's k is rounded up to whole groups,
/// which must be readable; b holds the group's values of a column side by side, `b_stride` bytes a group. Whole vectors
/// of columns are read from b; column_add and column_factor have `columns` entries, null pointers count as zeros.
/// T = uint8_t: kGroupsBeyond groups after the last are readable, too.
template <class T>
struct IntTile {
  const RowRunOf<T>* runs = nullptr;
  int64_t n_runs = 0;
  const int8_t* b = nullptr;
  int64_t b_stride = 0;
  int32_t* c = nullptr;
  int64_t c_stride = 0;
  int rows = 0;
  int columns = 0;
  bool go_on = false;
  bool whole = false;  ///< Whole vectors may be written to c.
  const int32_t* row_factor = nullptr;
  const int32_t* column_factor = nullptr;
  const int32_t* column_add = nullptr;
  const MoreWeights* more = nullptr;  ///< Of each vector of columns, for tile_pairs; null: there are none.
  int64_t first_group = 0;            ///< What `more` calls the group that b begins with.
  int32_t* unit = nullptr;  ///< What a unit of the machine is set to, 0 at first; null: it is set for each tile.
};

/// Rows of sums, `stride` numbers apart.
struct SumRows {
  const int32_t* c = nullptr;
  int64_t stride = 0;
  int64_t rows = 0;
};

/// Sums to bytes: y[i] = min(max(half_even(c[i] * scale[i * step]) + zero, low), high), of which the low 8 bits are
/// kept. step is 0 or 1; low and high are within 2^16 of zero.
struct Requantize {
  const float* scale = nullptr;
  int64_t step = 0;
  int32_t zero = 0;
  int32_t low = 0;
  int32_t high = 255;
};

}  // namespace nnex::kernels::simd
