// Convolutions (operators.md 2.5, 4.1).

#include <algorithm>

#include "base/checked.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/strided.h"
#include "ops/window.h"

namespace nnex {
namespace {

size_t spatial_at(const ConvAttrs& a) { return a.channels_last ? 1 : 2; }
size_t channel_at(const ConvAttrs& a, size_t rank) { return a.channels_last ? rank - 1 : 1; }

Status infer_conv(InferCall& c) {
  const auto& a = c.attr<ConvAttrs>();
  if (!c.dims(0) || !c.dims(1)) {
    c.result(0, c.dims(0)   ? MaybeDims(c.unknowns(*c.rank(0)))
                : c.dims(1) ? MaybeDims(c.unknowns(*c.rank(1)))
                            : MaybeDims{});
    return {};
  }
  const Dims &x = *c.dims(0), &w = *c.dims(1);
  if (x.size() < 3 || x.size() != w.size())
    return c.error("x has {} axes, filter {}; needed the same number, at least 3", x.size(), w.size());
  const size_t spatial = x.size() - 2;
  for (const Ints* list : {&a.stride, &a.dilation})
    if (!list->empty() && list->size() != spatial)
      return c.error("stride and dilation have {} numbers; x has {} spatial axes", list->size(), spatial);
  if (!a.padding.empty() && a.padding.size() != spatial)
    return c.error("padding has {} pairs; x has {} spatial axes", a.padding.size(), spatial);
  if (a.groups < 1) return c.error("groups is {}", a.groups);
  const Dim &channels = x[channel_at(a, x.size())], &taken = w[1];
  if (channels.is_number() && taken.is_number() && channels.value() != taken.value() * a.groups)
    return c.error("input has {} channels; filter takes {} in each of {} groups", channels.value(), taken.value(),
                   a.groups);
  if (w[0].is_number() && w[0].value() % a.groups)
    return c.error("{} filters cannot be split into {} groups", w[0].value(), a.groups);
  if (c.has(2) && c.dims(2)) NNEX_TRY(meet(c, product(*c.dims(2)), w[0], "elements of bias"));
  Dims out = x;
  out[channel_at(a, x.size())] = w[0];
  for (size_t i = 0; i < spatial; ++i) {
    Dim& d = out[spatial_at(a) + i];
    const auto pads = i < a.padding.size() ? a.padding[i] : std::pair<int64_t, int64_t>{};
    const int64_t stride = entry(a.stride, i, 1), dilation = entry(a.dilation, i, 1);
    if (!w[2 + i].is_number())
      d = c.unknown();
    else if (d.is_number()) {
      auto window = window_of(d.value(), w[2 + i].value(), stride, dilation, pads, a.auto_pad, false);
      if (!window.ok()) return c.error("spatial axis {}: {}", i, window.error().message());
      d = Dim(window->output);
    } else if (stride >= 1 && dilation >= 1 && w[2 + i].value() >= 1) {
      d = window_extent(d, w[2 + i].value(), stride, dilation, pads, a.auto_pad, false);
    } else
      return c.error("spatial axis {}: stride {}, dilation {} must be at least 1", i, stride, dilation);
  }
  c.result(0, std::move(out));
  return {};
}

int64_t border_index(int64_t i, int64_t n, ConvBorder border) {
  if (i >= 0 && i < n) return i;
  switch (border) {
    case ConvBorder::constant:
      return -1;
    case ConvBorder::replicate:
      return i < 0 ? 0 : n - 1;
    case ConvBorder::reflect: {
      if (n == 1) return 0;
      const int64_t period = 2 * (n - 1), k = i - period * floor_div(i, period);
      return k < n ? k : period - k;
    }
    case ConvBorder::reflect_even: {
      const int64_t k = i - 2 * n * floor_div(i, 2 * n);
      return k < n ? k : 2 * n - 1 - k;
    }
  }
  return -1;
}

/// Sums in float for floats (double for double), wrapped for integers: one chain a result, over channels, then taps.
struct Conv {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<ConvAttrs>();
    const Shape &xs = c.shape(0), &ws = c.shape(1), &ys = c.out(0).shape();
    const auto rank = static_cast<size_t>(xs.rank()), spatial = rank - 2;
    std::vector<AxisWindow> windows;
    for (size_t i = 0; i < spatial; ++i) {
      NNEX_ASSIGN(AxisWindow w,
                  window_of(xs[static_cast<int64_t>(spatial_at(a) + i)], ws[static_cast<int64_t>(2 + i)],
                            entry(a.stride, i, 1), entry(a.dilation, i, 1),
                            i < a.padding.size() ? a.padding[i] : std::pair<int64_t, int64_t>{}, a.auto_pad, false));
      windows.push_back(w);
    }
    const Ints xst = row_major_strides(xs), yst = row_major_strides(ys);
    const int64_t xc = xst[channel_at(a, rank)], yc = yst[channel_at(a, rank)];
    const int64_t filters = ws[0], taken = ws[1], per_group = filters / a.groups;
    int64_t places = 1, taps = 1;
    for (const AxisWindow& w : windows) places *= w.output, taps *= w.size;
    const T *x = c.in<T>(0).data(), *filter = c.in<T>(1).data(), *bias = c.has(2) ? c.in<T>(2).data() : nullptr;
    std::vector<int64_t> offsets(static_cast<size_t>(taps));
    for (int64_t p = 0; p < places; ++p) {
      int64_t y_at = 0, rest = p;
      Ints place(spatial);
      for (size_t i = spatial; i-- > 0;) {
        place[i] = rest % windows[i].output;
        rest /= windows[i].output;
        y_at += place[i] * yst[spatial_at(a) + i];
      }
      for (int64_t t = 0; t < taps; ++t) {
        int64_t offset = 0, tap = t;
        bool inside = true;
        for (size_t i = spatial; i-- > 0;) {
          const AxisWindow& w = windows[i];
          const int64_t at =
              border_index(place[i] * w.stride - w.before + tap % w.size * w.dilation, w.input, a.border);
          tap /= w.size;
          inside &= at >= 0;
          offset += at * xst[spatial_at(a) + i];
        }
        offsets[static_cast<size_t>(t)] = inside ? offset : -1;
      }
      for (int64_t n = 0; n < xs[0]; ++n)
        for (int64_t m = 0; m < filters; ++m) {
          T sum = bias ? bias[m] : T{};
          const T* from = x + n * xst[0] + m / per_group * taken * xc;
          const T* w = filter + m * taken * taps;
          for (int64_t k = 0; k < taken; ++k)
            for (int64_t t = 0; t < taps; ++t)
              if (offsets[static_cast<size_t>(t)] >= 0)
                sum = add(sum, from[k * xc + offsets[static_cast<size_t>(t)]], w[k * taps + t]);
          c.out<T>(0)[static_cast<size_t>(n * yst[0] + y_at + m * yc)] = sum;
        }
    }
    return {};
  }
  template <class T>
  static T add(T sum, T x, T w) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(
          wrap_add(static_cast<int64_t>(sum), wrap_mul(static_cast<int64_t>(x), static_cast<int64_t>(w))));
    else
      return sum + x * w;
  }
};

/// padding = [1, 2]  <->  [(1, 1), (2, 2)]
constexpr Codec kBothSides = {"both_sides",
                              [](const AttrValue& v) -> Result<AttrValue> {
                                auto* list = std::get_if<Ints>(&v);
                                if (!list)
                                  return Error(Code::invalid_model, "needed one number an axis, found " + text(v));
                                Pairs pairs;
                                for (int64_t n : *list) pairs.emplace_back(n, n);
                                return AttrValue(std::move(pairs));
                              },
                              [](const AttrValue& v) -> Result<AttrValue> {
                                auto* pairs = std::get_if<Pairs>(&v);
                                if (!pairs) return Error(Code::invalid_model, "needed pairs, found " + text(v));
                                Ints list;
                                for (auto [before, after] : *pairs) {
                                  if (before != after)
                                    return Error(Code::unsupported, "padding differs before and after");
                                  list.push_back(before);
                                }
                                return AttrValue(std::move(list));
                              }};

constexpr OpDef kConvOps[] = {
    {.name = "conv",
     .summary = "Correlation of x with filters over its spatial axes.",
     .source = "NNEF 1.0.5 conv; ONNX Conv-11; WebNN conv2d(); CVM conv2d",
     .inputs = {{"x", kN}, {"filter", same_type_as("x")}, {"bias", same_type_as("x"), Arity::optional}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<ConvAttrs>(
         {field<&ConvAttrs::stride>("stride", "Elements between windows, one a spatial axis; empty: 1."),
          field<&ConvAttrs::dilation>("dilation", "Elements between taps; empty: 1."),
          field<&ConvAttrs::padding>("padding", "(before, after) of each spatial axis; empty: 0."),
          field<&ConvAttrs::auto_pad>("auto_pad", "Padding that keeps ceil(extent / stride)."),
          field<&ConvAttrs::groups>("groups", "Channel groups."),
          field<&ConvAttrs::border>("border", "What lies beyond the input."),
          field<&ConvAttrs::channels_last>("channels_last",
                                           "x and y are [batch, spatial..., channels]; set by passes.")}),
     .infer = infer_conv,
     .reference = typed<float, double, int32_t, int64_t>(Conv{}),
     .spelled =
         {{nnef, "conv"},
          {onnx,
           "Conv",
           {{"stride", "strides"}, {"dilation", "dilations"}, {"padding", "pads", &begins_ends}, {"groups", "group"}}},
          {webnn, "conv2d", {{"stride", "strides"}, {"dilation", "dilations"}, {"padding", "padding", &interleaved}}},
          {cvm, "conv2d", {{"stride", "strides"}, {"padding", "padding", &kBothSides}}}}},
};
static_assert(sound(kConvOps));

}  // namespace

std::span<const OpDef> conv_ops() { return kConvOps; }

}  // namespace nnex
