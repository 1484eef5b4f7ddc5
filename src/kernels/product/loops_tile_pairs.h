#pragma once
// Integer tiles of bytes on AVX2, which multiplies bytes without sign by bytes with one and adds two products into 16
// bits that saturate. Weights of seven bits never do: 255 * 64 + 255 * 64 < 2^15. Highway 1.0.3 has no such product.

#include "kernels/product/loops_tile_int.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels::simd {

constexpr TileShape kTileShapePairs = {6, 16, 8};  ///< Where the loops are those of AVX2, as tile_shape_i16().

/// The largest sum of two weights side by side, and of what two negative ones are less than zero, with which no pair of
/// products saturates: 255 * 128 < 2^15.
constexpr int kMaxPair = 128;

/// What tile_u8 computes, of columns all of whose pairs are within kMaxPair.
void tile_pairs(const IntTile<uint8_t>& t);

/// Whether the loops of an instruction set have the tile.
bool has_pair_tiles(Isa isa);

}  // namespace nnex::kernels::simd
