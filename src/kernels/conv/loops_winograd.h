#pragma once
// The transforms of Winograd's F(2x2, 3x3): four outputs of a 3x3 filter from 16 products instead of 36. Channels are
// contiguous; everything is additions in a fixed order, the same bytes on every instruction set.

#include <cstdint>

#include "kernels/product/loops_tile.h"

namespace nnex::kernels::simd {

/// y[4 i + j] (each `y_stride` floats after the other) = channels of (B^T d B)[i][j], where d[4 r + c] are the channels
/// of the pixel in row r, column c of a 4x4 patch, and (B^T d)[0..3] = d0 - d2, d1 + d2, d2 - d1, d1 - d3.
struct WinogradPatch {
  const float* d[16] = {};
  float* y = nullptr;
  int64_t y_stride = 0;
  int64_t channels = 0;
};

/// y[2 i + j] = finish((A^T m A)[i][j]) of the 16 products m[4 r + c] (each `m_stride` floats after the other), where
/// (A^T m)[0..1] = (m0 + m1) + m2, (m1 - m2) - m3. Outputs that are null are left out.
struct WinogradResult {
  const float* m = nullptr;
  int64_t m_stride = 0;
  float* y[4] = {};
  const float* residual[4] = {};  ///< Of each output; null where end.residual is.
  int64_t channels = 0;
  TileEnd end = {};  ///< bias by channel; row_bias is not used.
};

}  // namespace nnex::kernels::simd
