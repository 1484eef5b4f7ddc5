#include "kernels/product/loops_tile_u8.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <hwy/base.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")
namespace nnex::kernels::simd {
namespace {

// A tile register holds 16 rows of 64 bytes: sums of 16 columns, bytes of a row of the left-hand side, or groups of
// four of 16 columns. Four are sums: of two times 16 rows and two times 16 columns, or, where there are 16 rows at
// most, of blocks that take turns, as a product waits for the one before onto the same sums.
enum Register { kSums = 0, kLeft = 4, kRight = 6 };
constexpr int kBlock = 64;                     // terms
constexpr int kHalf = 16;                      // rows or columns
constexpr int kAhead = 2048;                   // bytes of columns asked for in advance
constexpr int kMinRows = 8, kMinTerms = 1024;  // terms of all rows; fewer are done sooner in vectors

/// What LDTILECFG reads.
struct alignas(64) Shapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// By name in assembly: a register's number is part of the instruction, and g++ 12 takes its own forms of these for
// instructions that read no memory.
template <int kTo>
HWY_INLINE void load(const void* from, int64_t stride) {
  __asm__ volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"i"(kTo), "r"(from), "r"(stride) : "memory");
}
template <int kFrom>
HWY_INLINE void store(void* to, int64_t stride) {
  __asm__ volatile("tilestored %%tmm%c0, (%1,%2,1)" ::"i"(kFrom), "r"(to), "r"(stride) : "memory");
}
/// Bytes without sign times signed ones.
template <int kTo, int kA, int kB>
HWY_INLINE void add_products() {
  __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kTo), "i"(kA), "i"(kB));
}

template <int kTo>
HWY_INLINE void clear() {
  __asm__ volatile("tilezero %%tmm%c0" ::"i"(kTo));
}

/// Sets the shapes for so many rows, which takes as long as several blocks: not again where they are there.
template <bool kTall>
void configure(const IntTile<uint8_t>& t) {
  if (t.unit && *t.unit == t.rows) return;
  if (t.unit) *t.unit = t.rows;
  Shapes s;
  const auto set = [&](int at, int count) { s.rows[at] = static_cast<uint8_t>(count), s.row_bytes[at] = kBlock; };
  const int first = kTall ? kHalf : t.rows, second = kTall ? t.rows - kHalf : t.rows;
  for (int j = 0; j < 2; ++j) set(kSums + j, first), set(kSums + 2 + j, second), set(kRight + j, kBlock / 4);
  set(kLeft, first), set(kLeft + 1, second);
  __asm__ volatile("ldtilecfg %0" ::"m"(s) : "memory");
}

/// One block of terms: onto all sums of 32 rows, else onto the first or the second two.
template <bool kTall, int kVectors, int kPair>
HWY_INLINE void block(const uint8_t* a, int64_t a_stride, const int8_t* b, int64_t b_stride) {
  HWY_UNROLL(16)
  for (int i = 0; i < kBlock / 4; ++i) {
    __builtin_prefetch(b + kAhead + i * b_stride);
    if constexpr (kVectors == 2) __builtin_prefetch(b + kAhead + i * b_stride + kHalf * 4);
  }
  load<kLeft>(a, a_stride);
  load<kRight>(b, b_stride);
  add_products<kSums + kPair, kLeft, kRight>();
  if constexpr (kVectors == 2) {
    load<kRight + 1>(b + kHalf * 4, b_stride);
    add_products<kSums + kPair + 1, kLeft, kRight + 1>();
  }
  if constexpr (kTall) {
    load<kLeft + 1>(a + kHalf * a_stride, a_stride);
    add_products<kSums + 2, kLeft + 1, kRight>();
    if constexpr (kVectors == 2) add_products<kSums + 3, kLeft + 1, kRight + 1>();
  }
}

/// The terms of a run after its whole blocks, with zeros up to one: whatever b has beyond them does not count.
HWY_INLINE void pad_rest(const RowRunOf<uint8_t>& run, int64_t done, int rows, uint8_t* padded) {
  const __mmask64 mask = (uint64_t{1} << (run.k - done)) - 1;
  for (int i = 0; i < rows; ++i)
    _mm512_store_si512(padded + i * kBlock, _mm512_maskz_loadu_epi8(mask, run.a + i * run.row_stride + done));
}

template <bool kTall, int kVectors>
HWY_INLINE void sum_blocks(const IntTile<uint8_t>& t) {
  bool odd = false;
  const auto add = [&](const uint8_t* a, int64_t stride, const int8_t* b) {
    if constexpr (kTall) return block<true, kVectors, 0>(a, stride, b, t.b_stride);
    odd ? block<false, kVectors, 2>(a, stride, b, t.b_stride) : block<false, kVectors, 0>(a, stride, b, t.b_stride);
    odd = !odd;
  };
  alignas(64) uint8_t padded[2 * kHalf * kBlock];
  const int8_t* b = t.b;
  for (int64_t r = 0; r < t.n_runs; ++r) {
    const RowRunOf<uint8_t>& run = t.runs[r];
    int64_t k = 0;
    for (; k + kBlock <= run.k; k += kBlock) add(run.a + k, run.row_stride, b + k / 4 * t.b_stride);
    if (k < run.k) {
      pad_rest(run, k, t.rows, padded);
      add(padded, kBlock, b + k / 4 * t.b_stride);
    }
    b += (run.k + 3) / 4 * t.b_stride;
  }
}

/// Where the sums lie in memory, 16 columns beside 16 others, the second 16 rows (or turns) from `second` bytes on.
struct Place {
  void* at;
  int64_t stride;  ///< Bytes from row to row.
  int64_t second;
};

template <int kVectors>
HWY_INLINE void clear_sums() {
  clear<kSums>(), clear<kSums + 2>();
  if constexpr (kVectors == 2) clear<kSums + 1>(), clear<kSums + 3>();
}
template <int kVectors>
HWY_INLINE void load_sums(const Place& p) {
  const auto* const at = static_cast<const char*>(p.at);
  load<kSums>(at, p.stride), load<kSums + 2>(at + p.second, p.stride);
  if constexpr (kVectors == 2)
    load<kSums + 1>(at + kHalf * 4, p.stride), load<kSums + 3>(at + kHalf * 4 + p.second, p.stride);
}
template <int kVectors>
HWY_INLINE void store_sums(const Place& p) {
  auto* const at = static_cast<char*>(p.at);
  store<kSums>(at, p.stride), store<kSums + 2>(at + p.second, p.stride);
  if constexpr (kVectors == 2)
    store<kSums + 1>(at + kHalf * 4, p.stride), store<kSums + 3>(at + kHalf * 4 + p.second, p.stride);
}

/// What follows the sums, and what a tile store cannot: c's last columns.
template <bool kTall, int kVectors>
void finish(const IntTile<uint8_t>& t, const int32_t* sums) {
  constexpr int kWidth = kVectors * kHalf;
  for (int j = 0; j < kVectors; ++j) {
    const int first = j * kHalf, here = std::min(t.columns - first, kHalf);
    const auto mask = static_cast<__mmask16>((1U << here) - 1);
    const auto of_columns = [&](const int32_t* p) {
      return p ? _mm512_maskz_loadu_epi32(mask, p + first) : _mm512_setzero_si512();
    };
    const __m512i add = of_columns(t.column_add), factor = of_columns(t.column_factor);
    for (int i = 0; i < t.rows; ++i) {
      const int32_t* const s = sums + i * kWidth + first;
      int32_t* const c = t.c + i * t.c_stride + first;
      __m512i sum = _mm512_add_epi32(_mm512_load_si512(s), add);
      if constexpr (!kTall) sum = _mm512_add_epi32(sum, _mm512_load_si512(s + kHalf * kWidth));
      if (t.row_factor) sum = _mm512_add_epi32(sum, _mm512_mullo_epi32(_mm512_set1_epi32(t.row_factor[i]), factor));
      if (t.go_on) sum = _mm512_add_epi32(sum, _mm512_maskz_loadu_epi32(mask, c));
      if (t.whole || here == kHalf)
        _mm512_storeu_si512(c, sum);  // what a mask lets through is not forwarded
      else
        _mm512_mask_storeu_epi32(c, mask, sum);
    }
  }
}

template <bool kTall, int kVectors>
__attribute__((noinline)) void tile_of(const IntTile<uint8_t>& t) {
  alignas(64) int32_t own[2 * kHalf * kVectors * kHalf];
  const Place mine = {own, kVectors * kHalf * 4, kHalf * kVectors * kHalf * 4};
  const Place c = {t.c, t.c_stride * 4, kHalf * t.c_stride * 4};
  // Most often the sums begin with what is added to each column, or with those of the terms before.
  const bool direct = kTall && t.columns == kVectors * kHalf && !t.row_factor && !(t.go_on && t.column_add);
  configure<kTall>(t);
  if (direct && t.go_on)
    load_sums<kVectors>(c);
  else if (direct && t.column_add)
    load_sums<kVectors>({const_cast<int32_t*>(t.column_add), 0, 0});
  else
    clear_sums<kVectors>();
  sum_blocks<kTall, kVectors>(t);
  store_sums<kVectors>(direct ? c : mine);
  if (!t.unit) release_tile_unit();
  if (!direct) finish<kTall, kVectors>(t, own);
}

}  // namespace

void tile_u8_amx(const IntTile<uint8_t>& t) {
  int64_t terms = 0;
  for (int64_t r = 0; r < t.n_runs; ++r) terms += t.runs[r].k;
  if (t.rows < kMinRows || t.rows * terms < kMinTerms) return tile_u8(t);
  if (t.rows > kHalf) return t.columns <= kHalf ? tile_of<true, 1>(t) : tile_of<true, 2>(t);
  t.columns <= kHalf ? tile_of<false, 1>(t) : tile_of<false, 2>(t);
}

}  // namespace nnex::kernels::simd
HWY_POP_ATTRIBUTES

namespace nnex::kernels::simd {

void release_tile_unit() { __asm__ volatile("tilerelease" ::: "memory"); }

bool has_tile_unit() {
  static const bool has = [] {
    constexpr unsigned kTiles = 1U << 24, kBytes = 1U << 25;
    constexpr long kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM of Linux: for all threads, to the end
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & (kTiles | kBytes)) != (kTiles | kBytes)) return false;
    return has_byte_dots() && syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
  }();
  return has;
}

}  // namespace nnex::kernels::simd

#endif
