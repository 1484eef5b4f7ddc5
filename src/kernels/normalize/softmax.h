#pragma once
// Softmax and log_softmax of float32 tensors.

#include <cstdint>

#include "base/threads.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// y[o, k, i] = e^(x[o, k, i] - m) / sum over k, m the maximum over k, for x of shape [outer, n, inner]; with
/// `logarithm` its logarithm. A row of -inf gives NaN. y may be x.
void softmax(const simd::Loops& loops, Team& team, bool logarithm, const float* x, float* y, int64_t outer, int64_t n,
             int64_t inner);

}  // namespace nnex::kernels
