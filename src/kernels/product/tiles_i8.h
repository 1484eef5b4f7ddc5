#pragma once
// The loop over integer tiles that products and convolutions of bytes share.

#include "kernels/lift.h"
#include "kernels/product/gemm_i8.h"
#include "kernels/product/tiles.h"

namespace nnex::kernels {

/// What tiles multiply.
enum class IntTiles : uint8_t {
  bytes,  ///< Bytes without sign by signed ones (LiftBytes).
  pairs,  ///< The same, two products in 16 bits; columns many of whose pairs need more are packed for `wide` tiles.
  wide,   ///< int16 (LiftWide).
};
IntTiles int_tiles(const simd::Loops& loops);

/// Packed bytes: a header, panels of groups of k (zeros after the last), the sum of every column, its zero point; for
/// pairs what some groups have beyond them. Values are int8: unsigned ones are moved down by 128, their zero points
/// too.
struct IntColumns {
  simd::TileShape shape;
  IntTiles tiles = IntTiles::wide;
  int64_t group = 0;  ///< Values of k side by side.
  int64_t k = 0;
  int64_t n = 0;
  const std::byte* packed = nullptr;

  /// Without bytes: as they take most place.
  IntColumns(const simd::Loops& loops, int64_t depth, int64_t columns, const std::byte* bytes);
  int64_t panels() const { return panels_; }
  int64_t columns_of(int64_t panel) const { return panel + 1 < panels_ ? shape.columns : n - panel * shape.columns; }
  int64_t width(int64_t panel) const { return panel + 1 < panels_ ? shape.columns : last_width_; }
  int64_t padded_k() const { return padded_k_; }
  int64_t panel_offset(int64_t panel) const { return kHeader + panel * shape.columns * padded_k(); }
  int64_t sums_offset() const { return sums_offset_; }
  int64_t zeros_offset() const { return sums_offset() + n * 4; }
  /// Of the groups of all vectors of columns, how many may have more than pairs: with a third of them nothing would be
  /// won.
  int64_t room_for_more() const { return vectors() * (padded_k() / group) / 5; }
  int64_t vectors() const { return ceil_div(n, shape.lanes); }
  int64_t vector_bytes() const { return shape.lanes * group; }
  /// The place of each vector's groups of more among all, and the end; then the groups, each vector's followed by
  /// INT32_MAX.
  int64_t more_offset() const { return round_up(zeros_offset() + n * 4, 64); }
  int64_t more_weights_offset() const {
    return more_offset() + round_up((room_for_more() + 2 * vectors() + 1) * 4, 64);
  }
  int64_t bytes() const;

  const int8_t* at(int64_t panel, int64_t k0) const {
    return reinterpret_cast<const int8_t*>(packed + panel_offset(panel)) + k0 * width(panel);
  }
  const int32_t* sums() const { return reinterpret_cast<const int32_t*>(packed + sums_offset()); }
  const int32_t* zeros() const { return reinterpret_cast<const int32_t*>(packed + zeros_offset()); }
  bool any_zero() const { return packed[0] != std::byte{0}; }
  bool any_more() const { return packed[2] != std::byte{0}; }
  /// Of a vector of columns, from a group on.
  simd::MoreWeights more(int64_t vector, int64_t group) const;

  static constexpr int64_t kHeader = 64;
  static constexpr int64_t kBeyond = simd::kGroupsBeyond * 4 * simd::kMaxTileColumns;

 private:
  // Asked for with every tile: a division each would cost more than a tile of few terms.
  int64_t panels_ = 0, last_width_ = 0, padded_k_ = 0, sums_offset_ = 0;
};

/// Where a right-hand side's bytes lie: row i of column j at b + i / run * run_stride + i % run * row_stride
/// + j * column_stride.
struct ByteColumns {
  const std::byte* b = nullptr;
  int64_t run = 1;  ///< >= 1.
  int64_t run_stride = 0;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  bool is_signed = true;
  const int32_t* zero = nullptr;  ///< Null: zeros.
  int64_t zero_stride = 0;        ///< 1: one for each column; 0: one for all.
};

/// Packs columns [0, n) of k rows.
void pack_int_columns(const simd::Loops& loops, Team& team, int64_t k, int64_t n, const ByteColumns& from,
                      std::byte* packed);

/// What is added to every column's sum: bias, and the left-hand side's zero point times the column. `a_zero` is the
/// zero point of the lifted values.
void column_terms(const IntColumns& columns, int32_t a_zero, const int32_t* bias, int32_t* terms);

/// `sums` holds rows x n int32 (stride n); may be needed where sums_needed().
bool sums_needed(const simd::Loops& loops, int64_t k, bool to_bytes);

/// Calls multiply(lift, a_zero) with how values of the left-hand side become what the columns' tiles take, and their
/// zero point then. `zero`: theirs, of bytes with or without sign.
template <class F>
void with_lift(const IntColumns& columns, bool is_signed, int32_t zero, F multiply) {
  const auto up = static_cast<uint8_t>(zero + (is_signed ? 128 : 0));  // of bytes without sign
  switch (columns.tiles) {
    case IntTiles::bytes:
    case IntTiles::pairs:
      return multiply(LiftBytes{static_cast<uint8_t>(is_signed ? 0x80 : 0), up}, int32_t{up});
    case IntTiles::wide:
      return multiply(LiftWide{static_cast<uint8_t>(is_signed ? 0x80 : 0), up}, int32_t{0});
  }
}

/// Sums of some rows and columns, stride elements from row to row.
struct SumBlock {
  const int32_t* sums = nullptr;
  int64_t stride = 0;
};

/// What follows the sums (end.y or end.chain), for `rows` rows from `row` on and `count` columns from `column` on.
void finish_sums(const simd::Loops& loops, const IntEpilogue& end, const SumBlock& block, int64_t row, int64_t rows,
                 int64_t column, int64_t count);

void multiply_int_tiles(const simd::Loops& loops, Team& team, const RowSource<uint8_t>& source,
                        const IntColumns& columns, const int32_t* terms, const IntEpilogue& end, int32_t* sums);
void multiply_int_tiles(const simd::Loops& loops, Team& team, const RowSource<int16_t>& source,
                        const IntColumns& columns, const int32_t* terms, const IntEpilogue& end, int32_t* sums);

}  // namespace nnex::kernels
