// Convolutions.

#include "ops/conv.h"

#include <algorithm>

#include "base/checked.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/interval_call.h"
#include "ops/precision_call.h"
#include "ops/stored.h"
#include "ops/strided.h"
#include "ops/window.h"

namespace nnex {
namespace {

size_t spatial_at(const ConvAttrs& a) { return a.channels_last ? 1 : 2; }
size_t channel_at(const ConvAttrs& a, size_t rank) { return a.channels_last ? rank - 1 : 1; }

std::pair<int64_t, int64_t> pads_of(const ConvAttrs& a, size_t axis) {
  return axis < a.padding.size() ? a.padding[axis] : std::pair<int64_t, int64_t>{};
}

/// One spatial axis of the result.
Result<Dim> conv_extent(InferCall& c, const ConvAttrs& a, size_t axis, const Dim& input, const Dim& size) {
  const int64_t stride = entry(a.stride, axis, 1), dilation = entry(a.dilation, axis, 1);
  if (!size.is_number()) return c.unknown();
  if (input.is_number()) {
    auto window = window_of(input.value(), size.value(), stride, dilation, pads_of(a, axis), a.auto_pad, false);
    if (!window.ok()) return c.error("spatial axis {}: {}", axis, window.error().message());
    return Dim(window->output);
  }
  if (Status s = check_window(size.value(), stride, dilation, pads_of(a, axis)); !s.ok())
    return c.error("spatial axis {}: {}", axis, s.error().message());
  return window_extent(input, size.value(), stride, dilation, pads_of(a, axis), a.auto_pad, false);
}

Status check_lists(InferCall& c, const ConvAttrs& a, size_t spatial) {
  for (const Ints* list : {&a.stride, &a.dilation})
    if (!list->empty() && list->size() != spatial)
      return c.error("stride and dilation have {} numbers; x has {} spatial axes", list->size(), spatial);
  if (!a.padding.empty() && a.padding.size() != spatial)
    return c.error("padding has {} pairs; x has {} spatial axes", a.padding.size(), spatial);
  return {};
}

}  // namespace

Result<MaybeDims> conv_dims(InferCall& c, const ConvAttrs& a, const MaybeDims& x_dims, const MaybeDims& filter,
                            const MaybeDims& bias) {
  if (!x_dims || !filter) {
    if (!x_dims && !filter) return MaybeDims{};
    return MaybeDims(c.unknowns(static_cast<int64_t>((x_dims ? x_dims : filter)->size())));
  }
  const Dims &x = *x_dims, &w = *filter;
  if (x.size() < 3 || x.size() != w.size())
    return c.error("x has {} axes, filter {}; needed the same number, at least 3", x.size(), w.size());
  const size_t spatial = x.size() - 2;
  NNEX_TRY(check_lists(c, a, spatial));
  if (a.groups < 1) return c.error("groups is {}", a.groups);
  const Dim &channels = x[channel_at(a, x.size())], &taken = w[1];
  if (channels.is_number() && taken.is_number() && checked_mul(taken.value(), a.groups) != channels.value())
    return c.error("input has {} channels; filter takes {} in each of {} groups", channels.value(), taken.value(),
                   a.groups);
  if (w[0].is_number() && w[0].value() % a.groups)
    return c.error("{} filters cannot be split into {} groups", w[0].value(), a.groups);
  if (bias) NNEX_TRY(meet(c, product(*bias), w[0], "elements of bias"));
  Dims out = x;
  out[channel_at(a, x.size())] = w[0];
  for (size_t i = 0; i < spatial; ++i) {
    NNEX_ASSIGN(out[spatial_at(a) + i], conv_extent(c, a, i, x[spatial_at(a) + i], w[2 + i]));
  }
  return MaybeDims(std::move(out));
}

int64_t border_index(int64_t i, int64_t n, ConvBorder border) {
  if (i >= 0 && i < n) return i;
  if (n < 1) return -1;
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

Result<ConvGeometry> ConvGeometry::of(const ConvAttrs& a, const Shape& x, const Shape& filter) {
  const auto rank = static_cast<size_t>(x.rank()), spatial = rank - 2;
  ConvGeometry g;
  g.batch = x[0], g.filters = filter[0], g.taken = filter[1], g.per_group = std::max<int64_t>(1, filter[0] / a.groups);
  g.border = a.border;
  Shape y = x;
  y.set(static_cast<int64_t>(channel_at(a, rank)), filter[0]);
  for (size_t i = 0; i < spatial; ++i) {
    const auto at = static_cast<int64_t>(spatial_at(a) + i);
    NNEX_ASSIGN(AxisWindow w, window_of(x[at], filter[static_cast<int64_t>(2 + i)], entry(a.stride, i, 1),
                                        entry(a.dilation, i, 1), pads_of(a, i), a.auto_pad, false));
    y.set(at, w.output);
    g.windows.push_back(w);
  }
  const Ints xst = row_major_strides(x), yst = row_major_strides(y);
  g.x_batch = xst[0], g.x_channel = xst[channel_at(a, rank)];
  g.y_batch = yst[0], g.y_channel = yst[channel_at(a, rank)];
  for (size_t i = 0; i < spatial; ++i)
    g.x_stride.push_back(xst[spatial_at(a) + i]), g.y_stride.push_back(yst[spatial_at(a) + i]);
  return g;
}

detail::TapRange detail::tap_range(const AxisWindow& w, int64_t tap) {
  const int64_t shift = tap * w.dilation - w.before;  // output o reads o * stride + shift
  TapRange r;
  r.low = std::max<int64_t>(0, ceil_div(-shift, w.stride));
  r.high = std::min(w.output, floor_div(w.input - 1 - shift, w.stride) + 1);
  r.at = r.low * w.stride + shift;
  return r;
}

namespace {

Status infer_conv(InferCall& c) {
  NNEX_ASSIGN(MaybeDims out, conv_dims(c, c.attr<ConvAttrs>(), c.dims(0), c.dims(1), dims_if(c, 2)));
  c.result(0, std::move(out));
  return {};
}

/// One product for each tap of each channel a filter takes.
Status conv_precision(PrecisionCall& c) {
  int64_t terms = c.shape(1)[1];
  for (int64_t i = 2; i < c.shape(1).rank(); ++i) terms *= c.shape(1)[i];
  return dot_precision(c, terms);
}

/// What lies beyond x is 0, or elements of x.
void conv_interval(IntervalCall& c) { dot_interval(c, {.padded = true}); }

/// Sums in float for floats (double for double), wrapped for integers.
struct Conv {
  template <class T>
  Status operator()(Call& c) const {
    NNEX_ASSIGN(ConvGeometry g, ConvGeometry::of(c.attr<ConvAttrs>(), c.shape(0), c.shape(1)));
    if (c.out(0).count() == 0) return {};
    correlate(g, c.in<T>(0).data(), c.in<T>(1).data(), c.has(2) ? c.in<T>(2).data() : nullptr, c.out<T>(0).data());
    return {};
  }
};

// ---- separable_conv: each channel by itself, then a convolution of one tap

/// The attributes of the first step: as many groups as x has channels.
ConvAttrs plane_attrs(const ConvAttrs& a, int64_t channels) {
  ConvAttrs plane = a;
  plane.groups = channels;
  return plane;
}
ConvAttrs point_attrs(const ConvAttrs& a) {
  ConvAttrs point;
  point.groups = a.groups;
  return point;
}

Status infer_separable_conv(InferCall& c) {
  const auto& a = c.attr<ConvAttrs>();
  MaybeDims x = c.dims(0);
  const MaybeDims &plane = c.dims(1), &point = c.dims(2);
  if (a.channels_last) return c.error("channels must come before the spatial axes");
  if (x && x->size() > 1 && plane && plane->size() > 1) {
    if ((*plane)[1].is_number() && (*plane)[1].value() != 1)
      return c.error("plane_filter takes {} channels; needed 1", (*plane)[1].value());
    if (!(*x)[1].is_number()) (*x)[1] = Dim(1);  // any number of groups of one
  }
  if (point)
    for (size_t i = 2; i < point->size(); ++i)
      if ((*point)[i].is_number() && (*point)[i].value() != 1)
        return c.error("point_filter has extent {} at axis {}; needed 1", (*point)[i].value(), i);
  const int64_t channels = x && x->size() > 1 ? (*x)[1].value() : 1;
  NNEX_ASSIGN(MaybeDims middle, conv_dims(c, plane_attrs(a, std::max<int64_t>(channels, 1)), x, plane, {}));
  NNEX_ASSIGN(MaybeDims out, conv_dims(c, point_attrs(a), middle, point, dims_if(c, 3)));
  c.result(0, std::move(out));
  return {};
}

struct SeparableConv {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<ConvAttrs>();
    if (c.out(0).count() == 0) return {};
    NNEX_ASSIGN(ConvGeometry plane, ConvGeometry::of(plane_attrs(a, c.shape(0)[1]), c.shape(0), c.shape(1)));
    Shape shape = c.out(0).shape();
    shape.set(1, c.shape(1)[0]);
    NNEX_ASSIGN(ConvGeometry point, ConvGeometry::of(point_attrs(a), shape, c.shape(2)));
    NNEX_ASSIGN(Tensor middle, Tensor::make(c.in(0).dtype(), shape));
    correlate<T>(plane, c.in<T>(0).data(), c.in<T>(1).data(), nullptr, middle.mutable_as<T>().data());
    correlate<T>(point, middle.as<T>().data(), c.in<T>(2).data(), c.has(3) ? c.in<T>(3).data() : nullptr,
                 c.out<T>(0).data());
    return {};
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

constexpr OpRow kConvOps[] = {
    {.name = "conv",
     .summary = "Correlation of x with filters over its spatial axes.",
     .source = "NNEF 1.0.5 conv; ONNX Conv-11; WebNN conv2d(); CVM conv2d",
     .inputs = {{"x", kN}, {"filter", same_type_as("x")}, {"bias", same_type_as("x"), Arity::optional}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = kConvAttrs,
     .infer = infer_conv,
     .precision = conv_precision,
     .interval = conv_interval,
     .reference = typed<float, double, int32_t, int64_t>(Conv{}),
     .spelled =
         {{nnef, "conv", {{"border", "border", &nnef_border}}},
          {onnx,
           "Conv",
           {{"stride", "strides"}, {"dilation", "dilations"}, {"padding", "pads", &begins_ends}, {"groups", "group"}}},
          {webnn, "conv2d", {{"stride", "strides"}, {"dilation", "dilations"}, {"padding", "padding", &interleaved}}},
          {cvm, "conv2d", {{"stride", "strides"}, {"padding", "padding", &kBothSides}}}},
     .in_bytes = ByteRole::product,
     .layout = LayoutRole::channels,
     .work = Work::conv},
    {.name = "separable_conv",
     .summary = "A convolution of each channel by itself, then one of a single tap over all of them.",
     .source = "NNEF 1.0.5 separable_conv",
     .inputs = {{"x", kF},
                {.name = "plane_filter", .type = same_type_as("x"), .doc = "[channels * multiplier, 1, spatial...]"},
                {.name = "point_filter",
                 .type = same_type_as("x"),
                 .doc = "[out, channels * multiplier / groups, 1...]"},
                {"bias", same_type_as("x"), Arity::optional}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = kConvAttrs,
     .infer = infer_separable_conv,
     .reference = typed<float, double>(SeparableConv{}),
     .spelled = {{nnef, "separable_conv", {{"border", "border", &nnef_border}}}},
     .work = Work::separable},
};
}  // namespace

std::span<const OpDef> conv_ops() { return stored<kConvOps>(); }

}  // namespace nnex
