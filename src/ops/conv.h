#pragma once
// Convolutions: extents, and the plain loops that convolutions of floats and of integers share.

#include <algorithm>
#include <type_traits>
#include <vector>

#include "base/checked.h"
#include "base/interrupt.h"
#include "ops/infer_call.h"
#include "ops/window.h"

namespace nnex {

/// Attributes of every row that reads ConvAttrs.
inline constexpr AttrType kConvAttrs = attrs_of<ConvAttrs>(
    {field<&ConvAttrs::stride>("stride", "Elements between windows, one a spatial axis; empty: 1."),
     field<&ConvAttrs::dilation>("dilation", "Elements between taps; empty: 1."),
     field<&ConvAttrs::padding>("padding", "(before, after) of each spatial axis; empty: 0."),
     field<&ConvAttrs::auto_pad>("auto_pad", "Padding that keeps ceil(extent / stride)."),
     field<&ConvAttrs::groups>("groups", "Channel groups."),
     field<&ConvAttrs::border>("border", "What lies beyond the input."),
     field<&ConvAttrs::channels_last>("channels_last", "x and y are [batch, spatial..., channels]; set by passes.")});

/// The result's extents for these of x, filter and bias (no value: absent or unknown).
Result<MaybeDims> conv_dims(InferCall& c, const ConvAttrs& a, const MaybeDims& x, const MaybeDims& filter,
                            const MaybeDims& bias);

/// The position inside [0, n) that stands for position i; -1: none (zeros beyond the border, or n is 0).
int64_t border_index(int64_t i, int64_t n, ConvBorder border);

/// A convolution at known extents; strides count elements.
struct ConvGeometry {
  int64_t batch = 1, filters = 1, taken = 1, per_group = 1;
  int64_t x_batch = 0, x_channel = 0, y_batch = 0, y_channel = 0;
  std::vector<AxisWindow> windows;
  Ints x_stride, y_stride;  ///< Of the spatial axes.
  ConvBorder border = ConvBorder::constant;

  int64_t taps() const {
    int64_t n = 1;
    for (const AxisWindow& w : windows) n *= w.size;
    return n;
  }
  static Result<ConvGeometry> of(const ConvAttrs& a, const Shape& x, const Shape& filter);
};

namespace detail {

/// sum + x * w; integers wrap.
template <class T>
T multiply_add(T sum, T x, T w) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(sum) + static_cast<U>(x) * static_cast<U>(w));
  } else {
    return sum + x * w;
  }
}

/// Where tap `tap` of an axis falls inside x: output positions [low, high), the first reading `at`.
struct TapRange {
  int64_t low = 0, high = 0, at = 0;
};
TapRange tap_range(const AxisWindow& w, int64_t tap);

/// y += w * x over the places of one tap.
template <class T>
void add_tap(const ConvGeometry& g, const std::vector<TapRange>& ranges, size_t axis, T w, const T* x, T* y) {
  const TapRange& r = ranges[axis];
  const int64_t x_step = g.windows[axis].stride * g.x_stride[axis], y_step = g.y_stride[axis];
  const int64_t n = r.high - r.low;
  if (n <= 0) return;
  x += r.at * g.x_stride[axis];
  y += r.low * y_step;
  if (axis + 1 < ranges.size()) {
    for (int64_t i = 0; i < n; ++i) add_tap(g, ranges, axis + 1, w, x + i * x_step, y + i * y_step);
  } else if (x_step == 1 && y_step == 1) {
    for (int64_t i = 0; i < n; ++i) y[i] = multiply_add(y[i], x[i], w);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i * y_step] = multiply_add(y[i * y_step], x[i * x_step], w);
  }
}

template <class T>
void fill_places(const ConvGeometry& g, size_t axis, T value, T* y) {
  for (int64_t i = 0; i < g.windows[axis].output; ++i, y += g.y_stride[axis]) {
    if (axis + 1 < g.windows.size())
      fill_places(g, axis + 1, value, y);
    else
      *y = value;
  }
}

/// One sum for each place: what a border other than zeros needs.
template <class T>
void correlate_bordered(const ConvGeometry& g, const T* x, const T* filter, const T* bias, T* y) {
  const size_t spatial = g.windows.size();
  const int64_t taps = g.taken == 0 ? 0 : g.taps();  // a filter of no channels may have any extents
  int64_t places = 1;
  for (const AxisWindow& w : g.windows) places *= w.output;
  Ints offsets(static_cast<size_t>(taps)), place(spatial);
  for (int64_t p = 0; p < places && !Interrupt::wanted(); ++p) {
    int64_t y_at = 0, rest = p;
    for (size_t i = spatial; i-- > 0; rest /= g.windows[i].output) {
      place[i] = rest % g.windows[i].output;
      y_at += place[i] * g.y_stride[i];
    }
    for (int64_t t = 0; t < taps; ++t) {
      int64_t offset = 0, tap = t;
      for (size_t i = spatial; i-- > 0; tap /= g.windows[i].size) {
        const AxisWindow& w = g.windows[i];
        offset +=
            border_index(place[i] * w.stride - w.before + tap % w.size * w.dilation, w.input, g.border) * g.x_stride[i];
      }
      offsets[static_cast<size_t>(t)] = offset;
    }
    for (int64_t n = 0; n < g.batch; ++n)
      for (int64_t m = 0; m < g.filters; ++m) {
        T sum = bias ? bias[m] : T{};
        const T* from = x + n * g.x_batch + m / g.per_group * g.taken * g.x_channel;
        const T* w = filter + m * g.taken * taps;
        for (int64_t k = 0; k < g.taken; ++k)
          for (int64_t t = 0; t < taps; ++t)
            sum = multiply_add(sum, from[k * g.x_channel + offsets[static_cast<size_t>(t)]], w[k * taps + t]);
        y[n * g.y_batch + m * g.y_channel + y_at] = sum;
      }
  }
}

}  // namespace detail

/// y[n, m, o] = bias[m] + sum of x * filter: one chain a result, over channels, then taps; integers wrap. bias may be
/// null. A border other than zeros stays zeros where x has no elements to continue.
template <class T>
void correlate(const ConvGeometry& g, const T* x, const T* filter, const T* bias, T* y) {
  const bool empty = std::any_of(g.windows.begin(), g.windows.end(), [](const AxisWindow& w) { return w.input == 0; });
  if (g.border != ConvBorder::constant && !empty) return detail::correlate_bordered(g, x, filter, bias, y);
  const size_t spatial = g.windows.size();
  const int64_t taps = g.taken == 0 ? 0 : g.taps();  // a filter of no channels may have any extents
  std::vector<std::vector<detail::TapRange>> ranges(static_cast<size_t>(taps));
  for (int64_t t = 0; t < taps; ++t) {
    auto& of = ranges[static_cast<size_t>(t)];
    of.resize(spatial);
    int64_t rest = t;
    for (size_t i = spatial; i-- > 0; rest /= g.windows[i].size)
      of[i] = detail::tap_range(g.windows[i], rest % g.windows[i].size);
  }
  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t m = 0; m < g.filters && !Interrupt::wanted(); ++m) {
      T* to = y + n * g.y_batch + m * g.y_channel;
      const T* from = x + n * g.x_batch + m / g.per_group * g.taken * g.x_channel;
      const T* w = filter + m * g.taken * taps;
      detail::fill_places(g, 0, bias ? bias[m] : T{}, to);
      for (int64_t k = 0; k < g.taken; ++k, from += g.x_channel)
        for (int64_t t = 0; t < taps; ++t) detail::add_tap(g, ranges[static_cast<size_t>(t)], 0, *w++, from, to);
    }
}

/// The extents of an input that may be absent; none where it is.
inline MaybeDims dims_if(InferCall& c, size_t i) { return c.has(i) ? c.dims(i) : MaybeDims{}; }

}  // namespace nnex
