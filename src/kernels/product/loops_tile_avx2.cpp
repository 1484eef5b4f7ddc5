#include "kernels/product/loops_tile_avx2.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <hwy/base.h>
#include <immintrin.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

HWY_PUSH_ATTRIBUTES("avx,avx2")
namespace nnex::kernels::simd {
namespace {

constexpr int kLanes = kTileShapeAvx2.lanes;

/// Adds the products of each four bytes, a's without sign.
struct Pairs {
  static constexpr bool kHasMore = true;
  static __m256i add(__m256i sum, __m256i a, __m256i b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)));
  }
};
struct Dots {
  static constexpr bool kHasMore = false;
  static __m256i add(__m256i sum, __m256i a, __m256i b) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));  // an intrinsic is for functions of AVX-VNNI alone
    return sum;
  }
};

constexpr int kVectorBytes = 4 * kLanes;
__m256i load_bytes(const int8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
__m256i four_of(const uint8_t* a) {
  int32_t four;
  std::memcpy(&four, a, 4);
  return _mm256_set1_epi32(four);
}

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
  MoreWeights more[kVectors];
  if (Four::kHasMore && t.more) std::copy_n(t.more, kVectors, more);
  int64_t group = t.first_group;
  for (int64_t r = 0; r < t.n_runs; ++r) {
    const int64_t stride = t.runs[r].row_stride, depth = t.runs[r].k;
    const uint8_t* a[(kRows + 2) / 3];
    HWY_UNROLL(2)
    for (int g = 0; g < (kRows + 2) / 3; ++g) a[g] = t.runs[r].a + 3 * g * stride;
    for (int64_t k = 0; k < depth; k += 4, b += b_stride) {
      const __m256i first = load_bytes(b);
      HWY_UNROLL(6)
      for (int i = 0; i < kRows; ++i) {
        const __m256i value = four_of(a[i / 3] + (i % 3) * stride + k);
        sum[i][0] = Four::add(sum[i][0], value, first);
        // Read again for each row: with both vectors in registers, one of the sums would not be.
        if constexpr (kVectors == 2) sum[i][1] = Four::add(sum[i][1], value, load_bytes(b + kVectorBytes));
        NNEX_ROW_BY_ROW;
      }
    }
    if (!Four::kHasMore || !t.more) continue;
    const int64_t end = group + (depth + 3) / 4;
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) {
      for (; *more[j].groups < end; ++more[j].groups, more[j].b += kVectorBytes) {
        const __m256i weights = load_bytes(more[j].b);
        const int64_t k = (*more[j].groups - group) * 4;
        HWY_UNROLL(6)
        for (int i = 0; i < kRows; ++i) {
          sum[i][j] = Four::add(sum[i][j], four_of(a[i / 3] + (i % 3) * stride + k), weights);
          NNEX_ROW_BY_ROW;
        }
      }
    }
    group = end;
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

/// Whether a pair of these weights sums up to more than kMaxPair, or to less than -kMaxPair, by those of one sign.
bool is_beyond(__m256i weights) {
  const __m256i zero = _mm256_setzero_si256(), ones = _mm256_set1_epi8(1);
  const __m256i up = _mm256_maddubs_epi16(_mm256_max_epi8(weights, zero), ones);
  const __m256i down = _mm256_maddubs_epi16(_mm256_sub_epi8(zero, _mm256_min_epi8(weights, zero)), ones);
  const __m256i beyond = _mm256_cmpgt_epi16(_mm256_max_epi16(up, down), _mm256_set1_epi16(kMaxPair));
  return !_mm256_testz_si256(beyond, beyond);
}

}  // namespace

int64_t groups_beyond(const int8_t* b, int64_t stride, int64_t groups) {
  int64_t count = 0;
  for (int64_t g = 0; g < groups; ++g) count += is_beyond(load_bytes(b + g * stride));
  return count;
}

void take_beyond(int8_t* b, int64_t stride, int64_t groups, int32_t* numbers, int8_t* more) {
  for (int64_t g = 0; g < groups; ++g, b += stride) {
    if (!is_beyond(load_bytes(b))) continue;
    *numbers++ = static_cast<int32_t>(g);
    std::memset(more, 0, kVectorBytes);
    for (int i = 0; i < kVectorBytes; i += 2) {
      const int x = b[i], y = b[i + 1];
      const int large = std::abs(x) < std::abs(y) ? i + 1 : i, sum = x + y;
      if ((x ^ y) < 0 || std::abs(sum) <= kMaxPair) continue;  // both are of one sign
      const int beyond = sum < 0 ? sum + kMaxPair : sum - kMaxPair;
      b[large] = static_cast<int8_t>(b[large] - beyond), more[large] = static_cast<int8_t>(beyond);
    }
    more += kVectorBytes;
  }
}

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
int64_t groups_beyond(const int8_t*, int64_t, int64_t) { __builtin_unreachable(); }
void take_beyond(int8_t*, int64_t, int64_t, int32_t*, int8_t*) { __builtin_unreachable(); }
void tile_u8_avx_vnni(const IntTile<uint8_t>&) { __builtin_unreachable(); }
bool has_pair_tiles(Isa) { return false; }
bool has_avx_vnni(Isa) { return false; }
}  // namespace nnex::kernels::simd

#endif
