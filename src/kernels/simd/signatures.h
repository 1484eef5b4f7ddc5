#pragma once
// The types of the inner loops. Plain functions on raw pointers: lengths and strides count elements.

#include <cstddef>
#include <cstdint>

#include "kernels/binary.h"
#include "kernels/simd/tile.h"
#include "kernels/unary.h"

namespace nnex::simd {

/// y[i] = f(x[i]) for i in [0, n). x and y may be the same buffer.
using UnaryF32 = void(const Unary& f, const float* x, float* y, size_t n);

/// y[i] = kind(a[i], b[i]); a scalar operand is one number. y may be a or b.
using BinaryF32 = void(BinaryKind kind, Form form, const float* a, const float* b, float* y, size_t n);

/// y[i] = a[i] ? b[i] as 1 or 0.
using CompareF32 = void(CompareKind kind, Form form, const float* a, const float* b, uint8_t* y, size_t n);

/// y[i] = which[i] ? a[i * step_a] : b[i * step_b]; steps are 0 or 1, any nonzero byte is true.
using SelectU32 = void(const uint8_t* which, const uint32_t* a, const uint32_t* b, uint32_t* y, size_t n, size_t step_a,
                       size_t step_b);

/// y[c * y_stride + r] = x[r * x_stride + c] for r < rows, c < columns.
using TransposeU32 = void(const uint32_t* x, size_t x_stride, uint32_t* y, size_t y_stride, size_t rows,
                          size_t columns);

/// The tile of tile_f32.
using TileShapeF32 = TileShape();

/// See simd/tile.h.
using TileF32 = void(const Tile& tile);

}  // namespace nnex::simd
