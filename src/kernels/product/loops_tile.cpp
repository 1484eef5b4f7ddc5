// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/product/loops_tile.cpp"
#include <hwy/foreach_target.h>

#include <utility>

#include "kernels/product/tile-inl.h"
#include "kernels/simd/builds.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class M, int kRows, int kVectors, int kPanels>
HWY_NOINLINE void tile_of(const Tile& t, int first) {
  const int last = t.columns - (kVectors * kPanels - 1) * kLanes;
  Sums<M, kRows, kVectors, kPanels> sums;
  sums.start(t, last);
  sums.multiply(t, first);
  if (t.end) sums.finish(*t.end, last);
  sums.store(t, last);
}

using TileFunction = void (*)(const Tile&, int first);

template <class M, int kVectors, int... kRow>
TileFunction pick(int rows, std::integer_sequence<int, kRow...>) {
  static constexpr TileFunction functions[] = {tile_of<M, kRow + 1, kVectors, 1>...};
  return functions[rows - 1];
}

/// Rows that one function multiplies. Two roundings take twice the instructions, which half the rows keep going as
/// well: the program is smaller for it.
template <class M>
constexpr int kRowsAtOnce = std::is_same_v<M, Exact>&& kTileRows > 8 ? kTileRows / 2 : kTileRows;

template <class M, int... kVector>
HWY_INLINE void run_one_panel(const Tile& t, int first, std::integer_sequence<int, kVector...>) {
  const int vectors = (t.columns + kLanes - 1) / kLanes;
  using Rows = std::make_integer_sequence<int, kRowsAtOnce<M>>;
  (void)((vectors == kVector + 1 ? (pick<M, kVector + 1>(t.rows, Rows())(t, first), true) : false) || ...);
}

template <class M>
HWY_INLINE void run_tile(const Tile& t) {
  const int panels = (t.columns + kTileVectors * kLanes - 1) / (kTileVectors * kLanes);
  using Vectors = std::make_integer_sequence<int, kTileVectors>;
  if (panels <= 1 && t.rows <= kRowsAtOnce<M>) return run_one_panel<M>(t, 0, Vectors());
  if (t.rows == 1) return panels == 4 ? tile_of<M, 1, kTileVectors, 4>(t, 0) : tile_of<M, 1, kTileVectors, 2>(t, 0);
  if (panels == 2) return t.rows == 2 ? tile_of<M, 2, kTileVectors, 2>(t, 0) : tile_of<M, 3, kTileVectors, 2>(t, 0);
  for (int first = 0; first < t.rows; first += kRowsAtOnce<M>) {
    const TilePart part(t, first, HWY_MIN(t.rows - first, kRowsAtOnce<M>));
    run_one_panel<M>(part.tile, first, Vectors());
  }
}

TileShape tile_shape_f32() { return {kTileRows, kTileVectors * kLanes, kLanes}; }
void tile_f32(const Tile& t) { run_tile<Fused>(t); }
void tile_f32_exact(const Tile& t) { run_tile<Exact>(t); }

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(tile_shape_f32);
NNEX_SIMD_BUILDS(tile_f32);
NNEX_SIMD_BUILDS(tile_f32_exact);
}  // namespace nnex::kernels::simd
#endif
