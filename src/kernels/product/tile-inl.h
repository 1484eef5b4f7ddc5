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

/// Values of k that one turn of a tile's loop takes. A tile of two roundings is in no hurry, nor is one of few rows;
/// one of fourteen loses more by its longer start (1 to 3 % for 64 to 128 values on Zen 4).
template <class M, int kRows>
constexpr int kTileSteps = HWY_ARCH_X86 && !std::is_same_v<M, Exact> && kRows >= 4 && kRows < 14 ? 2 : 1;

/// Whether tiles fetch what later ones read. Sums of two roundings do not wait for memory, and WebAssembly has no
/// instruction for it.
template <class M>
constexpr bool kFetchesAhead = !HWY_ARCH_WASM && !std::is_same_v<M, Exact>;

/// Makes the compiler forget what it knows of a value. Where it knows how two addresses differ, it keeps both.
template <class T>
HWY_INLINE void forget(T& value) {
#if HWY_ARCH_X86
  asm("" : "+r"(value));
#endif
  (void)value;
}

/// Where values of the rows of a tile lie, all of one k. Row i is odd * 2^e strides behind the first: a register (the
/// odd multiple) and a factor that x86's addresses have. So one pointer moves for all rows; what moves pointers shares
/// ports with the multipliers.
template <int kRows>
class RowsAt {
 public:
  HWY_INLINE RowsAt(const RowRun& run, int64_t first)
      : first_(reinterpret_cast<const char*>(run.a + first * run.row_stride)) {
    HWY_UNROLL(8)
    for (int i = 0; i < kOdd; ++i) odd_[i] = (2 * i + 1) * run.row_stride * static_cast<int64_t>(sizeof(float));
  }

  HWY_INLINE float operator[](int i) const {
    return *reinterpret_cast<const float*>(i == 0 ? first_ : first_ + odd_[(i >> __builtin_ctz(i)) / 2] * (i & -i));
  }

  HWY_INLINE void next() {
    first_ += sizeof(float);
    const char* moved = first_;
    forget(moved);
    first_ = moved;
    HWY_UNROLL(8)
    for (int i = 0; i < kOdd; ++i) {
      int64_t same = odd_[i];
      forget(same);
      odd_[i] = same;
    }
  }

 private:
  static constexpr int kOdd = kRows > 1 ? kRows / 2 : 1;
  const char* first_;
  int64_t odd_[kOdd];
};

/// The accumulators of a tile and what is done to them. All loops over rows and vectors unroll.
template <class M, int kRows, int kVectors, int kPanels>
struct Sums {
  using V = hn::Vec<TileTag>;
  static constexpr int kAll = kVectors * kPanels, kColumns = kAll * kLanes;
  V c[kRows][kAll];

  HWY_INLINE Sums() {}  // written out: an implied one is made outside the instruction set's region

  /// The sums of rows `first` and up of a span; `last`: columns of the last vector.
  HWY_INLINE void start(const Tile& t, int64_t first, int last, int64_t span = 0) {
    const TileTag d;
    const float* const rows = t.c + first * t.c_stride + span * kColumns;
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
  HWY_INLINE void multiply(const Tile& t, int64_t first, int64_t span = 0) {
    if constexpr (kFetchesAhead<M>)
      if (t.ahead && first == 0) return multiply_runs<true>(t, first, span);
    multiply_runs<false>(t, first, span);
  }

  template <bool kFetch>
  HWY_INLINE void multiply_runs(const Tile& t, int64_t first, int64_t span) {
    constexpr int kSteps = kTileSteps<M, kRows>;
    const int64_t skip = span * kPanels * t.panel_stride;
    const float* b = t.b + skip;
    const std::byte* ahead = t.ahead;
    if (kFetch) ahead += skip * static_cast<int64_t>(sizeof(float));
    for (int64_t r = 0; r < t.n_runs; ++r) {
      if (t.b_runs) b = t.b + skip + t.b_runs[r];
      RowsAt<kRows> a(t.runs[r], first);
      int64_t left = t.runs[r].k;
      for (; left >= kSteps; left -= kSteps) {
        HWY_UNROLL(2)
        for (int s = 0; s < kSteps; ++s) {
          add_products(a, b, t);
          if (kFetch) ahead = fetch(ahead, t.ahead_step);
          a.next();
        }
      }
      if (left > 0) add_products(a, b, t);
    }
  }

  /// Into the second level cache, as much as a value of k has columns; returns where the next begins.
  static HWY_INLINE const std::byte* fetch(const std::byte* at, int64_t step) {
    constexpr int kLine = 64;
    HWY_UNROLL(16)
    for (int byte = 0; byte < kAll * kLanes * static_cast<int>(sizeof(float)); byte += kLine)
      __builtin_prefetch(at + byte, 0, 2);
    at += step;
    forget(at);
    return at;
  }

  /// One value of k; b goes on to the next.
  HWY_INLINE void add_products(const RowsAt<kRows>& a, const float*& b, const Tile& t) {
    const TileTag d;
    V row[kAll];
    HWY_UNROLL(16)
    for (int j = 0; j < kAll; ++j) row[j] = hn::LoadU(d, b + (j / kVectors) * t.panel_stride + (j % kVectors) * kLanes);
    b += t.b_stride;  // here: compilers that could read a row of B from memory again would do so for every row of A
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      const V value = hn::Set(d, a[i]);
      HWY_UNROLL(16)
      for (int j = 0; j < kAll; ++j) c[i][j] = M::madd(value, row[j], c[i][j]);
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

  HWY_INLINE void finish(const TileEnd& end, int64_t first, int last, int64_t span = 0) {
    const TileTag d;
    const int64_t column = span * kColumns;
    if (end.scale != 1) {
      const V scale = hn::Set(d, end.scale);
      each([&](V v, int, int) HWY_ATTR { return hn::Mul(v, scale); });
    }
    if (end.bias) {
      V bias[kAll];
      HWY_UNROLL(16)
      for (int j = 0; j < kAll; ++j) bias[j] = load(end.bias + column, j, last);
      each([&](V v, int, int j) HWY_ATTR { return hn::Add(v, bias[j]); });
    }
    if (end.row_bias) each([&](V v, int i, int) HWY_ATTR { return hn::Add(v, hn::Set(d, end.row_bias[first + i])); });
    if (end.residual) {
      const V scale = hn::Set(d, end.residual_scale);
      each([&](V v, int i, int j) HWY_ATTR {
        return hn::Add(v, hn::Mul(load(end.residual + (first + i) * end.residual_stride + column, j, last), scale));
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

  HWY_INLINE void store(const Tile& t, int64_t first, int last, int64_t span = 0) const {
    const TileTag d;
    const int64_t stride = t.c_stride;  // which the compiler would read again after each store
    float* row = t.c + first * stride + span * kColumns;
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i, row += stride) {
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
