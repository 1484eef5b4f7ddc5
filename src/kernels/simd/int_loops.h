#pragma once
// The inner loops of networks of whole numbers, each built once per instruction set like those of simd.def.

#include "kernels/integer/loops_chain_i32.h"
#include "kernels/simd/loops.h"

namespace nnex::simd {

/// See simd/chain_i32.h.
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

/// y[i] = quantize_linear(min(max(dequantize_linear(a[i]) + dequantize_linear(b[i]), least), most)), every step rounded
/// as float32's operations are; `to` says the scale and zero point of y, and scales are in [2^-60, 2^60].
struct AddBytes {
  ByteOperand a, b, to;
  float min = 0, max = 0;
  uint8_t* y = nullptr;
  size_t n = 0;
};
using AddBytesLoop = void(const AddBytes& m);

/// y[c * y_stride + r] = x[r * x_stride + c] for r < rows, c < columns; strides count elements.
template <class T>
using TransposeNarrow = void(const T* x, size_t x_stride, T* y, size_t y_stride, size_t rows, size_t columns);

/// The same bytes on every instruction set.
struct IntLoops {
  ChainI32* chain_i32 = nullptr;
  ChainI16* chain_i16 = nullptr;
  MaxBytesLoop* max_bytes = nullptr;
  InterleaveThree* interleave_three = nullptr;
  AddBytesLoop* add_bytes = nullptr;
  TransposeNarrow<uint8_t>* transpose_u8 = nullptr;
  TransposeNarrow<uint16_t>* transpose_u16 = nullptr;
};

/// The loops of an instruction set that can_run().
IntLoops int_loops(Isa isa);

}  // namespace nnex::simd
