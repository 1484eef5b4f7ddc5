#include "kernels/product/loops_tile_u8.h"

#if defined(__x86_64__)

#include <hwy/base.h>
#include <immintrin.h>

#include <cstring>
#include <utility>

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")
namespace nnex::kernels::simd {
namespace {

constexpr int kLanes = 16;
constexpr int kAhead = 1024;  // bytes of columns asked for in advance: filters stream from the last level cache

/// Rows from `first` on. All loops over rows and vectors unroll.
template <int kRows, int kVectors>
__attribute__((noinline)) void tile_of(const IntTile<uint8_t>& t, int first) {
  int32_t* const c = t.c + first * t.c_stride;
  const int last = t.columns - (kVectors - 1) * kLanes;
  const __mmask16 last_mask = last >= kLanes ? 0xffff : static_cast<__mmask16>((1U << last) - 1);
  const auto mask = [&](int j) { return j == kVectors - 1 ? last_mask : static_cast<__mmask16>(0xffff); };
  __m512i sum[kRows][kVectors];
  HWY_UNROLL(2)
  for (int j = 0; j < kVectors; ++j) {
    const __m512i add =
        t.column_add ? _mm512_maskz_loadu_epi32(mask(j), t.column_add + j * kLanes) : _mm512_setzero_si512();
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) sum[i][j] = add;
  }
  if (t.go_on) {
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j)
        sum[i][j] = _mm512_add_epi32(sum[i][j], _mm512_maskz_loadu_epi32(mask(j), c + i * t.c_stride + j * kLanes));
    }
  }
  const int8_t* b = t.b;
  for (int64_t r = 0; r < t.n_runs; ++r) {
    const int64_t stride = t.runs[r].row_stride;
    const uint8_t* a[(kRows + 2) / 3];
    HWY_UNROLL(16)
    for (int g = 0; g < (kRows + 2) / 3; ++g) a[g] = t.runs[r].a + (first + 3 * g) * stride;
    for (int64_t k = 0; k < t.runs[r].k; k += 4) {
      __m512i row[kVectors];
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) {
        row[j] = _mm512_loadu_si512(b + j * 64);
        __builtin_prefetch(b + kAhead + j * 64);
      }
      b += t.b_stride;
      HWY_UNROLL(16)
      for (int i = 0; i < kRows; ++i) {
        int32_t four;
        std::memcpy(&four, a[i / 3] + (i % 3) * stride + k, 4);
        const __m512i value = _mm512_set1_epi32(four);
        HWY_UNROLL(2)
        for (int j = 0; j < kVectors; ++j) sum[i][j] = _mm512_dpbusd_epi32(sum[i][j], value, row[j]);
      }
    }
  }
  if (t.row_factor) {
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) {
        const __m512i factor = _mm512_maskz_loadu_epi32(mask(j), t.column_factor + j * kLanes);
        sum[i][j] = _mm512_add_epi32(sum[i][j], _mm512_mullo_epi32(_mm512_set1_epi32(t.row_factor[first + i]), factor));
      }
    }
  }
  if (t.whole || last == kLanes) {  // what a mask lets through cannot be forwarded to who reads it next
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) _mm512_storeu_si512(c + i * t.c_stride + j * kLanes, sum[i][j]);
    }
    return;
  }
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) _mm512_mask_storeu_epi32(c + i * t.c_stride + j * kLanes, mask(j), sum[i][j]);
  }
}

template <int kVectors, int... kRow>
void run_rows(const IntTile<uint8_t>& t, int first, int rows, std::integer_sequence<int, kRow...>) {
  using Function = void (*)(const IntTile<uint8_t>&, int);
  static constexpr Function functions[] = {tile_of<kRow + 1, kVectors>...};
  functions[rows - 1](t, first);
}

}  // namespace

void tile_u8(const IntTile<uint8_t>& t) {
  using Rows = std::make_integer_sequence<int, kTileShapeU8.rows>;
  const int parts = (t.rows + kTileShapeU8.rows - 1) / kTileShapeU8.rows;
  for (int part = 0, first = 0; part < parts; ++part) {
    const int rows = (t.rows - first) / (parts - part);
    t.columns <= kLanes ? run_rows<1>(t, first, rows, Rows()) : run_rows<2>(t, first, rows, Rows());
    first += rows;
  }
}

}  // namespace nnex::kernels::simd
HWY_POP_ATTRIBUTES

namespace nnex::kernels::simd {
bool has_byte_dots() { return __builtin_cpu_supports("avx512vnni"); }
}  // namespace nnex::kernels::simd

#endif
