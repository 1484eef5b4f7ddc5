#pragma once
// Lines of one plane of a depthwise convolution whose channels come first: vectors run along a line.

#include <cstdint>

#include "kernels/product/loops_tile.h"

namespace nnex::kernels::simd {

/// y[k][i][o] = finish(sum over slice s, row r, tap t of rows[s * slice_rows + i * stride + r * dilation][offsets[t] +
/// o]
/// * w[k][s][r][t]) for planes k < planes, lines i < lines and pixels o < out_width; a chain over ascending s, then r,
/// then t. A row is readable in whole vectors, from each offset on.
struct PlaneLines {
  const float* const* rows = nullptr;
  int64_t slices = 1;
  int64_t slice_rows = 0;
  int64_t n_rows = 1;  ///< Of the filter, in one slice.
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t taps = 1;
  const int64_t* offsets = nullptr;
  const float* w = nullptr;
  int64_t planes = 1;
  int64_t plane_step = 0;  ///< From a plane of y to the next.
  int64_t lines = 0;
  int64_t out_width = 0;
  float* y = nullptr;
  int64_t y_stride = 0;
  TileEnd end = {};  ///< bias: one number a plane; row_bias and residual are not used.
};

}  // namespace nnex::kernels::simd
