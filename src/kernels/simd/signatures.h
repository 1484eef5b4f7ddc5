#pragma once
// The types of the inner loops. Plain functions on raw pointers: lengths and strides count elements.

#include <cstddef>
#include <cstdint>

#include "kernels/unary.h"

namespace nnex::simd {

/// y[i] = f(x[i]) for i in [0, n). x and y may be the same buffer.
using UnaryF32 = void(const Unary& f, const float* x, float* y, size_t n);

}  // namespace nnex::simd
