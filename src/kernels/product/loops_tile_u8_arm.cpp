#include "kernels/product/loops_tile_u8.h"

// Clang declares the intrinsics only where the whole file is compiled for the extension.
#if defined(__aarch64__) && (!defined(__clang__) || defined(__ARM_FEATURE_DOTPROD))

#include <arm_neon.h>
#include <hwy/base.h>
#include <sys/auxv.h>

#include <cstring>
#include <utility>

#if !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif
namespace nnex::kernels::simd {
namespace {

constexpr int kLanes = 4;

int32x4_t load_some(const int32_t* p, int count) {
  if (count >= kLanes) return vld1q_s32(p);
  int32_t some[kLanes] = {};
  std::memcpy(some, p, static_cast<size_t>(count) * sizeof(int32_t));
  return vld1q_s32(some);
}

void store_some(int32_t* p, int32x4_t v, int count) {
  if (count >= kLanes) return vst1q_s32(p, v);
  int32_t some[kLanes];
  vst1q_s32(some, v);
  std::memcpy(p, some, static_cast<size_t>(count) * sizeof(int32_t));
}

/// All loops over rows and vectors unroll. The instruction multiplies signed bytes by signed bytes: a row's values lose
/// 128, and 128 times the sum of a column comes back at the end.
template <int kRows, int kVectors>
__attribute__((noinline)) void tile_of(const IntTile<uint8_t>& t) {
  int count[kVectors];  // columns of each vector
  HWY_UNROLL(2)
  for (int j = 0; j < kVectors; ++j) count[j] = t.columns - j * kLanes;
  int32x4_t sum[kRows][kVectors], column_sum[kVectors];
  HWY_UNROLL(2)
  for (int j = 0; j < kVectors; ++j) {
    const int32x4_t add = t.column_add ? load_some(t.column_add + j * kLanes, count[j]) : vdupq_n_s32(0);
    HWY_UNROLL(8)
    for (int i = 0; i < kRows; ++i)
      sum[i][j] = t.go_on ? vaddq_s32(add, load_some(t.c + i * t.c_stride + j * kLanes, count[j])) : add;
    column_sum[j] = vdupq_n_s32(0);
  }
  const int8x16_t ones = vdupq_n_s8(1);
  const uint8x16_t top_bits = vdupq_n_u8(0x80);
  const int8_t* b = t.b;
  for (int64_t r = 0; r < t.n_runs; ++r) {
    for (int64_t k = 0; k < t.runs[r].k; k += 4, b += t.b_stride) {
      int8x16_t row[kVectors];
      HWY_UNROLL(2)
      for (int j = 0; j < kVectors; ++j) {
        row[j] = vld1q_s8(b + j * 4 * kLanes);
        column_sum[j] = vdotq_s32(column_sum[j], row[j], ones);
      }
      HWY_UNROLL(8)
      for (int i = 0; i < kRows; ++i) {
        uint32_t four;
        std::memcpy(&four, t.runs[r].a + i * t.runs[r].row_stride + k, 4);
        const int8x16_t value = vreinterpretq_s8_u8(veorq_u8(vreinterpretq_u8_u32(vdupq_n_u32(four)), top_bits));
        HWY_UNROLL(2)
        for (int j = 0; j < kVectors; ++j) sum[i][j] = vdotq_s32(sum[i][j], row[j], value);
      }
    }
  }
  HWY_UNROLL(2)
  for (int j = 0; j < kVectors; ++j) {
    const int32x4_t lost = vshlq_n_s32(column_sum[j], 7);
    const int32x4_t factor = t.row_factor ? load_some(t.column_factor + j * kLanes, count[j]) : vdupq_n_s32(0);
    HWY_UNROLL(8)
    for (int i = 0; i < kRows; ++i) {
      int32x4_t all = vaddq_s32(sum[i][j], lost);
      if (t.row_factor) all = vmlaq_n_s32(all, factor, t.row_factor[i]);
      store_some(t.c + i * t.c_stride + j * kLanes, all, count[j]);
    }
  }
}

template <int kVectors, int... kRow>
void run_rows(const IntTile<uint8_t>& t, std::integer_sequence<int, kRow...>) {
  using Function = void (*)(const IntTile<uint8_t>&);
  static constexpr Function functions[] = {tile_of<kRow + 1, kVectors>...};
  functions[t.rows - 1](t);
}

}  // namespace

void tile_u8(const IntTile<uint8_t>& t) {
  using Rows = std::make_integer_sequence<int, kTileShapeU8.rows>;
  if (t.columns <= kLanes) return run_rows<1>(t, Rows());
  run_rows<2>(t, Rows());
}

}  // namespace nnex::kernels::simd
#if !defined(__clang__)
#pragma GCC pop_options
#endif

namespace nnex::kernels::simd {
bool has_byte_dots() {
  constexpr unsigned long kDotProducts = 1UL << 20;  // HWCAP_ASIMDDP
  return (getauxval(AT_HWCAP) & kDotProducts) != 0;
}
}  // namespace nnex::kernels::simd

#elif !defined(__x86_64__)

namespace nnex::kernels::simd {
void tile_u8(const IntTile<uint8_t>&) {}
bool has_byte_dots() { return false; }
}  // namespace nnex::kernels::simd

#endif
