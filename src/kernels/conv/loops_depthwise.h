#pragma once
// One line of a channels-last convolution whose channels have small filters: one channel a group, or a few.

#include <cstdint>

#include "kernels/product/loops_tile.h"

namespace nnex::kernels::simd {

/// y[o][c] = finish(sum over row r, tap t of rows[r][(o * stride - before + t * dilation)][c] * w[r][t][c]) for output
/// pixels o < out_width and channels c < channels; a chain over ascending r, then t. Rows that are null are left out,
/// pixels outside [0, in_width) are zeros. A pixel's channels are contiguous; strides go from one pixel to the next.
/// n_rows * taps is at most kMaxDepthwiseTaps.
constexpr int kMaxDepthwiseTaps = 128;
struct DepthwiseLine {
  const float* const* rows = nullptr;
  const float* zeros = nullptr;  ///< As many as there are channels.
  int64_t n_rows = 0;
  const float* w = nullptr;  ///< [n_rows][taps][w_stride], readable in whole vectors.
  int64_t w_stride = 0;
  bool repeated = false;  ///< A tap's numbers begin anew after its channels, for a vector from any channel on.
  int64_t channels = 0;
  int64_t in_width = 0;
  int64_t x_stride = 0;
  int64_t out_width = 0;
  int64_t y_stride = 0;
  int64_t taps = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;
  float* y = nullptr;
  TileEnd end = {};  ///< bias by channel, residual by pixel and channel; row_bias is not used.
};

/// The same of groups of `group` (2, 4 or 8) channels, of which `channels` is a multiple: each output channel takes
/// every input i of its group, a chain over ascending r, then t, then i. Rows that are null are zeros; 16 of `zeros`
/// are enough. Weights lie as vectors need them: w[v][r][t][i][lanes of tile_shape_f32], those of channels from
/// grouped_first(v) on; w_stride is not used.
struct GroupedLine : DepthwiseLine {
  int64_t group = 4;
};

/// Channel at which vector v of so many lanes begins: the last two may overlap.
constexpr int64_t grouped_first(int64_t v, int64_t lanes, int64_t channels) {
  const int64_t last = channels > lanes ? channels - lanes : 0;
  return v * lanes < last ? v * lanes : last;
}

}  // namespace nnex::kernels::simd
