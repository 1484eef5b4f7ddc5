#pragma once
// Integer tiles on the dot products of four bytes, which Highway 1.0.3 does not have: AVX-512 VNNI, Arm's dot product
// extension, and the tile unit of Intel's servers (AMX).

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

/// Called only where has_byte_dots(). On x86-64, rows beyond a register tile's are served one such tile after the
/// other.
void tile_u8(const IntTile<uint8_t>& t);

/// Whether this program has the tile and this machine can run it.
bool has_byte_dots();

#if defined(__x86_64__) && defined(__linux__)
/// The columns are laid out as for tile_u8.
constexpr TileShape kTileShapeAmx = {32, kTileShapeU8.columns, kTileShapeU8.lanes};

/// The same from the tile unit. Called only where has_tile_unit().
void tile_u8_amx(const IntTile<uint8_t>& t);
/// What a thread calls after tiles with `unit`.
void release_tile_unit();

/// Whether this machine has the unit and the system lets this process use it, for which it is asked once.
bool has_tile_unit();
#endif

}  // namespace nnex::kernels::simd
