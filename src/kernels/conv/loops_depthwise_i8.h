#pragma once
// One line of a channels-last depthwise convolution of bytes.

#include <cstdint>

#include "kernels/product/loops_tile_int.h"

namespace nnex::kernels::simd {

/// sum[o][c] = add[c] + sum over row r, tap t of (rows[r][o * stride - before + t * dilation][c] ^ flip) * w[r][t][c],
/// wrapping; rows that are null and pixels outside [0, in_width) read `outside` instead. Sums go to `sums`, or to bytes
/// at y. A pixel's channels are contiguous; strides go from one pixel to the next. n_rows * taps is at most
/// kMaxDepthwiseTaps.
struct DepthwiseByteLine {
  const uint8_t* const* rows = nullptr;
  const uint8_t* outside = nullptr;  ///< As many as there are channels, not flipped.
  int64_t n_rows = 0;
  const int32_t* w = nullptr;  ///< [n_rows][taps][w_stride], of at most 9 bits and a sign; readable in whole vectors.
  int64_t w_stride = 0;
  /// Null, or of weights that are int8 [taps][groups of four rows][w_stride]: a byte for each row of the group, the
  /// first lowest.
  const int32_t* quads = nullptr;
  const int32_t* add = nullptr;  ///< Readable in whole vectors.
  uint8_t flip = 0;
  int64_t channels = 0;
  int64_t in_width = 0;
  int64_t x_stride = 0;
  int64_t out_width = 0;
  int64_t taps = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;
  int32_t* sums = nullptr;
  int64_t sums_stride = 0;
  uint8_t* y = nullptr;  ///< Null: sums are stored.
  int64_t y_stride = 0;
  Requantize to_bytes = {};  ///< scale by channel or one for all.
};

#if defined(__x86_64__)
constexpr bool kHasDepthwiseU8 = true;
#else
constexpr bool kHasDepthwiseU8 = false;
#endif

/// What depthwise_i8 computes to `sums`, on dot products of four bytes; called only where this program has it and the
/// machine has_byte_dots(). Returns whether it could: the line has `quads`, and its taps lie close together.
bool depthwise_u8(const DepthwiseByteLine& line);

}  // namespace nnex::kernels::simd
