#pragma once
// Integer tiles on AVX-512 VNNI, which Highway 1.0.3 does not have.

#include "kernels/simd/tile_int.h"

namespace nnex::simd {

/// 14 rows of 32 columns. Called only where has_vnni().
constexpr TileShape kTileShapeU8 = {14, 32, 16};
void tile_u8(const IntTile<uint8_t>& t);

/// Whether this program has the tile and this machine can run it.
bool has_vnni();

}  // namespace nnex::simd
