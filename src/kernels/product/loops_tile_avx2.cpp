#include "kernels/product/loops_tile_avx2.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <hwy/base.h>
#include <immintrin.h>

#include <cstring>
#include <utility>

HWY_PUSH_ATTRIBUTES("avx,avx2")
namespace nnex::kernels::simd {
namespace {

constexpr int kLanes = kTileShapeAvx2.lanes;

/// Adds the products of each four bytes, a's without sign.
struct Pairs {
  static __m256i add(__m256i sum, __m256i a, __m256i b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)));
  }
};
struct Dots {
  static __m256i add(__m256i sum, __m256i a, __m256i b) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));  // an intrinsic is for functions of AVX-VNNI alone
    return sum;
  }
};

/// All loops over rows and vectors unroll.
template <class Four, int kRows, int kVectors>
__attribute__((noinline)) void tile_of(const IntTile<uint8_t>& t) {
  const int last = t.columns - (kVectors - 1) * kLanes;
  const __m256i last_mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(last), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  const auto load = [&](const int32_t* p, int j) {
    return j == kVectors - 1 ? _mm256_maskload_epi32(p + j * kLanes, last_mask)
                             : _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + j * kLanes));
  };
  __m256i sum[kRows][kVectors];
  HWY_UNROLL(2)
  for (int j = 0; j < kVectors; ++j) {
    const __m256i add = t.column_add ? load(t.column_add, j) : _mm256_setzero_si256();
    HWY_UNROLL(6)
    for (int i = 0; i < kRows; ++i) sum[i][j] = t.go_on ? _mm256_add_epi32(add, load(t.c + i * t.c_stride, j)) : add;
  }
  const int8_t* b = t.b;
  const int64_t b_stride = t.b_stride;
  for (int64_t r = 0; r < t.n_runs; ++r) {
    const int64_t stride = t.runs[r].row_stride, depth = t.runs[r].k;
    const uint8_t* a[(kRows + 2) / 3];
    HWY_UNROLL(2)
    for (int g = 0; g < (kRows + 2) / 3; ++g) a[g] = t.runs[r].a + 3 * g * stride;
    for (int64_t k = 0; k < depth; k += 4, b += b_stride) {
      __m256i row[kVectors];
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) row[j] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + j * 32));
      HWY_UNROLL(6)
      for (int i = 0; i < kRows; ++i) {
        int32_t four;
        std::memcpy(&four, a[i / 3] + (i % 3) * stride + k, 4);
        const __m256i value = _mm256_set1_epi32(four);
        HWY_UNROLL(2)
        for (int j = 0; j < kVectors; ++j) sum[i][j] = Four::add(sum[i][j], value, row[j]);
        NNEX_ROW_BY_ROW;
      }
    }
  }
  if (t.row_factor) {
    HWY_UNROLL(6)
    for (int i = 0; i < kRows; ++i) {
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) {
        const __m256i product = _mm256_mullo_epi32(_mm256_set1_epi32(t.row_factor[i]), load(t.column_factor, j));
        sum[i][j] = _mm256_add_epi32(sum[i][j], product);
      }
    }
  }
  HWY_UNROLL(6)
  for (int i = 0; i < kRows; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) {
      int32_t* const c = t.c + i * t.c_stride + j * kLanes;
      if (t.whole || j < kVectors - 1 ||
          last == kLanes)  // what a mask lets through cannot be forwarded to who reads it
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(c), sum[i][j]);
      else
        _mm256_maskstore_epi32(c, last_mask, sum[i][j]);
    }
  }
}

template <class Four, int kVectors, int... kRow>
void run_rows(const IntTile<uint8_t>& t, std::integer_sequence<int, kRow...>) {
  using Function = void (*)(const IntTile<uint8_t>&);
  static constexpr Function functions[] = {tile_of<Four, kRow + 1, kVectors>...};
  functions[t.rows - 1](t);
}

template <class Four>
void run(const IntTile<uint8_t>& t) {
  using Rows = std::make_integer_sequence<int, kTileShapeAvx2.rows>;
  if (t.columns <= kLanes) return run_rows<Four, 1>(t, Rows());
  run_rows<Four, 2>(t, Rows());
}

}  // namespace

void tile_pairs(const IntTile<uint8_t>& t) { run<Pairs>(t); }
void tile_u8_avx_vnni(const IntTile<uint8_t>& t) { run<Dots>(t); }

}  // namespace nnex::kernels::simd
HWY_POP_ATTRIBUTES

namespace nnex::kernels::simd {
bool has_pair_tiles(Isa isa) { return isa == Isa::avx2; }

bool has_avx_vnni(Isa isa) {
  constexpr unsigned kFeatures = 7, kMore = 1, kBit = 1U << 4;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return isa == Isa::avx2 && __get_cpuid_count(kFeatures, kMore, &a, &b, &c, &d) && (a & kBit);
}
}  // namespace nnex::kernels::simd

#else

namespace nnex::kernels::simd {
void tile_pairs(const IntTile<uint8_t>&) { __builtin_unreachable(); }
void tile_u8_avx_vnni(const IntTile<uint8_t>&) { __builtin_unreachable(); }
bool has_pair_tiles(Isa) { return false; }
bool has_avx_vnni(Isa) { return false; }
}  // namespace nnex::kernels::simd

#endif
