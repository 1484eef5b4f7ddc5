#pragma once
// Integer tiles of signed bytes on AVX2, which multiplies bytes without sign by bytes with one and adds two products
// into 16 bits that saturate. |a| * (w with the sign of a) is a * w, and no two such products saturate where no w is
// -128: 2 * 128 * 127 < 2^15. Highway 1.0.3 has neither instruction.

#include "kernels/product/loops_tile_int.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels::simd {

constexpr TileShape kTileShapeS8 = {6, 16, 8};  ///< Where the loops are those of AVX2, as tile_shape_i16().

/// What tile_i16 computes, b within [-127, 127].
void tile_s8(const IntTile<int8_t>& t);

/// Whether the loops of an instruction set have the tile.
bool has_sign_tiles(Isa isa);

}  // namespace nnex::kernels::simd
