#pragma once
// Integer tiles on the dot products of four bytes, which Highway 1.0.3 does not have: AVX-512 VNNI, and Arm's dot
// product extension.

#include "kernels/product/loops_tile_int.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels::simd {

#if defined(__aarch64__)
constexpr TileShape kTileShapeU8 = {8, 8, 4};
constexpr Isa kTileIsaU8 = Isa::neon;
#else
constexpr TileShape kTileShapeU8 = {14, 32, 16};
constexpr Isa kTileIsaU8 = Isa::avx512;
#endif

/// Called only where has_byte_dots().
void tile_u8(const IntTile<uint8_t>& t);

/// Whether this program has the tile and this machine can run it.
bool has_byte_dots();

}  // namespace nnex::kernels::simd
