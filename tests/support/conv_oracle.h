#pragma once
// Convolution by its definition: one output, one chain.

#include <cmath>
#include <vector>

#include "kernels/conv/conv.h"
#include "oracle_math.h"

namespace nnex::kernels::oracle {

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
    for (int64_t c = 0; c < inputs; ++c) {
      const float xc = inside ? x[pixel * s.x_step() + group * inputs + c] : 0.0F;
      const float b = filter[(channel * inputs + c) * taps + t];
      sum = fused ? std::fma(xc, b, sum) : sum + xc * b;
    }
  }
  if (end.scale != 1) sum = sum * end.scale;
  if (end.bias) sum = sum + end.bias[channel];
  if (end.residual) sum = sum + end.residual[row * end.residual_stride + channel] * end.residual_scale;
  return fused ? unary<true>(end.activation, sum) : unary<false>(end.activation, sum);
}

/// The same by F(2x2, 3x3): B^T d B of the 4x4 patch and G g G^T of the filter, a chain over the channels for each of
/// the 16 products, A^T m A.
inline float winograd(const ConvShape& s, const float* x, const float* filter, const Epilogue& end, int64_t row,
                      int64_t channel, bool fused) {
  const int64_t ox = row % s.out[2], oy = row / s.out[2] % s.out[1], image = row / s.out_pixels();
  float m[4][4] = {};
  for (int64_t c = 0; c < s.in_channels; ++c) {
    float d[4][4], t[4][4], v[4][4], g[3][3], h[4][3], u[4][4];
    for (int64_t i = 0; i < 16; ++i) {
      const int64_t y = oy / 2 * 2 - s.before[1] + i / 4, w = ox / 2 * 2 - s.before[2] + i % 4;
      const bool inside = y >= 0 && y < s.in[1] && w >= 0 && w < s.in[2];
      d[i / 4][i % 4] = inside ? x[((image * s.in[1] + y) * s.in[2] + w) * s.x_step() + c] : 0.0F;
    }
    for (int i = 0; i < 9; ++i) g[i / 3][i % 3] = filter[(channel * s.in_channels + c) * 9 + i];
    for (int j = 0; j < 4; ++j) {
      t[0][j] = d[0][j] - d[2][j], t[1][j] = d[1][j] + d[2][j];
      t[2][j] = d[2][j] - d[1][j], t[3][j] = d[1][j] - d[3][j];
    }
    for (int i = 0; i < 4; ++i) {
      v[i][0] = t[i][0] - t[i][2], v[i][1] = t[i][1] + t[i][2];
      v[i][2] = t[i][2] - t[i][1], v[i][3] = t[i][1] - t[i][3];
    }
    for (int j = 0; j < 3; ++j) {
      h[0][j] = g[0][j], h[3][j] = g[2][j];
      h[1][j] = ((g[0][j] + g[2][j]) + g[1][j]) * 0.5F, h[2][j] = ((g[0][j] + g[2][j]) - g[1][j]) * 0.5F;
    }
    for (int i = 0; i < 4; ++i) {
      u[i][0] = h[i][0], u[i][3] = h[i][2];
      u[i][1] = ((h[i][0] + h[i][2]) + h[i][1]) * 0.5F, u[i][2] = ((h[i][0] + h[i][2]) - h[i][1]) * 0.5F;
    }
    for (int i = 0; i < 16; ++i) {
      float& sum = m[i / 4][i % 4];
      const float a = v[i / 4][i % 4], b = u[i / 4][i % 4];
      sum = fused ? std::fma(a, b, sum) : sum + a * b;
    }
  }
  float r[4];
  for (int j = 0; j < 4; ++j) r[j] = oy % 2 == 0 ? (m[0][j] + m[1][j]) + m[2][j] : (m[1][j] - m[2][j]) - m[3][j];
  float sum = ox % 2 == 0 ? (r[0] + r[1]) + r[2] : (r[1] - r[2]) - r[3];
  if (end.scale != 1) sum = sum * end.scale;
  if (end.bias) sum = sum + end.bias[channel];
  if (end.residual) sum = sum + end.residual[row * end.residual_stride + channel] * end.residual_scale;
  return fused ? unary<true>(end.activation, sum) : unary<false>(end.activation, sum);
}

}  // namespace nnex::kernels::oracle
