// Pools (operators.md 2.6, 4.2).

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/strided.h"
#include "ops/window.h"

namespace nnex {
namespace {

std::pair<int64_t, int64_t> pads_of(const PoolAttrs& a, size_t i) {
  return i < a.padding.size() ? a.padding[i] : std::pair<int64_t, int64_t>{};
}

/// The attributes count axes as [batch, channel, spatial...]; where axis i of them lies in x.
size_t place(const PoolAttrs& a, size_t i, size_t rank) {
  return !a.channels_last || i == 0 ? i : i == 1 ? rank - 1 : i - 1;
}

Status infer_pool(InferCall& c) {
  const auto& a = c.attr<PoolAttrs>();
  MaybeDims out = c.dims(0);
  if (out) {
    if (a.size.size() != out->size()) return c.error("the window has {} axes; x has {}", a.size.size(), out->size());
    for (size_t i = 0; i < out->size(); ++i) {
      Dim& d = (*out)[place(a, i, out->size())];
      const int64_t stride = entry(a.stride, i, 1), dilation = entry(a.dilation, i, 1);
      if (d.is_number()) {
        auto w = window_of(d.value(), a.size[i], stride, dilation, pads_of(a, i), a.auto_pad, a.ceil);
        if (!w.ok()) return c.error("axis {}: {}", i, w.error().message());
        d = Dim(w->output);
      } else if (stride < 1 || dilation < 1 || a.size[i] < 1) {
        return c.error("axis {}: size, stride and dilation must be at least 1", i);
      } else if (a.size[i] != 1 || stride != 1) {
        d = window_extent(d, a.size[i], stride, dilation, pads_of(a, i), a.auto_pad, a.ceil);
      }
    }
  }
  for (size_t o = 0; o < c.outputs(); ++o) c.result(o, out);
  return {};
}

/// Walks every window: begin(place) once, tap(offset in x or -1) for each tap, end(place).
template <class Begin, class Tap, class End>
Status windows(Call& c, Begin&& begin, Tap&& tap, End&& end) {
  const auto& a = c.attr<PoolAttrs>();
  const Shape& xs = c.shape(0);
  const auto rank = static_cast<size_t>(xs.rank());
  std::vector<AxisWindow> w(rank);
  Shape ys = xs;
  for (size_t i = 0; i < rank; ++i) {
    const auto at = static_cast<int64_t>(place(a, i, rank));
    NNEX_ASSIGN(w[static_cast<size_t>(at)], window_of(xs[at], a.size[i], entry(a.stride, i, 1), entry(a.dilation, i, 1),
                                                      pads_of(a, i), a.auto_pad, a.ceil));
    ys.set(at, w[static_cast<size_t>(at)].output);
  }
  const Ints xst = row_major_strides(xs);
  int64_t taps = 1;
  for (const AxisWindow& axis : w) taps *= axis.size;
  Ints index(rank, 0);
  for (int64_t y = 0, n = ys.count(); y < n; ++y) {
    begin(y);
    for (int64_t t = 0; t < taps; ++t) {
      int64_t offset = 0, rest = t;
      bool inside = true, padded = true;
      for (size_t i = rank; i-- > 0;) {
        const int64_t at = index[i] * w[i].stride - w[i].before + rest % w[i].size * w[i].dilation;
        rest /= w[i].size;
        inside &= at >= 0 && at < w[i].input;
        padded &= at >= -w[i].before && at < w[i].input + w[i].after;
        offset += at * xst[i];
      }
      tap(inside ? offset : -1, padded);
    }
    end(y, taps);
    for (size_t i = rank; i-- > 0;) {
      if (++index[i] < ys[static_cast<int64_t>(i)]) break;
      index[i] = 0;
    }
  }
  return {};
}

struct MaxPool {
  template <class T>
  Status operator()(Call& c) const {
    const bool ignore = c.attr<PoolAttrs>().border == PoolBorder::ignore;
    const T least =
        std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
    T best = least;
    int64_t at = -1;
    bool first = true;
    return windows(
        c, [&](int64_t) { best = least, at = -1, first = true; },
        [&](int64_t offset, bool) {
          if (offset < 0 && ignore) return;
          const T x = offset < 0 ? T{} : c.in<T>(0)[static_cast<size_t>(offset)];
          if (first || x > best || (x != x && best == best)) best = x, at = offset;
          first = false;
        },
        [&](int64_t y, int64_t) {
          if (c.wants(0)) c.out<T>(0)[static_cast<size_t>(y)] = best;
          if (c.wants(1)) c.out<int64_t>(1)[static_cast<size_t>(y)] = at;
        });
  }
};

struct Box {
  template <class T>
  Status operator()(Call& c) const {
    const Divisor divisor = c.attr<PoolAttrs>().divisor;
    T sum = 0;
    int64_t inside = 0, padded = 0;
    return windows(
        c, [&](int64_t) { sum = 0, inside = padded = 0; },
        [&](int64_t offset, bool in_padding) {
          padded += in_padding;
          if (offset < 0) return;
          ++inside;
          sum += c.in<T>(0)[static_cast<size_t>(offset)];
        },
        [&](int64_t y, int64_t taps) {
          const int64_t by = divisor == Divisor::one      ? 1
                             : divisor == Divisor::window ? taps
                             : divisor == Divisor::padded ? padded
                                                          : inside;
          c.out<T>(0)[static_cast<size_t>(y)] = by ? sum / static_cast<T>(by) : T{};
        });
  }
};

constexpr AttrType kPoolAttrs = attrs_of<PoolAttrs>({
    field<&PoolAttrs::size>("size", "Extent of the window on every axis, batch and channel included.", required),
    field<&PoolAttrs::stride>("stride", "Elements between windows; empty: 1."),
    field<&PoolAttrs::dilation>("dilation", "Elements between taps; empty: 1."),
    field<&PoolAttrs::padding>("padding", "(before, after) of every axis; empty: 0."),
    field<&PoolAttrs::auto_pad>("auto_pad", "Padding that keeps ceil(extent / stride)."),
    field<&PoolAttrs::border>("border", "What lies beyond the input; ignore: nothing."),
    field<&PoolAttrs::ceil>("ceil", "Extents round up; a last window beyond the input is dropped."),
    field<&PoolAttrs::divisor>("divisor", "What a sum is divided by."),
    field<&PoolAttrs::channels_last>("channels_last", "x and y are [batch, spatial..., channels]; set by passes."),
});

constexpr OpDef kPoolOps[] = {
    {.name = "max_pool",
     .summary = "The largest element of each window, and where it stands.",
     .source = "NNEF 1.0.5 max_pool; ONNX MaxPool-12; WebNN maxPool2d(); CVM max_pool2d",
     .inputs = {{"x", kN}},
     .outputs = {{"y", same_type_as("x"), Arity::optional}, {"index", DType::i64, Arity::optional}},
     .attrs = kPoolAttrs,
     .infer = infer_pool,
     .reference = typed<float, double, int64_t>(MaxPool{}),
     .spelled = {{nnef, "max_pool"},
                 {onnx,
                  "MaxPool",
                  {{"size", "kernel_shape", &full_rank_ints},
                   {"stride", "strides", &full_rank_ints},
                   {"dilation", "dilations", &full_rank_ints},
                   {"padding", "pads", &full_rank_pads},
                   {"ceil", "ceil_mode", &int_bool}},
                  1,
                  "",
                  {{"border", "'ignore'"}}},
                 {webnn, "maxPool2d"}}},
    {.name = "box",
     .summary = "The sum over each window, divided.",
     .source = "NNEF 1.0.5 box, avg_pool; ONNX AveragePool-19; WebNN averagePool2d()",
     .inputs = {{"x", kF}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = kPoolAttrs,
     .infer = infer_pool,
     .reference = typed<float, double>(Box{}),
     .spelled = {{nnef, "box"},
                 {onnx,
                  "AveragePool",
                  {{"size", "kernel_shape", &full_rank_ints},
                   {"stride", "strides", &full_rank_ints},
                   {"dilation", "dilations", &full_rank_ints},
                   {"padding", "pads", &full_rank_pads},
                   {"ceil", "ceil_mode", &int_bool},
                   {"divisor", "count_include_pad", &padded_or_inside}},
                  1,
                  "",
                  {{"border", "'ignore'"}, {"divisor", "'inside'"}}},
                 {webnn, "averagePool2d"}}},
};
static_assert(sound(kPoolOps));

}  // namespace

std::span<const OpDef> pool_ops() { return kPoolOps; }

}  // namespace nnex
