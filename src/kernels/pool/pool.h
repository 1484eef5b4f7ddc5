#pragma once
// Max and average pooling of channels-last tensors: x [batch, spatial..., channels].

#include <cstdint>

#include "base/threads.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// Windows over one to three spatial axes; fewer axes leave the first ones at extent 1. Counts elements.
struct PoolWindow {
  int64_t batch = 1, channels = 1;
  int64_t in[3] = {1, 1, 1};
  int64_t out[3] = {1, 1, 1};
  int64_t size[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1};
  int64_t dilation[3] = {1, 1, 1};
  int64_t before[3] = {0, 0, 0};  ///< padding; negative crops
  int64_t after[3] = {0, 0, 0};
};

/// What a window's sum is divided by.
enum class PoolDivisor : uint8_t {
  one,
  window,  ///< the taps of the window
  padded,  ///< its taps inside the input and its explicit padding
  inside,  ///< its taps inside the input; none gives 0
};

/// The taps of one output position along one axis: [first, last) of the window lie inside the input, which the window
/// meets from `start` on; `padded` lie in the input or its explicit padding.
struct AxisTaps {
  int64_t start = 0, first = 0, last = 0, padded = 0;
};
AxisTaps axis_taps(const PoolWindow& window, int axis, int64_t position);

/// The greatest tap inside the input; NaN wins, of equal ones the first. An empty window gives -inf. With zeros_count
/// taps in the padding count as 0.
void max_pool(const simd::Loops& loops, Team& team, const PoolWindow& window, bool zeros_count, const float* x,
              float* y);

/// The greatest tap inside the input, of bytes; an empty window gives the least byte.
void max_pool_bytes(const simd::Loops& loops, Team& team, const PoolWindow& window, bool is_signed, const uint8_t* x,
                    uint8_t* y);

/// The sum of the taps inside the input, in row-major order, divided.
void average_pool(const simd::Loops& loops, Team& team, const PoolWindow& window, PoolDivisor divisor, const float* x,
                  float* y);

}  // namespace nnex::kernels
