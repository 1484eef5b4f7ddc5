#pragma once
// The inner loops of networks of whole numbers, each built once per instruction set like those of simd.def.

#include "kernels/simd/chain_i32.h"
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

/// The same bytes on every instruction set.
struct IntLoops {
  ChainI32* chain_i32 = nullptr;
  ChainI16* chain_i16 = nullptr;
  MaxBytesLoop* max_bytes = nullptr;
  InterleaveThree* interleave_three = nullptr;
};

/// The loops of an instruction set that can_run().
IntLoops int_loops(Isa isa);

}  // namespace nnex::simd
