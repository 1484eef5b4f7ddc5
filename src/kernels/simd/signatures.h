#pragma once
// The types of the inner loops. Plain functions on raw pointers: lengths and strides count elements.

#include <cstddef>
#include <cstdint>

#include "kernels/binary.h"
#include "kernels/reduce_kind.h"
#include "kernels/simd/depthwise.h"
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

/// kind over x[0, n) by the rule of reduce_kind.h; mean and l2 give their sums, undivided.
using ReduceF32 = float(ReduceKind kind, const float* x, size_t n);

/// The sum of (x[i] - centre)^2, by the same rule.
using SumAboutF32 = float(const float* x, size_t n, float centre);

/// y[c] = kind over r of x[r * stride + c]; mean and l2 give their sums.
using ReduceColumnsF32 = void(ReduceKind kind, const float* x, size_t stride, size_t rows, float* y, size_t columns);

/// The first i with x[i] == value (with both NaN counting as equal), or n.
using FindF32 = size_t(const float* x, size_t n, float value);

/// y = softmax or log_softmax of the row x; a row of -inf gives NaN. x and y may be the same buffer.
using SoftmaxF32 = void(const float* x, float* y, size_t n);

/// The same down each column; each column's sum is one chain. x and y have the same stride and may be the same buffer.
using SoftmaxColumnsF32 = void(bool logarithm, const float* x, float* y, size_t stride, size_t rows, size_t columns);

/// y = ((t - mean) / sqrt(variance + epsilon)) * scale + offset, where t = x, or x + residual, and the variance is the
/// population's, by two passes. Not centred: the mean counts as 0 (rms). Any pointer but x may be null: an absent step
/// or result. With a residual, t goes to `sum` if given, else through y, which then must be given. y may be x.
struct NormalizeRow {
  const float* x = nullptr;
  const float* residual = nullptr;
  const float* scale = nullptr;
  const float* offset = nullptr;
  float* sum = nullptr;
  float* y = nullptr;
  float* stats = nullptr;  ///< mean, then 1 / sqrt(variance + epsilon)
  float epsilon = 0;
  bool centred = true;
};
using NormalizeF32 = void(const NormalizeRow& row, size_t n);

/// See simd/depthwise.h.
using DepthwiseF32 = void(const DepthwiseLine& line);

}  // namespace nnex::simd
