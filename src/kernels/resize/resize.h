#pragma once
// Resampling of channels-last float32 by tables: x [batch, spatial..., channels].

#include <cstdint>

#include "base/threads.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// One spatial axis: output position o reads `taps` input positions index[o * taps + k] with weight[o * taps + k].
/// Indices lie in [0, in); taps outside the image have been resolved by whoever made the table (clamped, or weight 0).
struct ResizeAxis {
  int64_t in = 1, out = 1;
  int taps = 1;
  const int32_t* index = nullptr;
  const float* weight = nullptr;  ///< null: every weight is 1 (nearest; then taps = 1)
};

/// y[b, o..., c] = sum of weights * x over the taps of up to three axes, in row-major order of taps; the product of tap
/// counts is at most 512. Fewer axes leave the first ones at their default. When no axis has weights, elements are
/// copied bit by bit.
void resize_channels_last(const simd::Loops& loops, Team& team, const ResizeAxis (&axes)[3], int64_t batch,
                          int64_t channels, const float* x, float* y);

}  // namespace nnex::kernels
