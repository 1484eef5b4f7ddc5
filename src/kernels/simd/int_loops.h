#pragma once
// The inner loops of networks of whole numbers, each built once per instruction set like those of simd.def.

#include "kernels/simd/chain_i32.h"
#include "kernels/simd/loops.h"

namespace nnex::simd {

/// See simd/chain_i32.h.
using ChainI32 = void(const IntBlock& block);

/// The first columns of a block whose `narrow` says so, as chain_i32 does them; returns how many columns are done.
using ChainI16 = int64_t(const IntBlock& block);

/// y[i] = the greatest of taps[t][i] for t < count, count at least 1; flip is 0, or 0x80 where bytes are signed.
using MaxBytes = void(uint8_t flip, const uint8_t* const* taps, size_t count, uint8_t* y, size_t n);

/// The same bytes on every instruction set.
struct IntLoops {
  ChainI32* chain_i32 = nullptr;
  ChainI16* chain_i16 = nullptr;
  MaxBytes* max_bytes = nullptr;
};

/// The loops of an instruction set that can_run().
IntLoops int_loops(Isa isa);

}  // namespace nnex::simd
