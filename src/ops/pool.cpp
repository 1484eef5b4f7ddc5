// Pools: the largest element, the sum or the norm of each window.

#include "ops/pool.h"

#include <cmath>
#include <limits>

#include "base/checked.h"
#include "ops/codecs.h"
#include "ops/int_limits.h"
#include "ops/interval_call.h"
#include "ops/precision_call.h"
#include "ops/stored.h"
#include "ops/strided.h"

namespace nnex {

int64_t border_index(int64_t i, int64_t n, PoolBorder border) {
  if (i >= 0 && i < n) return i;
  if (n == 0) return -1;
  switch (border) {
    case PoolBorder::constant:
    case PoolBorder::ignore:
      return -1;
    case PoolBorder::replicate:
      return i < 0 ? 0 : n - 1;
    case PoolBorder::reflect: {
      if (n == 1) return 0;
      const int64_t period = 2 * (n - 1), k = i - period * floor_div(i, period);
      return k < n ? k : period - k;
    }
    case PoolBorder::reflect_even: {
      const int64_t k = i - 2 * n * floor_div(i, 2 * n);
      return k < n ? k : 2 * n - 1 - k;
    }
  }
  return -1;
}

Status check_pool_lists(const InferCall& c, size_t rank) {
  const auto& a = c.attr<PoolAttrs>();
  if (a.size.size() != rank) return c.error("the window has {} axes; x has {}", a.size.size(), rank);
  for (size_t n : {a.stride.size(), a.dilation.size(), a.padding.size()})
    if (n != 0 && n != rank) return c.error("stride, dilation or padding has {} entries; x has {} axes", n, rank);
  return {};
}

Status infer_pool(InferCall& c) {
  const auto& a = c.attr<PoolAttrs>();
  MaybeDims out = c.dims(0);
  if (out) {
    NNEX_TRY(check_pool_lists(c, out->size()));
    for (size_t i = 0; i < out->size(); ++i) {
      Dim& d = (*out)[axis_at(a, i, out->size())];
      const int64_t stride = entry(a.stride, i, 1), dilation = entry(a.dilation, i, 1);
      if (d.is_number()) {
        auto w = window_of(d.value(), a.size[i], stride, dilation, pads_of(a, i), a.auto_pad, a.ceil);
        if (!w.ok()) return c.error("axis {}: {}", i, w.error().message());
        d = Dim(w->output);
      } else if (Status s = check_window(a.size[i], stride, dilation, pads_of(a, i)); !s.ok()) {
        return c.error("axis {}: {}", i, s.error().message());
      } else if (a.size[i] != 1 || stride != 1 || pads_of(a, i) != std::pair<int64_t, int64_t>{}) {
        d = window_extent(d, a.size[i], stride, dilation, pads_of(a, i), a.auto_pad, a.ceil);
      }
    }
  } else {
    out = c.unknowns(static_cast<int64_t>(a.size.size()));
  }
  for (size_t o = 0; o < c.outputs(); ++o) c.result(o, out);
  return {};
}

Result<std::vector<AxisWindow>> windows_over(const PoolAttrs& a, const Shape& x) {
  const auto rank = static_cast<size_t>(x.rank());
  std::vector<AxisWindow> w(rank);
  for (size_t i = 0; i < rank; ++i) {
    const size_t at = axis_at(a, i, rank);
    NNEX_ASSIGN(w[at], window_of(x[static_cast<int64_t>(at)], a.size[i], entry(a.stride, i, 1), entry(a.dilation, i, 1),
                                 pads_of(a, i), a.auto_pad, a.ceil));
  }
  return w;
}

namespace {

/// Walks every window: begin(windows, where it starts) once, tap(Tap) for each tap, end(number of the result).
template <class Begin, class Each, class End>
Status windows(Call& c, PoolBorder border, Begin begin, Each tap, End end) {
  const auto& a = c.attr<PoolAttrs>();
  NNEX_ASSIGN(const std::vector<AxisWindow> w, windows_over(a, c.shape(0)));
  const Ints strides = row_major_strides(c.shape(0));
  Shape to = c.shape(0);
  for (size_t i = 0; i < w.size(); ++i) to.set(static_cast<int64_t>(i), w[i].output);
  Ints start(w.size());
  Asked asked(c);
  int64_t volume = 1;  // taps of a window that may lie inside
  for (size_t i = 0; i < w.size(); ++i) volume *= std::min(w[i].size, c.shape(0)[static_cast<int64_t>(i)]) + 1;
  return for_each_index(to, [&](const Ints& index, int64_t y) -> Status {
    NNEX_TRY(asked.now_and_then(volume));
    for (size_t i = 0; i < w.size(); ++i) start[i] = index[i] * w[i].stride - w[i].before;
    begin(w, start);
    for_each_tap(w, strides, start, border, Tap{}, 0, tap);
    end(y);
    return {};
  });
}

/// What stands for a maximum of nothing.
template <class T>
T min_of(DType narrowed) {
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::has_infinity)
    return -Limits::infinity();
  else
    return narrowed == DType::none || std::is_unsigned_v<T> ? Limits::lowest()
                                                            : static_cast<T>(int_limits(narrowed).low);
}

/// The number of the element at a row-major offset when the axes from 2 on are counted column-major.
int64_t column_major(int64_t offset, const Shape& s) {
  if (offset < 0 || s.rank() < 3) return offset;
  int64_t inner = 1, number = 0;
  for (int64_t i = 2; i < s.rank(); ++i) inner *= s[i];
  int64_t rest = offset % inner, weight = inner;
  for (int64_t i = s.rank() - 1; i >= 2; --i) {
    weight /= s[i];
    number += rest % s[i] * weight;
    rest /= s[i];
  }
  return offset - offset % inner + number;
}

struct MaxPool {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<PoolAttrs>();
    const T min = min_of<T>(c.narrowed);
    const T* x = c.in<T>(0).data();
    const Shape& s = c.shape(0);
    T best = min;
    int64_t at = -1;
    bool first = true;
    return windows(
        c, a.border, [&](const auto&, const auto&) { best = min, at = -1, first = true; },
        [&](const Tap& tap) {
          const T value = tap.offset < 0 ? T{} : x[tap.offset];
          if (first || value > best || (value != value && best == best))
            best = value, at = a.index_as == IndexAs::window ? tap.position : tap.offset;
          first = false;
        },
        [&](int64_t y) {
          if (c.wants(0)) c.out<T>(0)[static_cast<size_t>(y)] = best;
          if (c.wants(1))
            c.out<int64_t>(1)[static_cast<size_t>(y)] =
                a.index_as == IndexAs::tensor_column_major ? column_major(at, s) : at;
        });
  }
};

/// How many taps a sum over a window is divided by; whole numbers, which may pass 63 bits.
double taps_counted(Divisor divisor, const std::vector<AxisWindow>& w, const Ints& start) {
  double taps = 1;
  for (size_t i = 0; i < w.size(); ++i) {
    const AxisWindow& a = w[i];
    if (divisor == Divisor::window) taps *= static_cast<double>(a.size);
    if (divisor != Divisor::padded && divisor != Divisor::inside) continue;
    const bool padded = divisor == Divisor::padded;
    const auto [first, end] = taps_within(a, start[i], padded ? -a.before : 0, a.input + (padded ? a.after : 0));
    taps *= static_cast<double>(end - first);
  }
  return taps;
}

/// The sum of term(x) over each window, divided, then finish(sum).
template <class T, class Term, class Finish>
Status sums(Call& c, Term term, Finish finish) {
  const auto& a = c.attr<PoolAttrs>();
  const Divisor divisor = divisor_of(a);
  const T* x = c.in<T>(0).data();
  T sum = 0, by = 1;
  return windows(
      c, a.border == PoolBorder::constant ? PoolBorder::ignore : a.border,  // zeros add nothing
      [&](const std::vector<AxisWindow>& w, const Ints& start) {
        sum = 0, by = static_cast<T>(taps_counted(divisor, w, start));
      },
      [&](const Tap& tap) {
        if (tap.offset >= 0) sum += term(x[tap.offset]);
      },
      [&](int64_t y) { c.out<T>(0)[static_cast<size_t>(y)] = by != 0 ? finish(sum / by) : T{}; });
}

struct Box {
  template <class T>
  Status operator()(Call& c) const {
    return sums<T>(
        c, [](T x) { return x; }, [](T sum) { return sum; });
  }
};

struct LpPool {
  template <class T>
  Status operator()(Call& c) const {
    const double given = c.attr<PoolAttrs>().p;
    const T p = static_cast<T>(given), root = static_cast<T>(1 / given);
    if (given == 1)
      return sums<T>(
          c, [](T x) { return std::abs(x); }, [](T sum) { return sum; });
    if (given == 2)
      return sums<T>(
          c, [](T x) { return x * x; }, [](T sum) { return std::sqrt(sum); });
    return sums<T>(
        c, [p](T x) { return std::pow(std::abs(x), p); }, [root](T sum) { return std::pow(sum, root); });
  }
};

Status infer_lp_pool(InferCall& c) {
  if (!(c.attr<PoolAttrs>().p > 0)) return c.error("p is {}; needed more than 0", c.attr<PoolAttrs>().p);
  return infer_pool(c);
}

constexpr auto kCeil = field<&PoolAttrs::ceil>("ceil", "Extents round up; a last window beyond the input is dropped.");
constexpr auto kDivisor = field<&PoolAttrs::divisor>("divisor", "What a sum is divided by.");
constexpr auto kChannelsLast =
    field<&PoolAttrs::channels_last>("channels_last", "x and y are [batch, spatial..., channels]; set by passes.");

/// Elements of x, or what is beyond it.
void max_pool_interval(IntervalCall& c) {
  const auto x = c.in(0);
  if (x) c.result(c.attr<PoolAttrs>().border == PoolBorder::ignore ? *x : hull(*x, {0, 0}));
}

constexpr OpRow kPoolOps[] = {
    {.name = "max_pool",
     .summary = "The largest element of each window, and where it stands.",
     .source =
         "NNEF 1.0.5 max_pool, max_pool_with_index, argmax_pool; ONNX MaxPool-22; WebNN maxPool2d(); CVM max_pool2d",
     .inputs = {{"x", kN}},
     .outputs = {{"y", same_type_as("x"), Arity::optional}, {"index", DType::i64, Arity::optional}},
     .attrs = pool_attrs(
         {kCeil, field<&PoolAttrs::index_as>("index_as", "What an index counts; -1: no element."), kChannelsLast}),
     .infer = infer_pool,
     .precision = keeps_precision,
     .interval = max_pool_interval,
     .reference = typed<float, double, int64_t, uint64_t, int8_t, uint8_t>(MaxPool{}),
     .spelled = {{nnef, "max_pool", {{"border", "border", &nnef_border}}},
                 {nnef, "max_pool_with_index", {{"border", "border", &nnef_border}}},
                 {nnef, "argmax_pool", {{"border", "border", &nnef_border}}},
                 {onnx,
                  "MaxPool",
                  {{"size", "kernel_shape", &full_rank_ints},
                   {"stride", "strides", &full_rank_ints},
                   {"dilation", "dilations", &full_rank_ints},
                   {"padding", "pads", &full_rank_pads},
                   {"ceil", "ceil_mode", &int_bool},
                   {"index_as", "storage_order", &storage_order}},
                  1,
                  "",
                  {{"border", "'ignore'"}, {"index_as", "'tensor'"}}},
                 {webnn,
                  "maxPool2d",
                  {{"size", "windowDimensions", &full_rank_ints},
                   {"stride", "strides", &full_rank_ints},
                   {"dilation", "dilations", &full_rank_ints},
                   {"padding", "padding", &full_rank_interleaved},
                   {"ceil", "outputShapeRounding", &rounding_up}},
                  1,
                  "",
                  {{"border", "'ignore'"}}},
                 {cvm,
                  "max_pool2d",
                  {{"size", "pool_size", &full_rank_ints},
                   {"stride", "strides", &full_rank_ints},
                   {"padding", "padding", &full_rank_both_sides},
                   {"ceil", "ceil_mode"}},
                  1,
                  "",
                  {{"border", "'ignore'"}}}},
     .in_bytes = ByteRole::moves,
     .layout = LayoutRole::channels},
    {.name = "box",
     .summary = "The sum over each window, divided.",
     .source = "NNEF 1.0.5 box, avg_pool, area_downsample; ONNX AveragePool-22; WebNN averagePool2d()",
     .inputs = {{"x", kF}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = pool_attrs({kCeil, kDivisor, kChannelsLast}),
     .infer = infer_pool,
     .reference = typed<float, double>(Box{}),
     .spelled = {{nnef, "box", {{"divisor", "normalize", &normalized}, {"border", "border", &nnef_border}}},
                 {nnef, "avg_pool", {{"border", "border", &nnef_border}}, 1, "", {{"divisor", "'window'"}}},
                 {nnef,
                  "area_downsample",
                  {{"size", "factor", &full_rank_ints}, {"stride", "factor", &full_rank_ints}},
                  1,
                  "",
                  {{"divisor", "'window'"}}},
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
                 {webnn,
                  "averagePool2d",
                  {{"size", "windowDimensions", &full_rank_ints},
                   {"stride", "strides", &full_rank_ints},
                   {"dilation", "dilations", &full_rank_ints},
                   {"padding", "padding", &full_rank_interleaved},
                   {"ceil", "outputShapeRounding", &rounding_up}},
                  1,
                  "",
                  {{"border", "'ignore'"}, {"divisor", "'inside'"}}}},
     .layout = LayoutRole::channels},
    {.name = "lp_pool",
     .summary = "The p-th root of the sum of p-th powers of magnitudes over each window, divided before the root.",
     .source = "NNEF 1.0.5 rms_pool; ONNX LpPool-22 (1: p is real); WebNN l2Pool2d()",
     .inputs = {{"x", kF}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = pool_attrs({kCeil, kDivisor, field<&PoolAttrs::p>("p", "The power, more than 0.")}),
     .infer = infer_lp_pool,
     .reference = typed<float, double>(LpPool{}),
     .spelled = {{nnef, "rms_pool", {{"border", "border", &nnef_border}}, 1, "", {{"divisor", "'window'"}}},
                 {onnx,
                  "LpPool",
                  {{"size", "kernel_shape", &full_rank_ints},
                   {"stride", "strides", &full_rank_ints},
                   {"dilation", "dilations", &full_rank_ints},
                   {"padding", "pads", &full_rank_pads},
                   {"ceil", "ceil_mode", &int_bool}},
                  1,
                  "",
                  {{"border", "'ignore'"}}},
                 {webnn,
                  "l2Pool2d",
                  {{"size", "windowDimensions", &full_rank_ints},
                   {"stride", "strides", &full_rank_ints},
                   {"dilation", "dilations", &full_rank_ints},
                   {"padding", "padding", &full_rank_interleaved},
                   {"ceil", "outputShapeRounding", &rounding_up}},
                  1,
                  "",
                  {{"border", "'ignore'"}}}}},
};
}  // namespace

std::span<const OpDef> pool_ops() { return stored<kPoolOps>(); }

}  // namespace nnex
