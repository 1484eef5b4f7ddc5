// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/loops_depthwise.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <type_traits>

#include "kernels/conv/line-inl.h"
#include "kernels/simd/builds.h"
#include "kernels/simd/plain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// kPixels pixels by any filter: input (tap, p) of a row is inputs(row)[tap * kPixels + p]; the first `pixels` results
/// are stored.
template <class M, bool kWhole, class Inputs>
HWY_INLINE void any_pixels(const DepthwiseLine& line, int64_t pixel, int64_t pixels, int64_t c, size_t count,
                           const Inputs& inputs) {
  const LineTag d;
  using V = hn::Vec<LineTag>;
  V sum[kPixels];
  HWY_UNROLL(8)
  for (int p = 0; p < kPixels; ++p) sum[p] = hn::Zero(d);
  for (int64_t r = 0; r < line.n_rows; ++r) {
    if (!line.rows[r]) continue;
    const auto x = inputs(r);
    for (int64_t t = 0; t < line.taps; ++t) {
      const V w = hn::LoadU(d, line.w + (r * line.taps + t) * line.w_stride + c);
      HWY_UNROLL(8)
      for (int p = 0; p < kPixels; ++p)
        sum[p] = M::madd(load_channels<kWhole>(x[t * kPixels + p] + c, count), w, sum[p]);
    }
  }
  finish_pixels<kWhole>(line, pixel, pixels, c, count, sum);
}

#if HWY_NATIVE_FMA
// Pixels of a line at once: their chains hide each other's latency. Lines of networks are often multiples of 7 or of 8,
// and what is left goes by four. AVX2 has registers for a filter of three by three and four sums.
constexpr int kRest = 4;

/// A square filter's row of inputs: where input -before of the line would be, and what goes to the next. There is no
/// row where that is 0.
struct SquareRow {
  const float* x;
  int64_t step;
};

/// Adds what a row gives to the sums of kCount pixels at a vector of channels. Up to kTaps / 2 of its inputs may lie
/// before the line, as many behind it; kNarrow: any.
template <class M, int kTaps, int kStride, int kCount, bool kNarrow, class V = hn::Vec<LineTag>>
HWY_INLINE void add_row(const DepthwiseLine& line, const SquareRow& row, const V* w, int64_t pixel, int64_t c,
                        V (&sum)[kCount]) {
  const LineTag d;
  constexpr int kInputs = (kCount - 1) * kStride + kTaps, kEdge = kTaps / 2;
  const int64_t first = pixel * kStride - line.before;
  const float* const x = row.x + pixel * kStride * row.step + c;
  HWY_UNROLL(24)
  for (int q = 0; q < kInputs; ++q) {
    const bool outside =
        ((kNarrow || q < kEdge) && first + q < 0) || ((kNarrow || q >= kInputs - kEdge) && first + q >= line.in_width);
    V value = hn::LoadU(d, outside ? line.zeros + c : x + q * row.step);
    keep_in_register(value);
    HWY_UNROLL(8)
    for (int p = 0; p < kCount; ++p) {
      const int t = q - p * kStride;
      if (t >= 0 && t < kTaps) sum[p] = M::madd(value, w[t], sum[p]);
    }
  }
}

/// kCount pixels at a vector of channels; kNarrow: of a line that has fewer. kHeld: `held` is the filter there, all
/// rows being read; else it is read.
template <class M, int kTaps, int kStride, int kCount, bool kHeld, bool kNarrow, class V = hn::Vec<LineTag>>
HWY_INLINE void square_group(const DepthwiseLine& line, const SquareRow (&rows)[kTaps], const V* held, int64_t pixel,
                             int64_t c) {
  const LineTag d;
  V sum[kCount];
  HWY_UNROLL(8)
  for (int p = 0; p < kCount; ++p) sum[p] = hn::Zero(d);
  if constexpr (kHeld) {
    HWY_UNROLL(8)
    for (int r = 0; r < kTaps; ++r)
      add_row<M, kTaps, kStride, kCount, kNarrow>(line, rows[r], held + r * kTaps, pixel, c, sum);
  } else {
    HWY_UNROLL(1)
    for (int r = 0; r < kTaps; ++r) {
      if (rows[r].step == 0) continue;
      V w[kTaps];
      HWY_UNROLL(8)
      for (int t = 0; t < kTaps; ++t) w[t] = hn::LoadU(d, line.w + (r * kTaps + t) * line.w_stride + c);
      add_row<M, kTaps, kStride, kCount, kNarrow>(line, rows[r], w, pixel, c, sum);
    }
  }
  finish_pixels<true>(line, pixel, kNarrow ? line.out_width : kCount, c, 0, sum);
}

/// Calls f(count, pixel) for groups of so many pixels that cover a line of at least four; the last may overlap.
template <bool kMany, class F>
HWY_INLINE void each_group(int64_t width, F f) {
  int64_t pixel = 0;
  const auto go = [&](auto count) HWY_ATTR __attribute__((always_inline)) {
    for (; width - pixel > kRest && width >= count; pixel += count) f(count, HWY_MIN(pixel, width - count));
  };
  if constexpr (kMany) width % 8 == 0 ? go(std::integral_constant<int, 8>()) : go(std::integral_constant<int, 7>());
  for (; pixel < width; pixel += kRest) f(std::integral_constant<int, kRest>(), HWY_MIN(pixel, width - kRest));
}

/// The pixels of a line at a vector of channels. The filter stays in registers.
template <class M, int kStride>
HWY_INLINE void square_pixels(const DepthwiseLine line, const SquareRow (&all)[3], int64_t c) {  // its own copy
  const LineTag d;
  hn::Vec<LineTag> held[9];
  HWY_UNROLL(9)
  for (int i = 0; i < 9; ++i) held[i] = hn::LoadU(d, line.w + i * line.w_stride + c);
  const SquareRow rows[3] = {all[0], all[1], all[2]};
  each_group<HWY_TARGET != HWY_AVX2>(
      line.out_width, [&](auto count, int64_t pixel) HWY_ATTR __attribute__((always_inline)) {
        square_group<M, 3, kStride, decltype(count)::value, true, false>(line, rows, held, pixel, c);
      });
}

/// Whether the first level cache keeps a vector of channels of all rows that are read and of the one that is written:
/// of its sets only those meet it that pixels' distance leads to.
HWY_INLINE bool stays_near(const DepthwiseLine& line) {
  constexpr int64_t kSets = 64, kWays = 8, kLineFloats = 16;
  const int64_t step = HWY_MAX(line.x_stride / kLineFloats, 1);
  const int64_t sets = kSets / HWY_MIN(step & -step, kSets);
  return line.n_rows * line.in_width + line.out_width <= sets * kWays;
}

/// A square filter, dilation 1. False: nothing is done, as many inputs are missing at an end of the line.
template <class M, int kTaps, int kStride>
HWY_NOINLINE bool square_line(const DepthwiseLine& line) {
  const int64_t behind = (line.out_width - 1) * kStride - line.before + kTaps - line.in_width;
  if (line.n_rows != kTaps || line.before > kTaps / 2 || behind > kTaps / 2) return false;
  SquareRow rows[kTaps];
  for (int r = 0; r < kTaps; ++r) {
    rows[r].step = line.rows[r] ? line.x_stride : 0;
    rows[r].x = line.rows[r] ? line.rows[r] - line.before * line.x_stride : line.zeros;
  }
  constexpr bool kHurries = !std::is_same_v<M, Exact>;  // that is in no hurry, and code is not free
  constexpr bool kMany = kHurries && (HWY_TARGET != HWY_AVX2 || kTaps > 3);
  constexpr const hn::Vec<LineTag>* kRead = nullptr;
  const auto narrow = [&](auto count) HWY_ATTR {
    each_channels(line, [&](int64_t c) HWY_ATTR {
      square_group<M, kTaps, kStride, decltype(count)::value, false, true>(line, rows, kRead, 0, c);
    });
    return true;
  };
  if (line.out_width < kRest) return narrow(std::integral_constant<int, kRest>());
  if constexpr (kMany) {
    if (line.out_width > kRest && line.out_width < 7) return narrow(std::integral_constant<int, 7>());
  }
  if constexpr (kTaps == 3 && kHurries) {
    if (stays_near(line)) {
      each_channels(line, [&](int64_t c) HWY_ATTR { square_pixels<M, kStride>(line, rows, c); });
      return true;
    }
  }
  each_group<kMany>(line.out_width, [&](auto count, int64_t pixel) HWY_ATTR {
    each_channels(line, [&](int64_t c) HWY_ATTR {
      square_group<M, kTaps, kStride, decltype(count)::value, false, false>(line, rows, kRead, pixel, c);
    });
  });
  return true;
}

#else

/// kPixels pixels, each input vector loaded once for all taps that meet it; dilation 1. inputs(row)[q] is input q of a
/// row; the first `pixels` results are stored.
template <class M, int kTaps, int kStride, class Inputs>
HWY_INLINE void pixels_of(const DepthwiseLine& line, int64_t pixel, int64_t pixels, int64_t c, const Inputs& inputs) {
  const LineTag d;
  using V = hn::Vec<LineTag>;
  constexpr int kInputs = (kPixels - 1) * kStride + kTaps;
  V sum[kPixels];
  HWY_UNROLL(8)
  for (int p = 0; p < kPixels; ++p) sum[p] = hn::Zero(d);
  for (int64_t r = 0; r < line.n_rows; ++r) {
    if (!line.rows[r]) continue;
    const auto x = inputs(r);
    V w[kTaps];
    HWY_UNROLL(8)
    for (int t = 0; t < kTaps; ++t) w[t] = hn::LoadU(d, line.w + (r * kTaps + t) * line.w_stride + c);
    HWY_UNROLL(24)
    for (int q = 0; q < kInputs; ++q) {
      V value = hn::LoadU(d, x[q] + c);
      keep_in_register(value);
      HWY_UNROLL(8)
      for (int p = 0; p < kPixels; ++p) {
        const int t = q - p * kStride;
        if (t >= 0 && t < kTaps) sum[p] = M::madd(value, w[t], sum[p]);
      }
    }
  }
  finish_pixels<true>(line, pixel, pixels, c, 0, sum);
}

/// A filter of kTaps taps a row, kStride apart, dilation 1.
template <class M, int kTaps, int kStride>
HWY_NOINLINE void line_of(const DepthwiseLine& line) {
  constexpr int kInputs = (kPixels - 1) * kStride + kTaps;
  for (int64_t pixel = 0; pixel < line.out_width; pixel += kPixels) {
    const int64_t pixels = HWY_MIN(kPixels, line.out_width - pixel), first = pixel * kStride - line.before;
    if (first >= 0 && first + kInputs <= line.in_width) {
      const auto inputs = [&](int64_t r) HWY_ATTR {
        return Inside{line.rows[r] + first * line.x_stride, line.x_stride};
      };
      each_channels(line, [&](int64_t c) HWY_ATTR { pixels_of<M, kTaps, kStride>(line, pixel, pixels, c, inputs); });
    } else {
      const float* table[kMaxDepthwiseTaps / kTaps][kInputs];
      for (int64_t r = 0; r < line.n_rows; ++r)
        for (int q = 0; line.rows[r] && q < kInputs; ++q) table[r][q] = input_at(line, r, first + q);
      const auto inputs = [&](int64_t r) HWY_ATTR { return table[r]; };
      each_channels(line, [&](int64_t c) HWY_ATTR { pixels_of<M, kTaps, kStride>(line, pixel, pixels, c, inputs); });
    }
  }
}

#endif  // HWY_NATIVE_FMA

template <class M>
HWY_NOINLINE void line_of_any(const DepthwiseLine& line) {
  for (int64_t pixel = 0; pixel < line.out_width; pixel += kPixels) {
    const int64_t pixels = HWY_MIN(kPixels, line.out_width - pixel);
    const float* table[kMaxDepthwiseTaps * kPixels];
    for (int64_t r = 0; r < line.n_rows; ++r)
      for (int64_t i = 0; line.rows[r] && i < line.taps * kPixels; ++i)
        table[r * line.taps * kPixels + i] =
            input_at(line, r, (pixel + i % kPixels) * line.stride - line.before + i / kPixels * line.dilation);
    const auto inputs = [&](int64_t r) HWY_ATTR { return table + r * line.taps * kPixels; };
    if (line.channels < static_cast<int64_t>(hn::MaxLanes(LineTag()))) {
      any_pixels<M, false>(line, pixel, pixels, 0, static_cast<size_t>(line.channels), inputs);
    } else {
      each_channels(line, [&](int64_t c) HWY_ATTR { any_pixels<M, true>(line, pixel, pixels, c, 0, inputs); });
    }
  }
}

// ---- Channels fewer than a vector has

constexpr int64_t kFlat = 512;       // numbers of a line at once
constexpr int64_t kFlatReach = 512;  // from a filter's first tap to its last, in numbers

/// Whether a line is one row of numbers, pixel after pixel, whose filters come again with each pixel.
HWY_INLINE bool is_flat(const DepthwiseLine& line) {
  return line.repeated && line.stride == 1 && line.x_stride == line.channels && line.y_stride == line.channels &&
         (!line.end.residual || line.end.residual_stride == line.channels) &&
         (line.taps - 1) * line.dilation * line.channels <= kFlatReach;
}

/// What finish_pixels() does, for one vector of a flat line.
HWY_INLINE hn::Vec<LineTag> finished(const TileEnd& end, hn::Vec<LineTag> v, const float* bias, int64_t at,
                                     size_t count) {
  const LineTag d;
  if (end.scale != 1) v = hn::Mul(v, hn::Set(d, end.scale));
  if (end.bias) v = hn::Add(v, hn::LoadU(d, bias));
  if (end.residual) v = hn::Add(v, hn::Mul(load_part(d, end.residual + at, count), hn::Set(d, end.residual_scale)));
  if (end.activation.kind == UnaryKind::relu) v = relu_f32(d, v);
  if (end.activation.kind == UnaryKind::clamp)
    v = clamp_f32(d, v, hn::Set(d, end.activation.alpha), hn::Set(d, end.activation.beta));
  return end.activation.replaces_nan() ? without_nan(d, v, hn::Set(d, end.activation.nan)) : v;
}

template <class M>
HWY_NOINLINE void flat_line(const DepthwiseLine& line) {
  const LineTag d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(LineTag()));
  const int64_t channels = line.channels, n = line.out_width * channels, length = line.in_width * channels;
  const int64_t step = line.dilation * channels, reach = (line.taps - 1) * step;
  HWY_ALIGN float sums[kFlat], window[kFlat + kFlatReach], bias[2 * kLanes] = {};
  for (int64_t i = 0; line.end.bias && i < channels + kLanes - 1; ++i)
    bias[i] = i < channels ? line.end.bias[i] : bias[i - channels];
  const int64_t next = kLanes % channels;  // from a vector's first channel to that of the one behind it
  for (int64_t begin = 0; begin < n; begin += kFlat) {
    const int64_t count = HWY_MIN(kFlat, n - begin), whole = (count + kLanes - 1) / kLanes * kLanes;
    const int64_t first = begin - line.before * channels, needed = whole + reach, begin_channel = begin % channels;
    const auto each = [&](auto f) HWY_ATTR {
      int64_t channel = begin_channel;
      for (int64_t i = 0; i < whole; i += kLanes) {
        f(i, channel);
        channel += next;
        if (channel >= channels) channel -= channels;
      }
    };
    each([&](int64_t i, int64_t) HWY_ATTR { hn::Store(hn::Zero(d), d, sums + i); });
    for (int64_t r = 0; r < line.n_rows; ++r) {
      if (!line.rows[r]) continue;
      const float* x = line.rows[r] + first;
      if (first < 0 || first + needed > length) {
        const int64_t from = HWY_MIN(HWY_MAX(-first, 0), needed), to = HWY_MAX(HWY_MIN(length - first, needed), from);
        std::fill_n(window, from, 0.0F);
        std::copy_n(line.rows[r] + (first + from), to - from, window + from);
        std::fill_n(window + to, needed - to, 0.0F);
        x = window;
      }
      const float* const w = line.w + r * line.taps * line.w_stride;
      each([&](int64_t i, int64_t channel) HWY_ATTR {
        auto sum = hn::Load(d, sums + i);
        for (int64_t t = 0; t < line.taps; ++t)
          sum = M::madd(hn::LoadU(d, x + i + t * step), hn::LoadU(d, w + t * line.w_stride + channel), sum);
        hn::Store(sum, d, sums + i);
      });
    }
    each([&](int64_t i, int64_t channel) HWY_ATTR {
      const auto left = static_cast<size_t>(HWY_MIN(kLanes, count - i));
      store_part(finished(line.end, hn::Load(d, sums + i), bias + channel, begin + i, left), d, line.y + begin + i,
                 left);
    });
  }
}

template <class M>
HWY_INLINE void run_line(const DepthwiseLine& line) {
  if (line.channels < static_cast<int64_t>(hn::MaxLanes(LineTag())))
    return is_flat(line) ? flat_line<M>(line) : line_of_any<M>(line);
  if (line.dilation != 1) return line_of_any<M>(line);
  const auto is = [&](int64_t taps, int64_t stride) { return line.taps == taps && line.stride == stride; };
#if HWY_NATIVE_FMA
  if (is(3, 1) && square_line<M, 3, 1>(line)) return;
  if (is(3, 2) && square_line<M, 3, 2>(line)) return;
  if (is(5, 1) && square_line<M, 5, 1>(line)) return;
  if (is(5, 2) && square_line<M, 5, 2>(line)) return;
  if (is(7, 1) && square_line<M, 7, 1>(line)) return;
#else
  if (is(3, 1)) return line_of<M, 3, 1>(line);
  if (is(3, 2)) return line_of<M, 3, 2>(line);
  if (is(5, 1)) return line_of<M, 5, 1>(line);
  if (is(5, 2)) return line_of<M, 5, 2>(line);
  if (is(7, 1)) return line_of<M, 7, 1>(line);
#endif
  line_of_any<M>(line);
}

void depthwise_f32(const DepthwiseLine& line) { run_line<Fused>(line); }
void depthwise_f32_exact(const DepthwiseLine& line) { run_line<Portable>(line); }

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(depthwise_f32);
NNEX_SIMD_BUILDS(depthwise_f32_exact);
}  // namespace nnex::kernels::simd
#endif
