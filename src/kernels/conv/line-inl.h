// What the loops over lines of a channels-last convolution share: vectors of channels, their ends, where inputs lie.
// Included by files of loops inside foreach_target; the guard toggles once for each instruction set.

#if defined(NNEX_KERNELS_CONV_LINE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NNEX_KERNELS_CONV_LINE_INL_H_
#undef NNEX_KERNELS_CONV_LINE_INL_H_
#else
#define NNEX_KERNELS_CONV_LINE_INL_H_
#endif

#include "kernels/conv/loops_depthwise.h"
#include "kernels/simd/map-inl.h"
#include "kernels/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
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

/// Ends the sums of some pixels and a vector of channels at channel c, and stores the first `pixels`.
template <bool kWhole, int kSums, class V = hn::Vec<LineTag>>
HWY_INLINE void finish_pixels(const DepthwiseLine& line, int64_t pixel, int64_t pixels, int64_t c, size_t count,
                              V (&sum)[kSums]) {
  const LineTag d;
  const TileEnd& end = line.end;
  const auto each = [&](auto f) HWY_ATTR {
    HWY_UNROLL(8)
    for (int p = 0; p < kSums; ++p) sum[p] = f(sum[p]);
  };
  if (end.scale != 1) each([&](V v) HWY_ATTR { return hn::Mul(v, hn::Set(d, end.scale)); });
  if (end.bias) {
    const V bias = load_channels<kWhole>(end.bias + c, count);
    each([&](V v) HWY_ATTR { return hn::Add(v, bias); });
  }
  if (end.residual) {
    const V scale = hn::Set(d, end.residual_scale);
    const float* residual = end.residual + pixel * end.residual_stride + c;
    HWY_UNROLL(8)
    for (int p = 0; p < kSums; ++p)
      if (p < pixels)
        sum[p] = hn::Add(sum[p], hn::Mul(load_channels<kWhole>(residual + p * end.residual_stride, count), scale));
  }
  if (end.activation.kind == UnaryKind::relu) {
    each([&](V v) HWY_ATTR { return relu_f32(d, v); });
  } else if (end.activation.kind == UnaryKind::clamp) {
    const V low = hn::Set(d, end.activation.alpha), high = hn::Set(d, end.activation.beta);
    each([&](V v) HWY_ATTR { return clamp_f32(d, v, low, high); });
  }
  if (end.activation.replaces_nan()) {
    const V nan = hn::Set(d, end.activation.nan);
    each([&](V v) HWY_ATTR { return without_nan(d, v, nan); });
  }
  float* y = line.y + pixel * line.y_stride + c;
  HWY_UNROLL(8)
  for (int p = 0; p < kSums; ++p) {
    if (p >= pixels) return;
    if constexpr (kWhole) {
      hn::StoreU(sum[p], d, y + p * line.y_stride);
    } else {
      store_part(sum[p], d, y + p * line.y_stride, count);
    }
  }
}

/// Where the inputs of a group of pixels lie: side by side in the line.
struct Inside {
  const float* first;
  int64_t step;
  HWY_INLINE const float* operator[](int64_t i) const { return first + i * step; }
};

/// Calls f(c) for vectors of channels that cover all of them, at least one whole vector; the last two may overlap.
template <class F>
HWY_INLINE void each_channels(const DepthwiseLine& line, F f) {
  const int64_t lanes = static_cast<int64_t>(hn::MaxLanes(LineTag()));
  int64_t c = 0;
  for (; c + lanes <= line.channels; c += lanes) f(c);
  if (c < line.channels) f(line.channels - lanes);
}

/// Input pixel `at` of a row, or zeros where there is none.
HWY_INLINE const float* input_at(const DepthwiseLine& line, int64_t row, int64_t at) {
  return at >= 0 && at < line.in_width ? line.rows[row] + at * line.x_stride : line.zeros;
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
