// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/loops_depthwise.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "kernels/conv/line-inl.h"
#include "kernels/simd/builds.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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

/// The same for any filter: input (tap, p) of a row is inputs(row)[tap * kPixels + p].
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

#if HWY_NATIVE_FMA            // the filter stays in registers
constexpr int kTogether = 4;  // pixels of one line whose chains hide each other's latency, with those of the next ones
constexpr int kMinInside = 8, kMaxEdges = 8;

/// What a line is for a square filter: pixels [begin, end), none or at least kTogether, whose windows meet no end of
/// it, and the few others, each with its inputs. x[row] is where the first window begins, step[row] goes to the next
/// input.
template <int kTaps>
struct SquareLine {
  int64_t begin = 0, end = 0;
  const float* x[kTaps];
  int64_t step[kTaps];
  int edges = 0;
  int64_t edge[kMaxEdges];
  const float* inputs[kMaxEdges][kTaps * kTaps];
};

/// Its pixels at a vector of channels. The filter stays in registers.
template <class M, int kTaps, int kStride>
HWY_INLINE void square_pixels(const DepthwiseLine& line, const SquareLine<kTaps>& s, int64_t c) {
  const LineTag d;
  using V = hn::Vec<LineTag>;
  constexpr int kInputs = (kTogether - 1) * kStride + kTaps;
  V w[kTaps * kTaps];
  HWY_UNROLL(32)
  for (int i = 0; i < kTaps * kTaps; ++i) w[i] = hn::LoadU(d, line.w + i * line.w_stride + c);
  for (int64_t i = s.begin; i < s.end; i += kTogether) {
    const int64_t pixel = HWY_MIN(i, s.end - kTogether);
    V sum[kTogether];
    HWY_UNROLL(8)
    for (int p = 0; p < kTogether; ++p) sum[p] = hn::Zero(d);
    HWY_UNROLL(8)
    for (int r = 0; r < kTaps; ++r) {
      const float* const x = s.x[r] + (pixel - s.begin) * kStride * s.step[r] + c;
      HWY_UNROLL(24)
      for (int q = 0; q < kInputs; ++q) {
        V value = hn::LoadU(d, x + q * s.step[r]);
        keep_in_register(value);
        HWY_UNROLL(8)
        for (int p = 0; p < kTogether; ++p) {
          const int t = q - p * kStride;
          if (t >= 0 && t < kTaps) sum[p] = M::madd(value, w[r * kTaps + t], sum[p]);
        }
      }
    }
    finish_pixels<true>(line, pixel, kTogether, c, 0, sum);
  }
  for (int e = 0; e < s.edges; ++e) {
    V sum[1] = {hn::Zero(d)};
    HWY_UNROLL(32)
    for (int i = 0; i < kTaps * kTaps; ++i) sum[0] = M::madd(hn::LoadU(d, s.inputs[e][i] + c), w[i], sum[0]);
    finish_pixels<true>(line, s.edge[e], 1, c, 0, sum);
  }
}

/// A square filter, dilation 1, rows that there are not being zeros. False: nothing is done, as the line is short or
/// many windows meet an end of it.
template <class M, int kTaps, int kStride>
HWY_NOINLINE bool square_line(const DepthwiseLine& line) {
  SquareLine<kTaps> s;
  s.begin = (line.before + kStride - 1) / kStride;
  s.end = HWY_MIN((line.in_width + line.before - kTaps + kStride) / kStride, line.out_width);
  if (s.begin < 0 || s.end - s.begin < kMinInside || s.begin + line.out_width - s.end > kMaxEdges) return false;
  for (int r = 0; r < kTaps; ++r) {
    s.step[r] = line.rows[r] ? line.x_stride : 0;
    s.x[r] = line.rows[r] ? line.rows[r] + (s.begin * kStride - line.before) * line.x_stride : line.zeros;
  }
  for (int64_t pixel = 0; pixel < line.out_width; ++pixel) {
    if (pixel >= s.begin && pixel < s.end) continue;
    s.edge[s.edges] = pixel;
    for (int r = 0; r < kTaps; ++r)
      for (int t = 0; t < kTaps; ++t)
        s.inputs[s.edges][r * kTaps + t] =
            line.rows[r] ? input_at(line, r, pixel * kStride - line.before + t) : line.zeros;
    ++s.edges;
  }
  each_channels(line, [&](int64_t c) HWY_ATTR { square_pixels<M, kTaps, kStride>(line, s, c); });
  return true;
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
#if HWY_NATIVE_FMA
  const bool square = line.dilation == 1 && line.taps == 3 && line.n_rows == 3;
  if (square && line.stride == 1 && square_line<M, 3, 1>(line)) return;
  if (square && line.stride == 2 && square_line<M, 3, 2>(line)) return;
#endif
  if (line.dilation == 1 && line.taps == 3 && line.stride == 1) return line_of<M, 3, 1>(line);
  if (line.dilation == 1 && line.taps == 3 && line.stride == 2) return line_of<M, 3, 2>(line);
  if (line.dilation == 1 && line.taps == 5 && line.stride == 1) return line_of<M, 5, 1>(line);
  if (line.dilation == 1 && line.taps == 5 && line.stride == 2) return line_of<M, 5, 2>(line);
  if (line.dilation == 1 && line.taps == 7 && line.stride == 1) return line_of<M, 7, 1>(line);
  line_of_any<M>(line);
}

void depthwise_f32(const DepthwiseLine& line) { run_line<Fused>(line); }
void depthwise_f32_exact(const DepthwiseLine& line) { run_line<Exact>(line); }

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(depthwise_f32);
NNEX_SIMD_BUILDS(depthwise_f32_exact);
}  // namespace nnex::kernels::simd
#endif
