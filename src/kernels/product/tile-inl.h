// Tiles as their loops have them: extents, accumulators, and what is done to sums.
// Included by files under simd/ inside foreach_target; the guard toggles once for each instruction set.

#if defined(NNEX_KERNELS_PRODUCT_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NNEX_KERNELS_PRODUCT_TILE_INL_H_
#undef NNEX_KERNELS_PRODUCT_TILE_INL_H_
#else
#define NNEX_KERNELS_PRODUCT_TILE_INL_H_
#endif

#include "kernels/product/loops_tile.h"
#include "kernels/simd/map-inl.h"
#include "kernels/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using TileTag = hn::ScalableTag<float>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(TileTag()));

// Accumulators, one row of B and one value of A fill the registers: 32 on AVX-512 and NEON, 16 elsewhere.
#if HWY_TARGET == HWY_AVX3
constexpr int kTileRows = 14, kTileVectors = 2;
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
constexpr int kTileRows = 6, kTileVectors = 2;
#elif HWY_TARGET == HWY_NEON
constexpr int kTileRows = 8, kTileVectors = 3;
#elif HWY_TARGET == HWY_SCALAR
constexpr int kTileRows = 4, kTileVectors = 4;
#else
constexpr int kTileRows = 4, kTileVectors = 2;
#endif

static_assert(kTileVectors * kLanes <= kMaxTileColumns);

/// The accumulators of a tile and what is done to them. All loops over rows and vectors unroll.
template <class M, int kRows, int kVectors, int kPanels>
struct Sums {
  using V = hn::Vec<TileTag>;
  static constexpr int kAll = kVectors * kPanels;
  V c[kRows][kAll];

  HWY_INLINE Sums() {}  // written out: an implied one is made outside the instruction set's region

  /// The sums of rows `first` and up; `last`: columns of the last vector.
  HWY_INLINE void start(const Tile& t, int64_t first, int last) {
    const TileTag d;
    const float* const rows = t.c + first * t.c_stride;
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      HWY_UNROLL(16)
      for (int j = 0; j < kAll; ++j) {
        c[i][j] = !t.go_on ? hn::Zero(d) : load(rows + i * t.c_stride, j, last);
      }
    }
  }

  /// Vector j of a row; the last one has `last` elements.
  static HWY_INLINE V load(const float* row, int j, int last) {
    const TileTag d;
    if (j == kAll - 1 && last < kLanes) return load_part(d, row + j * kLanes, static_cast<size_t>(last));
    return hn::LoadU(d, row + j * kLanes);
  }

  /// With rows `first` and up of the runs.
  HWY_INLINE void multiply(const Tile& t, int64_t first) {
    const TileTag d;
    constexpr int kGroups =
        (kRows + 2) / 3;  // three rows a pointer: p, p + stride, p + 2 stride need one register more
    const float* b = t.b;
    for (int64_t r = 0; r < t.n_runs; ++r) {
      const int64_t stride = t.runs[r].row_stride;
      if (t.b_runs) b = t.b + t.b_runs[r];
      const float* a[kGroups];
      HWY_UNROLL(16)
      for (int g = 0; g < kGroups; ++g) a[g] = t.runs[r].a + (first + 3 * g) * stride;
      for (int64_t k = 0; k < t.runs[r].k; ++k) {
        V row[kAll];
        HWY_UNROLL(16)
        for (int j = 0; j < kAll; ++j)
          row[j] = hn::LoadU(d, b + (j / kVectors) * t.panel_stride + (j % kVectors) * kLanes);
        b += t.b_stride;
        HWY_UNROLL(16)
        for (int i = 0; i < kRows; ++i) {
          const V value = hn::Set(d, a[i / 3][(i % 3) * stride]);
          HWY_UNROLL(16)
          for (int j = 0; j < kAll; ++j) c[i][j] = M::madd(value, row[j], c[i][j]);
        }
        HWY_UNROLL(16)
        for (int g = 0; g < kGroups; ++g) ++a[g];
      }
    }
  }

  template <class F>
  HWY_INLINE void each(F f) {
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      HWY_UNROLL(16)
      for (int j = 0; j < kAll; ++j) c[i][j] = f(c[i][j], i, j);
    }
  }

  HWY_INLINE void finish(const TileEnd& end, int64_t first, int last) {
    const TileTag d;
    if (end.scale != 1) {
      const V scale = hn::Set(d, end.scale);
      each([&](V v, int, int) HWY_ATTR { return hn::Mul(v, scale); });
    }
    if (end.bias) {
      V bias[kAll];
      HWY_UNROLL(16)
      for (int j = 0; j < kAll; ++j) bias[j] = load(end.bias, j, last);
      each([&](V v, int, int j) HWY_ATTR { return hn::Add(v, bias[j]); });
    }
    if (end.row_bias) each([&](V v, int i, int) HWY_ATTR { return hn::Add(v, hn::Set(d, end.row_bias[first + i])); });
    if (end.residual) {
      const V scale = hn::Set(d, end.residual_scale);
      each([&](V v, int i, int j) HWY_ATTR {
        return hn::Add(v, hn::Mul(load(end.residual + (first + i) * end.residual_stride, j, last), scale));
      });
    }
    if (end.activation.kind == UnaryKind::relu) {
      each([&](V v, int, int) HWY_ATTR { return relu_f32(d, v); });
    } else if (end.activation.kind == UnaryKind::clamp) {
      const V low = hn::Set(d, end.activation.alpha), high = hn::Set(d, end.activation.beta);
      each([&](V v, int, int) HWY_ATTR { return clamp_f32(d, v, low, high); });
    }
    if (end.activation.replaces_nan()) {
      const V nan = hn::Set(d, end.activation.nan);
      each([&](V v, int, int) HWY_ATTR { return without_nan(d, v, nan); });
    }
  }

  HWY_INLINE void store(const Tile& t, int64_t first, int last) const {
    const TileTag d;
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      float* row = t.c + (first + i) * t.c_stride;
      HWY_UNROLL(16)
      for (int j = 0; j < kAll - 1; ++j) hn::StoreU(c[i][j], d, row + j * kLanes);
      if (last < kLanes) {
        store_part(c[i][kAll - 1], d, row + (kAll - 1) * kLanes, static_cast<size_t>(last));
      } else {
        hn::StoreU(c[i][kAll - 1], d, row + (kAll - 1) * kLanes);
      }
    }
  }
};

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
