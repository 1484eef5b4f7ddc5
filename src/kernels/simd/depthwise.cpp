// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/depthwise.cpp"
#include <hwy/foreach_target.h>

#include <type_traits>

#include "kernels/simd/builds.h"
#include "kernels/simd/depthwise.h"
#include "kernels/simd/map-inl.h"
#include "kernels/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using LineTag = hn::ScalableTag<float>;
constexpr int kPixels = 8;  // accumulators of one call: enough to hide the latency of multiply-add

/// A vector of channels: whole, or its first `count` lanes.
template <bool kWhole>
HWY_INLINE hn::Vec<LineTag> load_channels(const float* p, size_t count) {
  const LineTag d;
  if constexpr (kWhole) return hn::LoadU(d, p);
  return load_part(d, p, count);
}

/// Ends the sum of one pixel and vector of channels at channel c and stores it.
template <bool kWhole, class V = hn::Vec<LineTag>>
HWY_INLINE void finish_pixel(const DepthwiseLine& line, int64_t pixel, int64_t c, size_t count, V sum) {
  const LineTag d;
  const TileEnd& end = line.end;
  if (end.scale != 1) sum = hn::Mul(sum, hn::Set(d, end.scale));
  if (end.bias) sum = hn::Add(sum, load_channels<kWhole>(end.bias + c, count));
  if (end.residual) {
    const V other = load_channels<kWhole>(end.residual + pixel * end.residual_stride + c, count);
    sum = hn::Add(sum, hn::Mul(other, hn::Set(d, end.residual_scale)));
  }
  if (end.activation.kind == UnaryKind::relu) sum = relu_f32(d, sum);
  if (end.activation.kind == UnaryKind::clamp)
    sum = clamp_f32(d, sum, hn::Set(d, end.activation.alpha), hn::Set(d, end.activation.beta));
  float* y = line.y + pixel * line.y_stride + c;
  if constexpr (kWhole) {
    hn::StoreU(sum, d, y);
  } else {
    store_part(sum, d, y, count);
  }
}

/// A rolled loop over a copy: the code of one pixel, while the sums themselves stay in registers.
template <bool kWhole, class V = hn::Vec<LineTag>>
HWY_INLINE void finish_pixels(const DepthwiseLine& line, int64_t pixel, int64_t c, size_t count,
                              const V (&sums)[kPixels]) {
  const LineTag d;
  HWY_ALIGN float kept[kPixels * hn::MaxLanes(d)];
  HWY_UNROLL(8)
  for (int p = 0; p < kPixels; ++p) hn::Store(sums[p], d, kept + p * hn::MaxLanes(d));
  HWY_UNROLL(1)
  for (int p = 0; p < kPixels; ++p)
    finish_pixel<kWhole>(line, pixel + p, c, count, hn::Load(d, kept + p * hn::MaxLanes(d)));
}

/// One pixel at the line's edge, or of a filter without its own build.
template <class M, bool kWhole>
HWY_INLINE void one_pixel(const DepthwiseLine& line, int64_t pixel, int64_t c, size_t count) {
  const LineTag d;
  auto sum = hn::Zero(d);
  for (int64_t r = 0; r < line.n_rows; ++r) {
    if (!line.rows[r]) continue;
    for (int64_t t = 0; t < line.taps; ++t) {
      const int64_t at = pixel * line.stride - line.before + t * line.dilation;
      if (at < 0 || at >= line.in_width) continue;
      const auto x = load_channels<kWhole>(line.rows[r] + at * line.x_stride + c, count);
      sum = M::madd(x, hn::LoadU(d, line.w + (r * line.taps + t) * line.w_stride + c), sum);
    }
  }
  finish_pixel<kWhole>(line, pixel, c, count, sum);
}

/// kPixels pixels away from the edges, each input vector loaded once for all taps that meet it. Dilation 1.
template <class M, int kTaps, int kStride, bool kWhole>
HWY_INLINE void some_pixels(const DepthwiseLine& line, int64_t pixel, int64_t c, size_t count) {
  const LineTag d;
  using V = hn::Vec<LineTag>;
  constexpr int kInputs = (kPixels - 1) * kStride + kTaps;
  V sum[kPixels];
  HWY_UNROLL(8)
  for (int p = 0; p < kPixels; ++p) sum[p] = hn::Zero(d);
  for (int64_t r = 0; r < line.n_rows; ++r) {
    if (!line.rows[r]) continue;
    const float* x = line.rows[r] + (pixel * kStride - line.before) * line.x_stride + c;
    V w[kTaps];
    HWY_UNROLL(8)
    for (int t = 0; t < kTaps; ++t) w[t] = hn::LoadU(d, line.w + (r * kTaps + t) * line.w_stride + c);
    HWY_UNROLL(24)
    for (int q = 0; q < kInputs; ++q) {
      const V value = load_channels<kWhole>(x + q * line.x_stride, count);
      HWY_UNROLL(8)
      for (int p = 0; p < kPixels; ++p) {
        const int t = q - p * kStride;
        if (t >= 0 && t < kTaps) sum[p] = M::madd(value, w[t], sum[p]);
      }
    }
  }
  finish_pixels<kWhole>(line, pixel, c, count, sum);
}

/// Any filter: kPixels pixels away from the edges, every input loaded for every tap.
template <class M, bool kWhole>
HWY_INLINE void any_pixels(const DepthwiseLine& line, int64_t pixel, int64_t c, size_t count) {
  const LineTag d;
  using V = hn::Vec<LineTag>;
  V sum[kPixels];
  HWY_UNROLL(8)
  for (int p = 0; p < kPixels; ++p) sum[p] = hn::Zero(d);
  for (int64_t r = 0; r < line.n_rows; ++r) {
    if (!line.rows[r]) continue;
    const float* x = line.rows[r] + (pixel * line.stride - line.before) * line.x_stride + c;
    for (int64_t t = 0; t < line.taps; ++t) {
      const V w = hn::LoadU(d, line.w + (r * line.taps + t) * line.w_stride + c);
      HWY_UNROLL(8)
      for (int p = 0; p < kPixels; ++p)
        sum[p] = M::madd(load_channels<kWhole>(x + p * line.stride * line.x_stride, count), w, sum[p]);
      x += line.dilation * line.x_stride;
    }
  }
  finish_pixels<kWhole>(line, pixel, c, count, sum);
}

template <class F>
HWY_INLINE void each_channels(const DepthwiseLine& line, F f) {
  const int64_t lanes = static_cast<int64_t>(hn::MaxLanes(LineTag()));
  int64_t c = 0;
  for (; c + lanes <= line.channels; c += lanes) f(std::true_type(), c, static_cast<size_t>(lanes));
  if (c < line.channels) f(std::false_type(), c, static_cast<size_t>(line.channels - c));
}

/// kTaps = 0: any filter.
template <class M, int kTaps, int kStride>
HWY_NOINLINE void line_of(const DepthwiseLine& line) {
  const int64_t reach = (line.taps - 1) * line.dilation;
  // Pixels [first, last) have every tap inside the line.
  const int64_t first = HWY_MIN((line.before + line.stride - 1) / line.stride, line.out_width);
  const int64_t inside = line.in_width - 1 - reach + line.before;
  const int64_t last = inside < 0 ? 0 : HWY_MIN(inside / line.stride + 1, line.out_width);
  int64_t pixel = 0;
  while (pixel < line.out_width) {
    const bool many = pixel >= first && pixel + kPixels <= last;
    each_channels(line, [&](auto whole, int64_t c, size_t count) HWY_ATTR {
      constexpr bool kWhole = decltype(whole)::value;
      if (!many) {
        one_pixel<M, kWhole>(line, pixel, c, count);
      } else if constexpr (kTaps > 0) {
        some_pixels<M, kTaps, kStride, kWhole>(line, pixel, c, count);
      } else {
        any_pixels<M, kWhole>(line, pixel, c, count);
      }
    });
    pixel += many ? kPixels : 1;
  }
}

template <class M>
HWY_INLINE void run_line(const DepthwiseLine& line) {
  if (line.dilation == 1 && line.taps == 3 && line.stride == 1) return line_of<M, 3, 1>(line);
  if (line.dilation == 1 && line.taps == 3 && line.stride == 2) return line_of<M, 3, 2>(line);
  if (line.dilation == 1 && line.taps == 5 && line.stride == 1) return line_of<M, 5, 1>(line);
  if (line.dilation == 1 && line.taps == 5 && line.stride == 2) return line_of<M, 5, 2>(line);
  line_of<M, 0, 0>(line);
}

void depthwise_f32(const DepthwiseLine& line) { run_line<Fused>(line); }
void depthwise_f32_exact(const DepthwiseLine& line) { run_line<Exact>(line); }

}  // namespace nnex::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::simd {
NNEX_SIMD_BUILDS(depthwise_f32);
NNEX_SIMD_BUILDS(depthwise_f32_exact);
}  // namespace nnex::simd
#endif
