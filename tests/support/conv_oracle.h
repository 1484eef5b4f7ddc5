#pragma once
// Convolution by its definition: one output, one chain.

#include <cmath>
#include <vector>

#include "kernels/conv.h"
#include "oracle_math.h"

namespace nnex::oracle {

/// The finished output `row` (pixel of the batch), `channel`; filter in ONNX's layout; zeros outside x take part.
inline float conv(const ConvShape& s, const float* x, const float* filter, const Epilogue& end, int64_t row,
                  int64_t channel, bool fused) {
  const int64_t ox = row % s.out[2], oy = row / s.out[2] % s.out[1];
  const int64_t oz = row / s.out[2] / s.out[1] % s.out[0], image = row / s.out_pixels();
  const int64_t group = channel / s.group_outputs(), inputs = s.group_inputs(), taps = s.taps();
  float sum = 0;
  for (int64_t t = 0; t < taps; ++t) {
    const int64_t z = oz * s.stride[0] - s.before[0] + t / s.kernel[2] / s.kernel[1] * s.dilation[0];
    const int64_t y = oy * s.stride[1] - s.before[1] + t / s.kernel[2] % s.kernel[1] * s.dilation[1];
    const int64_t w = ox * s.stride[2] - s.before[2] + t % s.kernel[2] * s.dilation[2];
    const bool inside = z >= 0 && z < s.in[0] && y >= 0 && y < s.in[1] && w >= 0 && w < s.in[2];
    const int64_t pixel = inside ? ((image * s.in[0] + z) * s.in[1] + y) * s.in[2] + w : 0;
    const float *a = x + pixel * s.x_step() + group * inputs, *b = filter + channel * inputs * taps + t;
    for (int64_t c = 0; c < inputs; ++c, b += taps) {
      const float xc = inside ? a[c] : 0.0F;
      sum = fused ? std::fma(xc, *b, sum) : sum + xc * *b;
    }
  }
  if (end.scale != 1) sum = sum * end.scale;
  if (end.bias) sum = sum + end.bias[channel];
  if (end.residual) sum = sum + end.residual[row * end.residual_stride + channel] * end.residual_scale;
  return fused ? unary<true>(end.activation, sum) : unary<false>(end.activation, sum);
}

}  // namespace nnex::oracle
