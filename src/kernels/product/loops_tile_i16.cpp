// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/product/loops_tile_i16.cpp"
#include <hwy/foreach_target.h>

#include <cstring>
#include <utility>

#include "kernels/product/loops_tile_int.h"
#include "kernels/product/requantize-inl.h"
#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

TileShape tile_shape_i16() { return {4, 4, 4}; }

void tile_i16(const IntTile<int16_t>& t) {
  for (int i = 0; i < t.rows; ++i) {
    for (int j = 0; j < t.columns; ++j) {
      uint32_t sum = t.go_on ? static_cast<uint32_t>(t.c[i * t.c_stride + j]) : 0;
      const int8_t* b = t.b + 2 * j;
      for (int64_t r = 0; r < t.n_runs; ++r) {
        const int16_t* a = t.runs[r].a + i * t.runs[r].row_stride;
        for (int64_t k = 0; k < t.runs[r].k; k += 2, b += t.b_stride)
          sum += static_cast<uint32_t>(a[k] * b[0]) + static_cast<uint32_t>(a[k + 1] * b[1]);
      }
      if (t.row_factor) sum += static_cast<uint32_t>(t.row_factor[i]) * static_cast<uint32_t>(t.column_factor[j]);
      if (t.column_add) sum += static_cast<uint32_t>(t.column_add[j]);
      t.c[i * t.c_stride + j] = static_cast<int32_t>(sum);
    }
  }
}

#else

constexpr int kLanes = static_cast<int>(hn::MaxLanes(SumTag()));
#if HWY_TARGET == HWY_AVX3
constexpr int kTileRows = 14, kTileVectors = 2;
#elif HWY_TARGET == HWY_WASM
constexpr int kTileRows = 4, kTileVectors = 2;
#else
constexpr int kTileRows = 6, kTileVectors = 2;
#endif

/// Adds the tile's terms to the sums and stores them: the ends of rows.
HWY_NOINLINE void finish(const IntTile<int16_t>& t, const int32_t* sums, int stride) {
  const SumTag d;
  for (int i = 0; i < t.rows; ++i) {
    int32_t* c = t.c + i * t.c_stride;
    for (int j = 0; j < t.columns; j += kLanes) {
      const auto count = static_cast<size_t>(HWY_MIN(t.columns - j, kLanes));
      const auto load = [&](const int32_t* p)
                            HWY_ATTR { return count == kLanes ? hn::LoadU(d, p + j) : load_part(d, p + j, count); };
      auto sum = hn::Load(d, sums + i * stride + j);
      if (t.go_on) sum = hn::Add(sum, load(c));
      if (t.row_factor) sum = hn::Add(sum, hn::Mul(hn::Set(d, t.row_factor[i]), load(t.column_factor)));
      if (t.column_add) sum = hn::Add(sum, load(t.column_add));
      if (count == kLanes) {
        hn::StoreU(sum, d, c + j);
      } else {
        store_part(sum, d, c + j, count);
      }
    }
  }
}

template <int kRows, int kVectors>
HWY_NOINLINE void tile_of(const IntTile<int16_t>& t) {
  const SumTag d;
  const hn::RepartitionToNarrow<SumTag> d16;
  const hn::Rebind<int8_t, decltype(d16)> d8;
  using V = hn::Vec<SumTag>;
  V low[kRows][kVectors], high[kRows][kVectors];  // `high` is left alone where one instruction adds both products
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) low[i][j] = high[i][j] = hn::Zero(d);
  }
  const int8_t* b = t.b;
  const int64_t b_stride = t.b_stride;
  for (int64_t r = 0; r < t.n_runs; ++r) {
    const int64_t stride = t.runs[r].row_stride, depth = t.runs[r].k;
    const int16_t* a[(kRows + 2) / 3];
    HWY_UNROLL(16)
    for (int g = 0; g < (kRows + 2) / 3; ++g) a[g] = t.runs[r].a + 3 * g * stride;
    for (int64_t k = 0; k < depth; k += 2, b += b_stride) {
      hn::Vec<decltype(d16)> row[kVectors];
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) row[j] = hn::PromoteTo(d16, hn::LoadU(d8, b + 2 * j * kLanes));
      HWY_UNROLL(16)
      for (int i = 0; i < kRows; ++i) {
        int32_t pair;
        std::memcpy(&pair, a[i / 3] + (i % 3) * stride + k, 4);
        const auto value = hn::BitCast(d16, hn::Set(d, pair));
        HWY_UNROLL(2)
        for (int j = 0; j < kVectors; ++j)
          low[i][j] = hn::ReorderWidenMulAccumulate(d, value, row[j], low[i][j], high[i][j]);
        NNEX_ROW_BY_ROW;
      }
    }
  }
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) low[i][j] = hn::RearrangeToOddPlusEven(low[i][j], high[i][j]);
  }
  if (t.columns == kVectors * kLanes) {
    static constexpr int32_t kNothing[kVectors * kLanes] = {};
    const int32_t* const add = t.column_add ? t.column_add : kNothing;
    V terms[kVectors];
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) terms[j] = hn::LoadU(d, add + j * kLanes);
    int32_t* const c = t.c;
    const int64_t stride = t.c_stride;
    if (t.go_on) {
      HWY_UNROLL(16)
      for (int i = 0; i < kRows; ++i) {
        HWY_UNROLL(2)
        for (int j = 0; j < kVectors; ++j) low[i][j] = hn::Add(low[i][j], hn::LoadU(d, c + i * stride + j * kLanes));
      }
    }
    if (t.row_factor) {
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) {
        const V factor = hn::LoadU(d, t.column_factor + j * kLanes);
        HWY_UNROLL(16)
        for (int i = 0; i < kRows; ++i) low[i][j] = hn::Add(low[i][j], hn::Mul(hn::Set(d, t.row_factor[i]), factor));
      }
    }
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) hn::StoreU(hn::Add(low[i][j], terms[j]), d, c + i * stride + j * kLanes);
    }
    return;
  }
  HWY_ALIGN int32_t kept[kRows * kVectors * kLanes];
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) hn::Store(low[i][j], d, kept + (i * kVectors + j) * kLanes);
  }
  finish(t, kept, kVectors * kLanes);
}

template <int kVectors, int... kRow>
HWY_INLINE void run_rows(const IntTile<int16_t>& t, std::integer_sequence<int, kRow...>) {
  using Function = void (*)(const IntTile<int16_t>&);
  static constexpr Function functions[] = {tile_of<kRow + 1, kVectors>...};
  functions[t.rows - 1](t);
}

TileShape tile_shape_i16() { return {kTileRows, kTileVectors * kLanes, kLanes}; }

void tile_i16(const IntTile<int16_t>& t) {
  using Rows = std::make_integer_sequence<int, kTileRows>;
  if (t.columns <= kLanes) return run_rows<1>(t, Rows());
  run_rows<2>(t, Rows());
}

#endif

void requantize_i32(const Requantize& f, const SumRows& sums, uint8_t* y, int64_t y_stride, size_t n) {
  const SumTag d;
  const hn::RebindToFloat<SumTag> df;
  const hn::Rebind<uint8_t, SumTag> d8;
  const size_t lanes = hn::Lanes(d);
  const Requantized to(f);
  const int32_t* const c = sums.c;
  const int64_t rows = sums.rows, stride = sums.stride;
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto scale = f.step ? hn::LoadU(df, f.scale + i) : hn::Set(df, f.scale[0]);
    for (int64_t r = 0; r < rows; ++r)
      hn::StoreU(to.of(hn::LoadU(d, c + r * stride + i), scale), d8, y + r * y_stride + i);
  }
  if (i == n) return;
  const auto scale = f.step ? load_part(df, f.scale + i, n - i) : hn::Set(df, f.scale[0]);
  for (int64_t r = 0; r < rows; ++r) {
    HWY_ALIGN uint8_t padded[HWY_MAX_BYTES];
    hn::StoreU(to.of(load_part(d, c + r * stride + i, n - i), scale), d8, padded);
    std::memcpy(y + r * y_stride + i, padded, n - i);
  }
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(tile_shape_i16);
NNEX_SIMD_BUILDS(tile_i16);
NNEX_SIMD_BUILDS(requantize_i32);
}  // namespace nnex::kernels::simd
#endif
