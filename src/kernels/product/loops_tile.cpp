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
HWY_NOINLINE void tile_of(const Tile& t, int64_t first, int64_t span) {
  const int last = t.columns - (kVectors * kPanels - 1) * kLanes;
  Sums<M, kRows, kVectors, kPanels> sums;
  sums.start(t, first, last, span);
  sums.multiply(t, first, span);
  if (t.end) sums.finish(*t.end, first, last, span);
  sums.store(t, first, last, span);
}

using TileFunction = void (*)(const Tile&, int64_t first, int64_t span);

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
  if (t.rows <= kRowsAtOnce<M>) {
    const TileFunction run = pick<M, kVectors>(t.rows, Rows());
    for (int64_t span = 0; span < t.spans; ++span) run(t, 0, span);
    return;
  }
  const int64_t parts = (t.rows + kRowsAtOnce<M> - 1) / kRowsAtOnce<M>, longer = t.rows % parts;
  const int rows = static_cast<int>(t.rows / parts);
  const int64_t end_of_longer = longer * (rows + 1);
  const TileFunction run_longer = longer > 0 ? pick<M, kVectors>(rows + 1, Rows()) : nullptr;
  const TileFunction run = pick<M, kVectors>(rows, Rows());
  for (int64_t span = 0; span < t.spans; ++span) {  // a span's panel stays near for all rows
    for (int64_t first = 0; first < end_of_longer; first += rows + 1) run_longer(t, first, span);
    for (int64_t first = end_of_longer; first < t.rows; first += rows) run(t, first, span);
  }
}

template <class M, int... kVector>
HWY_INLINE void run_one_panel(const Tile& t, std::integer_sequence<int, kVector...>) {
  const int vectors = (t.columns + kLanes - 1) / kLanes;
  (void)((vectors == kVector + 1 ? (run_rows<M, kVector + 1>(t), true) : false) || ...);
}

/// A few rows of several panels at once.
template <class M, int kRows, int kPanels>
HWY_INLINE void run_spans(const Tile& t) {
  for (int64_t span = 0; span < t.spans; ++span) tile_of<M, kRows, kTileVectors, kPanels>(t, 0, span);
}

template <class M>
HWY_INLINE void run_tile(const Tile& t) {
  const int panels = (t.columns + kTileVectors * kLanes - 1) / (kTileVectors * kLanes);
  using Vectors = std::make_integer_sequence<int, kTileVectors>;
  if (panels <= 1) return run_one_panel<M>(t, Vectors());
  if (t.rows == 1) return panels == 4 ? run_spans<M, 1, 4>(t) : run_spans<M, 1, 2>(t);
  if constexpr (kTileRows >= 8)
    if (t.rows == 3) return run_spans<M, 3, 2>(t);
  run_spans<M, 2, 2>(t);
}

TileShape tile_shape_f32() { return {kTileRows, kTileVectors * kLanes, kLanes}; }
void tile_f32(const Tile& t) { run_tile<Fused>(t); }
void tile_f32_exact(const Tile& t) { run_tile<Portable>(t); }

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(tile_shape_f32);
NNEX_SIMD_BUILDS(tile_f32);
NNEX_SIMD_BUILDS(tile_f32_exact);
}  // namespace nnex::kernels::simd
#endif
