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
HWY_NOINLINE void tile_of(const Tile& t, int64_t first) {
  const int last = t.columns - (kVectors * kPanels - 1) * kLanes;
  Sums<M, kRows, kVectors, kPanels> sums;
  sums.start(t, first, last);
  sums.multiply(t, first);
  if (t.end) sums.finish(*t.end, first, last);
  sums.store(t, first, last);
}

using TileFunction = void (*)(const Tile&, int64_t first);

template <class M, int kVectors, int... kRow>
TileFunction pick(int rows, std::integer_sequence<int, kRow...>) {
  static constexpr TileFunction functions[] = {tile_of<M, kRow + 1, kVectors, 1>...};
  return functions[rows - 1];
}

/// Rows that one function multiplies. Two roundings take twice the instructions, which half the rows keep going as
/// well: the program is smaller for it.
template <class M>
constexpr int kRowsAtOnce = std::is_same_v<M, Exact>&& kTileRows > 8 ? kTileRows / 2 : kTileRows;

/// All rows, cut into nearly equal parts.
template <class M, int kVectors>
HWY_INLINE void run_rows(const Tile& t) {
  using Rows = std::make_integer_sequence<int, kRowsAtOnce<M>>;
  if (t.rows <= kRowsAtOnce<M>) return pick<M, kVectors>(t.rows, Rows())(t, 0);
  const int64_t parts = (t.rows + kRowsAtOnce<M> - 1) / kRowsAtOnce<M>, longer = t.rows % parts;
  const int rows = static_cast<int>(t.rows / parts);
  const int64_t end_of_longer = longer * (rows + 1);
  if (longer > 0) {
    const TileFunction run = pick<M, kVectors>(rows + 1, Rows());
    for (int64_t first = 0; first < end_of_longer; first += rows + 1) run(t, first);
  }
  const TileFunction run = pick<M, kVectors>(rows, Rows());
  for (int64_t first = end_of_longer; first < t.rows; first += rows) run(t, first);
}

template <class M, int... kVector>
HWY_INLINE void run_one_panel(const Tile& t, std::integer_sequence<int, kVector...>) {
  const int vectors = (t.columns + kLanes - 1) / kLanes;
  (void)((vectors == kVector + 1 ? (run_rows<M, kVector + 1>(t), true) : false) || ...);
}

template <class M>
HWY_INLINE void run_tile(const Tile& t) {
  const int panels = (t.columns + kTileVectors * kLanes - 1) / (kTileVectors * kLanes);
  using Vectors = std::make_integer_sequence<int, kTileVectors>;
  if (panels <= 1) return run_one_panel<M>(t, Vectors());
  if (t.rows == 1) return panels == 4 ? tile_of<M, 1, kTileVectors, 4>(t, 0) : tile_of<M, 1, kTileVectors, 2>(t, 0);
  if constexpr (kTileRows >= 8)
    if (t.rows == 3) return tile_of<M, 3, kTileVectors, 2>(t, 0);
  tile_of<M, 2, kTileVectors, 2>(t, 0);
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
