#pragma once
// Integer tiles of bytes on machines with AVX2 and no AVX-512. Newer ones have its dot products of four bytes as well
// (AVX-VNNI). AVX2 alone multiplies bytes without sign by bytes with one and adds two products into 16 bits that
// saturate, which products with weights of seven bits never do: 255 * 64 + 255 * 64 < 2^15. What a pair of weights has
// beyond that is multiplied by itself. Highway 1.0.3 has neither.

#include "kernels/product/loops_tile_int.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels::simd {

constexpr TileShape kTileShapeAvx2 = {6, 16, 8};  ///< As tile_shape_i16() where the loops are those of AVX2.

/// The largest sum of two weights side by side, and of what two negative ones are less than zero, with which no pair of
/// products saturates: 255 * 128 < 2^15.
constexpr int kMaxPair = 128;

/// What tile_u8 computes, of columns all of whose pairs are within kMaxPair, and of `more`.
void tile_pairs(const IntTile<uint8_t>& t);

/// A vector of packed columns: `groups` groups of the values of kTileShapeAvx2.lanes columns, `stride` bytes apart.
/// How many of the groups have a pair beyond kMaxPair.
int64_t groups_beyond(const int8_t* b, int64_t stride, int64_t groups);

/// Takes out of those groups what is beyond: into `more`, the groups' numbers into `numbers`.
void take_beyond(int8_t* b, int64_t stride, int64_t groups, int32_t* numbers, int8_t* more);

/// tile_u8. Called only where has_avx_vnni().
void tile_u8_avx_vnni(const IntTile<uint8_t>& t);

/// Whether the loops of an instruction set have tile_pairs.
bool has_pair_tiles(Isa isa);

/// Whether they have tile_u8_avx_vnni, and this machine can run it.
bool has_avx_vnni(Isa isa);

}  // namespace nnex::kernels::simd
