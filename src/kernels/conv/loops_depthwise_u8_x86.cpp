#include "kernels/conv/loops_depthwise_i8.h"
#include "kernels/product/loops_tile_u8.h"

#if defined(__x86_64__)

#include <hwy/base.h>
#include <immintrin.h>

#include <algorithm>

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")
namespace nnex::kernels::simd {
namespace {

constexpr int kLanes = 16;
constexpr int kBlock = 64;           // channels at a time: a vector of bytes
constexpr int64_t kMaxColumns = 64;  // of input side by side, times groups of rows
constexpr int64_t kRowsOfGroup = 4;  // whose bytes one instruction multiplies and adds

/// The columns of input that some pixels read: groups of four rows, the bytes of a channel side by side.
struct Columns {
  alignas(64) __m512i at[kMaxColumns][4];
};

int64_t groups_of(const DepthwiseByteLine& line) { return (line.n_rows + kRowsOfGroup - 1) / kRowsOfGroup; }

/// Four rows of 64 channels, so that vector v holds those of channels 16 v to 16 v + 15.
template <int kVectors>
HWY_INLINE void interleave(const __m512i (&row)[kRowsOfGroup], __m512i* to) {
  const __m512i low01 = _mm512_unpacklo_epi8(row[0], row[1]), low23 = _mm512_unpacklo_epi8(row[2], row[3]);
  _mm512_store_si512(to, _mm512_unpacklo_epi16(low01, low23));
  if (kVectors > 1) _mm512_store_si512(to + 1, _mm512_unpackhi_epi16(low01, low23));
  if (kVectors < 3) return;
  const __m512i high01 = _mm512_unpackhi_epi8(row[0], row[1]), high23 = _mm512_unpackhi_epi8(row[2], row[3]);
  _mm512_store_si512(to + 2, _mm512_unpacklo_epi16(high01, high23));
  if (kVectors > 3) _mm512_store_si512(to + 3, _mm512_unpackhi_epi16(high01, high23));
}

/// Some rows' pixels, one column of the input after the other; a step of 0 stays where it is.
struct Pixels {
  const uint8_t* p[kRowsOfGroup];
  int64_t step[kRowsOfGroup];
};

/// `count` columns of up to 64 channels; `to` moves on by `to_step` vectors a column.
template <int kVectors, int kRows>
HWY_INLINE void read_columns(Pixels pixels, int64_t count, __mmask64 mask, uint8_t flip, __m512i* to, int64_t to_step) {
  // Unpacking goes by lanes of 16 bytes: four channels of each lane make a vector.
  const __m512i lanes = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  __m512i row[kRowsOfGroup] = {flips, flips, flips, flips};
  for (; count > 0; --count, to += to_step) {
    HWY_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      const __m512i bytes = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, pixels.p[i]), flips);
      row[i] = _mm512_maskz_permutexvar_epi32(0xffff, lanes, bytes);  // unmasked, GCC 12 warns of its own header
      pixels.p[i] += pixels.step[i];
    }
    interleave<kVectors>(row, to);
  }
}

/// `count` columns of channels c to c + 63 from input column `first` on.
template <int kVectors>
HWY_INLINE void read_columns(const DepthwiseByteLine& line, int64_t c, int64_t first, int64_t count, Columns& columns) {
  const int64_t left = line.channels - c, groups = groups_of(line);
  const __mmask64 mask = left >= kBlock ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
  const int64_t begin = std::clamp<int64_t>(-first, 0, count), end = std::clamp(line.in_width - first, begin, count);
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t rows = std::min(kRowsOfGroup, line.n_rows - g * kRowsOfGroup);
    Pixels outside, inside;
    for (int64_t i = 0; i < kRowsOfGroup; ++i) {
      const uint8_t* const row = i < rows ? line.rows[g * kRowsOfGroup + i] : nullptr;
      outside.p[i] = line.outside + c, outside.step[i] = 0;
      inside.p[i] = row ? row + (first + begin) * line.x_stride + c : outside.p[i];
      inside.step[i] = row ? line.x_stride : 0;
    }
    const auto read = [&](const Pixels& pixels, int64_t from, int64_t to) {
      __m512i* const at = columns.at[from * groups + g];
      if (rows <= 3) return read_columns<kVectors, 3>(pixels, to - from, mask, line.flip, at, groups * 4);
      read_columns<kVectors, 4>(pixels, to - from, mask, line.flip, at, groups * 4);
    };
    read(outside, 0, begin), read(inside, begin, end), read(outside, end, count);
  }
}

/// kTerms: taps of a line times groups of rows, 0 where there are others than are unrolled.
template <int kVectors, int kTerms>
HWY_INLINE void sum_columns(const DepthwiseByteLine& line, int64_t c, int64_t pixel, int64_t count,
                            const Columns& columns) {
  const int64_t groups = groups_of(line), terms = line.taps * groups, dilation = line.dilation, step = line.sums_stride;
  const auto weights = [&](int64_t term, int v) {
    return _mm512_loadu_si512(line.quads + term * line.w_stride + c + v * kLanes);
  };
  __m512i w[kTerms > 0 ? kTerms : 1][kVectors];
  HWY_UNROLL(4)
  for (int term = 0; term < kTerms; ++term) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) w[term][v] = weights(term, v);
  }
  const int64_t last = line.channels - c - (kVectors - 1) * kLanes;
  const __mmask16 mask = last >= kLanes ? 0xffff : static_cast<__mmask16>((1U << last) - 1);
  __m512i add[kVectors];
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) add[v] = _mm512_loadu_si512(line.add + c + v * kLanes);
  const __m512i(*x)[4] = columns.at;
  const int64_t x_step = line.stride * groups;
  int32_t* to = line.sums + pixel * step + c;
  for (; count > 0; --count, x += x_step, to += step) {
    __m512i sum[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sum[v] = add[v];
    if constexpr (kTerms > 0) {  // one group of rows
      HWY_UNROLL(4)
      for (int term = 0; term < kTerms; ++term) {
        HWY_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) sum[v] = _mm512_dpbusd_epi32(sum[v], x[term * dilation][v], w[term][v]);
      }
    } else {
      for (int64_t term = 0; term < terms; ++term) {
        const __m512i* const at = x[term / groups * dilation * groups + term % groups];
        HWY_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) sum[v] = _mm512_dpbusd_epi32(sum[v], at[v], weights(term, v));
      }
    }
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      if (v < kVectors - 1 || last >= kLanes) {  // what a mask lets through cannot be forwarded to who reads it next
        _mm512_storeu_si512(to + v * kLanes, sum[v]);
      } else {
        _mm512_mask_storeu_epi32(to + v * kLanes, mask, sum[v]);
      }
    }
  }
}

template <int kVectors>
__attribute__((noinline)) void channels_of_line(const DepthwiseByteLine& line, int64_t c) {
  const int64_t groups = groups_of(line), reach = (line.taps - 1) * line.dilation;
  const int64_t at_once = (kMaxColumns / groups - reach - 1) / line.stride + 1;
  Columns columns;
  for (int64_t pixel = 0; pixel < line.out_width; pixel += at_once) {
    const int64_t count = std::min(at_once, line.out_width - pixel);
    read_columns<kVectors>(line, c, pixel * line.stride - line.before, (count - 1) * line.stride + reach + 1, columns);
    if (groups == 1 && line.taps == 3) {
      sum_columns<kVectors, 3>(line, c, pixel, count, columns);
    } else {
      sum_columns<kVectors, 0>(line, c, pixel, count, columns);
    }
  }
}

}  // namespace

bool depthwise_u8(const DepthwiseByteLine& line) {
  if (!line.quads || line.y || ((line.taps - 1) * line.dilation + 1) * groups_of(line) > kMaxColumns) return false;
  for (int64_t c = 0; c < line.channels; c += kBlock) {
    const int64_t left = line.channels - c;
    if (left > 3 * kLanes) {
      channels_of_line<4>(line, c);
    } else if (left > 2 * kLanes) {
      channels_of_line<3>(line, c);
    } else if (left > kLanes) {
      channels_of_line<2>(line, c);
    } else {
      channels_of_line<1>(line, c);
    }
  }
  return true;
}

}  // namespace nnex::kernels::simd
HWY_POP_ATTRIBUTES

#endif
