#pragma once
// The types of the inner loops. Plain functions on raw pointers: lengths and strides count elements.

#include <cstddef>
#include <cstdint>

#include "kernels/conv/loops_depthwise.h"
#include "kernels/conv/loops_depthwise_i8.h"
#include "kernels/conv/loops_planes.h"
#include "kernels/conv/loops_winograd.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/loops_whole.h"
#include "kernels/elementwise/unary.h"
#include "kernels/integer/loops_chain_i32.h"
#include "kernels/product/loops_codes.h"
#include "kernels/product/loops_tile.h"
#include "kernels/product/loops_tile_int.h"
#include "kernels/reduce/reduce_kind.h"

namespace nnex::kernels::simd {

/// y[i] = f(x[i]) for i in [0, n). x and y may be the same buffer.
using UnaryF32 = void(const Unary& f, const float* x, float* y, size_t n);

/// y[i] = kind(a[i], b[i]); a scalar operand is one number. y may be a or b.
using BinaryF32 = void(BinaryKind kind, Form form, const float* a, const float* b, float* y, size_t n);

/// y[i] = a[i] ? b[i] as 1 or 0.
template <class T>
using CompareOf = void(CompareKind kind, const T* a, const T* b, uint8_t* y, size_t n);

/// y[i] = which[i] ? a[i * step_a] : b[i * step_b]; steps are 0 or 1, any nonzero byte is true.
using SelectU32 = void(const uint8_t* which, const uint32_t* a, const uint32_t* b, uint32_t* y, size_t n, size_t step_a,
                       size_t step_b);

/// y[c * y_stride + r] = x[r * x_stride + c] for r < rows, c < columns.
template <class T>
using TransposeOf = void(const T* x, size_t x_stride, T* y, size_t y_stride, size_t rows, size_t columns);
using TransposeU32 = TransposeOf<uint32_t>;

/// The tile of tile_f32.
using TileShapeF32 = TileShape();

/// See simd/tile.h.
using TileF32 = void(const Tile& tile);

/// See product/loops_codes.h.
using TileCodesF32 = void(const CodeTile& tile);

/// to[(k - begin) * p.columns + j] = the weight of row k and column j, for k in [begin, end); begin is a multiple of 8.
using UnpackCodesF32 = void(const CodePanel& p, int64_t begin, int64_t end, float* to);

/// y[i] = the chain of multiply-adds over ascending k of a[i * stride + k] * b[k], from 0, for i < rows: tile_f32 of
/// one column.
using DotRowsF32 = void(const float* a, size_t stride, const float* b, float* y, size_t rows, size_t k);

/// z = a b: element (i, p) of a lies at a[i * a_row + p * a_column], rows of b and of z are dense and b_row and z_row
/// apart. Each element of z is one chain of multiply-adds over ascending p, from 0; whole numbers wrap.
template <class T>
struct TypedProduct {
  const T* a = nullptr;
  size_t a_row = 0, a_column = 0;
  const T* b = nullptr;
  size_t b_row = 0;
  T* z = nullptr;
  size_t z_row = 0;
  size_t m = 0, k = 0, n = 0;
};
template <class T>
using ProductOf = void(const TypedProduct<T>& p);

/// y[c] = the taps' greatest (NaN wins, of equal ones the first), or their sum, over t of taps[t][c] in order, then
/// divided. With `start` (which may be y) the fold goes on from it; without, count is at least 1. Of several pixels,
/// which have no start, each reads taps `step` behind those of the one before and writes the n results behind its.
using FoldTapsF32 = void(bool maximum, const float* const* taps, size_t count, const float* start, float divisor,
                         float* y, size_t n, int64_t pixels, int64_t step);

/// Windows along `lines` lines of n results: result o of a line folds x[r * row_step + o * stride + t * dilation] over
/// rows r, then taps t, as fold_taps_f32 folds. Lines of x are x_step apart, lines of y y_step. With stride 2 and
/// dilation 1 there are at least two taps. y overlaps nothing that is read. Where windows are two apart and x lies in
/// two phases, `phase` apart, stride and dilation are 1.
struct PoolLines {
  bool maximum = false;
  bool plain = false;  ///< Known: neither NaN nor -0 is read.
  float divisor = 1;
  const float* divisors = nullptr;  ///< Instead, where given: of each result, where y has it.
  const float* x = nullptr;
  size_t x_step = 0, row_step = 0, rows = 1, taps = 1, stride = 1, dilation = 1;
  size_t phase = 0;  ///< Where not 0: tap t is at t % 2 * phase + t / 2.
  float* y = nullptr;
  size_t y_step = 0, lines = 0, n = 0;
  size_t planes = 1, x_plane = 0, y_plane = 0;  ///< Such lines of several planes; divisors are those of each.
};
using PoolLinesF32 = void(const PoolLines& p);

/// The same of maxima down columns: one tap, stride 1, no divisors. Returns whether no NaN was read and no result is
/// -0: only then do the results hold, and maxima of them are the same in any order.
using MaxRowsF32 = bool(const PoolLines& p);

/// y[i] = kind(x[i]) of doubles, for sqrt, exp, tanh and sigmoid, within 3 ulp. x and y may be the same buffer.
using UnaryF64 = void(UnaryKind kind, const double* x, double* y, size_t n);

/// y[c] = taps[0][c] * weights[0], then + taps[t][c] * weights[t] in order; count is at least 1.
using WeighTapsF32 = void(const float* const* taps, const float* weights, size_t count, float* y, size_t n);

/// y[i] = saturate(half_even(x[i] / scale) + zero), NaN counting as 0. step 1: scale[i] and zero[i]; 0: one for all.
/// zero may be null.
template <class T>
using QuantizeTo = void(const float* x, const float* scale, const T* zero, size_t step, T* y, size_t n);
using QuantizeU8 = QuantizeTo<uint8_t>;
using QuantizeS8 = QuantizeTo<int8_t>;
using QuantizeU16 = QuantizeTo<uint16_t>;
using QuantizeS16 = QuantizeTo<int16_t>;

/// y[i] = (x[i] - zero) * scale, scale and zero as above.
template <class T>
using DequantizeFrom = void(const T* x, const float* scale, const T* zero, size_t step, float* y, size_t n);
using DequantizeU8 = DequantizeFrom<uint8_t>;
using DequantizeS8 = DequantizeFrom<int8_t>;

/// Conversions: to narrower floats nearest even (out of range: infinity); to integers towards zero, saturating, NaN
/// gives 0; to truths 0 where it is zero, else 1.
template <class To, class From>
using Convert = void(const From* x, To* y, size_t n);
using ConvertF32ToHalf = Convert<uint16_t, float>;
using ConvertHalfToF32 = Convert<float, uint16_t>;
using ConvertF32ToI32 = Convert<int32_t, float>;
using ConvertI32ToF32 = Convert<float, int32_t>;
using ConvertF32ToI64 = Convert<int64_t, float>;
using ConvertI64ToU8 = Convert<uint8_t, int64_t>;
using ConvertI64ToF32 = Convert<float, int64_t>;
using ConvertF64ToF32 = Convert<float, double>;
using ConvertI32ToI64 = Convert<int64_t, int32_t>;
using ConvertF32ToU8 = Convert<uint8_t, float>;
using ConvertU8ToF32 = Convert<float, uint8_t>;

/// One LSTM step of one row: from the gates' sums (before clip and activation) to the new states.
///   i = sigmoid(z_input + p_input c_before)      f = sigmoid(z_forget + p_forget c_before), or 1 - i when the gates
///   couple c = f c_before + i tanh(z_cell)              h = sigmoid(z_output + p_output c) tanh(c)
/// Peepholes may be null; clip > 0 limits what goes into an activation of a gate. c may be c_before.
struct LstmRow {
  const float* z_input = nullptr;
  const float* z_output = nullptr;
  const float* z_forget = nullptr;
  const float* z_cell = nullptr;
  const float* p_input = nullptr;
  const float* p_output = nullptr;
  const float* p_forget = nullptr;
  const float* c_before = nullptr;
  float* c = nullptr;
  float* h = nullptr;
  float clip = 0;
  bool couples = false;
};
using LstmF32 = void(const LstmRow& row, size_t n);

/// One GRU step of one row: u = sigmoid(z_update), h = (1 - u) tanh(z_hidden + r r_hidden) + u h_before, r =
/// sigmoid(z_reset). r_hidden null: z_hidden holds the whole sum already (reset before the product; see gru_reset). h
/// may be h_before.
struct GruRow {
  const float* z_update = nullptr;
  const float* z_reset = nullptr;
  const float* z_hidden = nullptr;
  const float* r_hidden = nullptr;
  const float* h_before = nullptr;
  float* h = nullptr;
  float clip = 0;
};
using GruF32 = void(const GruRow& row, size_t n);

/// y = sigmoid(z_reset) * h_before: what the recurrent product of the hidden gate takes.
using GruResetF32 = void(const float* z_reset, const float* h_before, float clip, float* y, size_t n);

/// kind over x[0, n) by the rule of reduce_kind.h; mean and l2 give their sums, undivided. Whole numbers have sums,
/// which wrap, and extremes.
template <class T>
using ReduceRow = T(ReduceKind kind, const T* x, size_t n);

/// The sum of (x[i] - centre)^2, by the same rule.
using SumAboutF32 = float(const float* x, size_t n, float centre);

/// y[c] = kind over r of x[r * stride + c]; mean and l2 give their sums.
template <class T>
using ReduceColumns = void(ReduceKind kind, const T* x, size_t stride, size_t rows, T* y, size_t columns);

/// The least and the greatest number of a row; NaN both where there is one, inf and -inf for nothing.
using ExtremesF32 = void(const float* x, size_t n, float* least, float* greatest);

/// The first i with x[i] == value (with both NaN counting as equal), or n.
using FindF32 = size_t(const float* x, size_t n, float value);

/// y = softmax or log_softmax of every row of n elements of x; a row of -inf gives NaN. x and y may be the same buffer.
using SoftmaxF32 = void(const float* x, float* y, size_t n, size_t rows);

/// The logarithm of the sum of the exponentials of the row x; an infinite greatest number is itself, NaN wins. n is at
/// least 1.
using LogSumExpF32 = float(const float* x, size_t n);

/// Softmax down each column; each column's sum is one chain. x and y have the same stride and may be the same buffer.
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

/// The tile of tile_i16.
using TileShapeI16 = TileShape();

/// See simd/tile_int.h.
using TileI16 = void(const IntTile<int16_t>& tile);
using TileU8 = void(const IntTile<uint8_t>& tile);
using RequantizeI32 = void(const Requantize& f, const SumRows& sums, uint8_t* y, int64_t y_stride, size_t n);

/// See kernels/conv/loops_depthwise.h.
using DepthwiseF32 = void(const DepthwiseLine& line);
using GroupedF32 = void(const GroupedLine& line);

/// See kernels/conv/loops_planes.h.
using DepthwisePlanesF32 = void(const PlaneLines& lines);

/// See kernels/conv/loops_winograd.h.
using WinogradPatchF32 = void(const WinogradPatch& patch);
using WinogradResultF32 = void(const WinogradResult& result);

/// y[r * y_row + (i % phases) * y_stride + i / phases] = x[r * x_row + i] for r < rows and i < n.
struct Phases {
  const float* x = nullptr;
  float* y = nullptr;
  size_t x_row = 0, y_row = 0, rows = 1, n = 0;
  size_t phases = 1;
  int64_t y_stride = 0;
};
using PhasesF32 = void(const Phases& p);

/// y[i] = the sum over t < count, in order from 0, of weights[t * stride + i] * x[at[t * stride + i]], or of zero where
/// that place is below 0.
using GatherTapsF32 = void(const float* x, const int32_t* at, const float* weights, size_t stride, size_t count,
                           float* y, size_t n);

/// Block b of y, which begins at byte min(b * kPickBytes, n - kPickBytes), has x[from[b] + places[b * kPickBytes + k]]
/// for its byte k, until n bytes are there. All kPickBytes bytes behind from[b] are read, places are below kPickBytes,
/// and n is at least that.
constexpr size_t kPickBytes = 16;
using PickBytes = void(const uint8_t* x, const int32_t* from, const uint8_t* places, uint8_t* y, size_t n);

/// See simd/depthwise_i8.h.
using DepthwiseI8 = void(const DepthwiseByteLine& line);

/// See integer/loops_chain_i32.h.
using ChainI32 = void(const IntBlock& block);

/// The first columns of a block whose `narrow` says so, as chain_i32 does them; returns how many columns are done.
using ChainI16 = int64_t(const IntBlock& block);

/// y[p * y_step + i] = the greatest of taps[t][p * x_step + i] for t < count, i < n, p < pixels; count is at least 1,
/// flip is 0, or 0x80 where bytes are signed.
struct MaxBytes {
  const uint8_t* const* taps = nullptr;
  size_t count = 0;
  uint8_t flip = 0;
  int64_t pixels = 1;
  int64_t x_step = 0;
  uint8_t* y = nullptr;
  int64_t y_step = 0;
  size_t n = 0;
};
using MaxBytesLoop = void(const MaxBytes& m);

/// Three planes of n bytes to n pixels of three.
using InterleaveThree = void(const uint8_t* a, const uint8_t* b, const uint8_t* c, uint8_t* y, size_t n);

/// Bytes that stand for (byte - zero) * scale; signed ones are read as unsigned ones moved up by 128.
struct ByteOperand {
  const uint8_t* p = nullptr;
  uint8_t flip = 0;  ///< 0x80 where bytes are signed.
  int32_t zero = 0;  ///< Moved too.
  float scale = 1;
};

/// y[i] = quantize_linear(min(max(dequantize_linear(a[i]) + dequantize_linear(b[i]), min), max)), every step rounded
/// as float32's operations are; `to` says the scale and zero point of y, and scales are in [2^-60, 2^60].
struct AddBytes {
  ByteOperand a, b, to;
  float min = 0, max = 0;
  uint8_t* y = nullptr;
  size_t n = 0;
};
using AddBytesLoop = void(const AddBytes& m);

}  // namespace nnex::kernels::simd
