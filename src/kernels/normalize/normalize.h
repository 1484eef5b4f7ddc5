#pragma once
// Layer, rms, instance and group normalisation of float32 tensors, and local response normalisation across channels.

#include <cstdint>

#include "base/threads.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// Rows of n elements: y = ((t - mean) / sqrt(variance + epsilon)) * scale + offset, with t = x, or x + residual.
/// Null pointers are absent ports. y, and sum, may be x.
struct Normalize {
  const float* x = nullptr;         ///< [rows, n]
  const float* residual = nullptr;  ///< [rows, n]
  const float* scale = nullptr;     ///< [n]
  const float* offset = nullptr;    ///< [n]
  float* sum = nullptr;             ///< [rows, n]: t, when the graph wants it
  float* y = nullptr;               ///< [rows, n]
  float* mean = nullptr;            ///< [rows]
  float* inv_std = nullptr;         ///< [rows]
  float epsilon = 0;
  bool centred = true;  ///< false: rms, the mean counts as 0
};
void normalize_rows(const simd::Loops& loops, Team& team, const Normalize& what, int64_t rows, int64_t n);

/// Channels-first x of shape [batch, channels, inner], normalised over each of `groups` runs of channels with their
/// inner elements (instance normalisation: groups = channels); scale and offset are [channels] or null. y may be x. y =
/// x * (scale / std) + (offset - mean * scale / std), or where the mean lies far from 0 beside the deviation, (x -
/// mean)
/// * (scale / std) + offset.
void normalize_groups(const simd::Loops& loops, Team& team, const float* x, const float* scale, const float* offset,
                      float* y, int64_t batch, int64_t channels, int64_t inner, int64_t groups, float epsilon);

/// y = x / (bias + factor * sum of x[c + k]^2)^beta over k in [-before, after] within the channels, for x of shape
/// [outer, channels, inner]; before + after <= 256. The caller divides alpha by the window where its standard does. y
/// may not be x.
struct LocalResponse {
  float factor = 0, beta = 0, bias = 1;
  int64_t before = 0, after = 0;
};
void local_response(const simd::Loops& loops, Team& team, const LocalResponse& what, const float* x, float* y,
                    int64_t outer, int64_t channels, int64_t inner = 1);

}  // namespace nnex::kernels
