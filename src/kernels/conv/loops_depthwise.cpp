// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/loops_depthwise.cpp"
#include <hwy/foreach_target.h>

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
      const V value = hn::LoadU(d, x[q] + c);
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

template <class M>
HWY_INLINE void run_line(const DepthwiseLine& line) {
  if (line.channels < static_cast<int64_t>(hn::MaxLanes(LineTag()))) return line_of_any<M>(line);
  if (line.dilation == 1 && line.taps == 3 && line.stride == 1) return line_of<M, 3, 1>(line);
  if (line.dilation == 1 && line.taps == 3 && line.stride == 2) return line_of<M, 3, 2>(line);
  if (line.dilation == 1 && line.taps == 5 && line.stride == 1) return line_of<M, 5, 1>(line);
  if (line.dilation == 1 && line.taps == 5 && line.stride == 2) return line_of<M, 5, 2>(line);
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
