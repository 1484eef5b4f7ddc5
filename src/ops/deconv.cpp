// Deconvolutions.

#include "ops/deconv.h"

#include <algorithm>
#include <tuple>

#include "base/checked.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/conv.h"
#include "ops/infer_call.h"
#include "ops/stored.h"
#include "ops/strided.h"

namespace nnex {
namespace {

constexpr int64_t kMax = int64_t{1} << 32;      ///< Beyond it sizes are nonsense.
constexpr int64_t kMaxSpan = int64_t{1} << 61;  ///< Of products of two, whose sum fits.

Error invalid(std::string message) { return Error(Code::invalid_model, std::move(message)); }

std::pair<int64_t, int64_t> pads_of(const DeconvAttrs& a, size_t axis) {
  return axis < a.padding.size() ? a.padding[axis] : std::pair<int64_t, int64_t>{};
}

/// The attributes of one axis.
Status check_axis(const DeconvAttrs& a, size_t axis, int64_t size) {
  const int64_t stride = entry(a.stride, axis, 1), dilation = entry(a.dilation, axis, 1);
  const int64_t more = entry(a.output_padding, axis, 0);
  for (int64_t n : {size, stride, dilation})
    if (n < 1 || n > kMax)
      return invalid(fmt::format("window size {}, stride {} and dilation {} must be at least 1{}", size, stride,
                                 dilation, n < 1 ? "" : ", at most 2^32"));
  if (more < 0 || more >= std::max(stride, dilation))
    return invalid(fmt::format("output_padding {} is not below stride {} or dilation {}", more, stride, dilation));
  for (int64_t n : {pads_of(a, axis).first, pads_of(a, axis).second})
    if (n < -kMax || n > kMax) return invalid(fmt::format("padding {} is out of range", n));
  if (!a.output_shape.empty() && a.auto_pad == AutoPad::off)
    return invalid("output_shape needs auto_pad, which says where the padding goes");
  if (entry(a.output_shape, axis, 0) < 0 || entry(a.output_shape, axis, 0) > kMax)
    return invalid(fmt::format("output_shape asks for {} elements", entry(a.output_shape, axis, 0)));
  return {};
}

}  // namespace

Result<AxisWindow> reverse_window_of(const DeconvAttrs& a, size_t axis, int64_t input, int64_t size) {
  NNEX_TRY(check_axis(a, axis, size));
  AxisWindow w{size, entry(a.stride, axis, 1), entry(a.dilation, axis, 1), 0, 0, input, 0};
  const auto span = checked_mul(size - 1, w.dilation), steps = checked_mul(input - 1, w.stride);
  if (!span || !steps || *span > kMaxSpan || *steps > kMaxSpan)
    return invalid(fmt::format("{} elements at stride {} are too many", input, w.stride));
  const int64_t whole = w.reach_of(input) + entry(a.output_padding, axis, 0);
  if (a.auto_pad == AutoPad::off) {
    std::tie(w.before, w.after) = pads_of(a, axis);
    w.output = whole - w.before - w.after;
    if (input == 0) w.output = std::max<int64_t>(w.output, 0);
    if (w.output < 0 || (w.output == 0 && input > 0))
      return invalid(fmt::format("{} elements padded by ({}, {}) leave nothing", whole, w.before, w.after));
    return w;
  }
  w.output = a.output_shape.empty() ? *steps + w.stride : entry(a.output_shape, axis, 0);
  const int64_t total = std::max<int64_t>(whole - w.output, 0);  // a lack is output padding
  w.before = a.auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
  w.after = total - w.before;
  return w;
}

Result<Dim> reverse_extent(const DeconvAttrs& a, size_t axis, const Dim& input, int64_t size) {
  NNEX_TRY(check_axis(a, axis, size));
  const int64_t stride = entry(a.stride, axis, 1), reach = window_reach(size, entry(a.dilation, axis, 1));
  const auto [before, after] = pads_of(a, axis);
  if (!a.output_shape.empty()) return Dim(entry(a.output_shape, axis, 0));
  if (a.auto_pad != AutoPad::off) return input * Dim(stride);
  return input * Dim(stride) + Dim(reach - stride - before - after + entry(a.output_padding, axis, 0));
}

Shape channels_first(const Shape& shape, bool channels_last) {
  if (!channels_last || shape.rank() < 3) return shape;
  std::vector<int64_t> first = {shape[0], shape[shape.rank() - 1]};
  for (int64_t i = 1; i + 1 < shape.rank(); ++i) first.push_back(shape[i]);
  return Shape(first);
}

Result<std::vector<AxisWindow>> reverse_windows(const DeconvAttrs& a, const Shape& x, const Shape& filter) {
  std::vector<AxisWindow> windows;
  for (int64_t i = 2; i < x.rank(); ++i) {
    NNEX_ASSIGN(AxisWindow w, reverse_window_of(a, static_cast<size_t>(i - 2), x[i], filter[i]));
    windows.push_back(w);
  }
  return windows;
}

namespace {

Status check_lists(InferCall& c, const DeconvAttrs& a, size_t spatial) {
  for (const auto& [list, what] : {std::pair{&a.stride, "stride"},
                                   {&a.dilation, "dilation"},
                                   {&a.output_padding, "output_padding"},
                                   {&a.output_shape, "output_shape"}})
    if (!list->empty() && list->size() != spatial)
      return c.error("{} has {} numbers; x has {} spatial axes", what, list->size(), spatial);
  if (!a.padding.empty() && a.padding.size() != spatial)
    return c.error("padding has {} pairs; x has {} spatial axes", a.padding.size(), spatial);
  return {};
}

Result<MaybeDims> deconv_dims(InferCall& c, const DeconvAttrs& a, const MaybeDims& x_dims, const MaybeDims& filter,
                              const MaybeDims& bias) {
  if (!x_dims || !filter) {
    if (!x_dims && !filter) return MaybeDims{};
    return MaybeDims(c.unknowns(static_cast<int64_t>((x_dims ? x_dims : filter)->size())));
  }
  const Dims& w = *filter;
  Dims x = *x_dims;
  if (x.size() < 3 || x.size() != w.size())
    return c.error("x has {} axes, filter {}; needed the same number, at least 3", x.size(), w.size());
  if (a.channels_last) std::rotate(x.begin() + 1, x.end() - 1, x.end());
  const size_t spatial = x.size() - 2;
  NNEX_TRY(check_lists(c, a, spatial));
  if (a.groups < 1 || a.groups > kMax) return c.error("groups is {}", a.groups);
  NNEX_TRY(meet(c, x[1], w[0], "channels of x and filters"));
  if (w[0].is_number() && w[0].value() % a.groups)
    return c.error("{} filters cannot be split into {} groups", w[0].value(), a.groups);
  Dims out = {x[0], w[1] * Dim(a.groups)};
  if (bias) NNEX_TRY(meet(c, product(*bias), out[1], "elements of bias"));
  for (size_t i = 0; i < spatial; ++i) {
    const Dim &d = x[2 + i], &size = w[2 + i];
    if (!size.is_number()) {
      out.push_back(a.output_shape.empty() ? c.unknown() : Dim(a.output_shape[i]));
      continue;
    }
    auto extent = reverse_extent(a, i, d, size.value());
    if (extent.ok() && d.is_number()) {
      auto window = reverse_window_of(a, i, d.value(), size.value());
      extent = window.ok() ? Result<Dim>(Dim(window->output)) : Result<Dim>(std::move(window).error());
    }
    if (!extent.ok()) return c.error("spatial axis {}: {}", i, extent.error().message());
    out.push_back(*extent);
  }
  if (a.channels_last) std::rotate(out.begin() + 1, out.begin() + 2, out.end());
  return MaybeDims(std::move(out));
}

Status infer_deconv(InferCall& c) {
  NNEX_ASSIGN(MaybeDims out, deconv_dims(c, c.attr<DeconvAttrs>(), c.dims(0), c.dims(1), dims_if(c, 2)));
  c.result(0, std::move(out));
  return {};
}

/// What one place of the large side reads: tap `tap` of the filter meets position `at` of the small side.
struct Meeting {
  int64_t tap, at;
};

/// The meetings of every place along one axis, place o's being [begin[o], begin[o + 1]).
struct AxisMeetings {
  std::vector<Meeting> all;
  std::vector<size_t> begin;
};

AxisMeetings meetings_of(const AxisWindow& w, ConvBorder border) {
  AxisMeetings m;
  for (int64_t o = 0; o < w.output; ++o) {
    m.begin.push_back(m.all.size());
    for (int64_t k = 0; k < w.size; ++k) {
      const int64_t from = o + w.before - k * w.dilation;
      if (floor_div(from, w.stride) * w.stride != from) continue;
      const int64_t at = border_index(floor_div(from, w.stride), w.input, border);
      if (at >= 0) m.all.push_back({k, at});
    }
  }
  m.begin.push_back(m.all.size());
  return m;
}

using Offsets = std::vector<std::pair<int64_t, int64_t>>;  ///< In x and in the filter.

/// The meetings of place p: those of its axes, combined.
void collect(const std::vector<AxisMeetings>& axes, const std::vector<AxisWindow>& windows, int64_t p, const Ints& xst,
             const Ints& wst, Offsets& meetings) {
  meetings.assign(1, {0, 0});
  for (size_t i = axes.size(); i-- > 0; p /= windows[i].output) {
    const auto o = static_cast<size_t>(p % windows[i].output);
    const size_t before = meetings.size();
    for (size_t k = axes[i].begin[o]; k < axes[i].begin[o + 1]; ++k)
      for (size_t j = 0; j < before; ++j)
        meetings.emplace_back(meetings[j].first + axes[i].all[k].at * xst[2 + i],
                              meetings[j].second + axes[i].all[k].tap * wst[2 + i]);
    meetings.erase(meetings.begin(), meetings.begin() + static_cast<std::ptrdiff_t>(before));
  }
}

/// y[m, o] = bias[m] + the sum over channels, then meetings, of x * filter: one chain a result.
template <class T>
Status spread(const DeconvAttrs& a, const Shape& x_shape, const Shape& ws, const T* x, const T* filter, const T* bias,
              T* y) {
  const Shape xs = channels_first(x_shape, a.channels_last);
  NNEX_ASSIGN(std::vector<AxisWindow> windows, reverse_windows(a, xs, ws));
  std::vector<AxisMeetings> axes;
  int64_t places = 1;
  for (const AxisWindow& w : windows) {
    axes.push_back(meetings_of(w, a.border));
    places *= w.output;
  }
  const Ints wst = row_major_strides(ws);
  Ints xst = row_major_strides(x_shape);
  if (a.channels_last) std::rotate(xst.begin() + 1, xst.end() - 1, xst.end());
  const int64_t taken = xs[1] / a.groups, made = ws[1], channels = made * a.groups;
  Offsets meetings;
  for (int64_t p = 0; p < places; ++p) {
    collect(axes, windows, p, xst, wst, meetings);
    for (int64_t n = 0; n < xs[0]; ++n)
      for (int64_t m = 0; m < channels; ++m) {
        T sum = bias ? bias[m] : T{};
        const int64_t first = m / made * taken;
        const T* from = x + n * xst[0] + first * xst[1];
        const T* w = filter + first * wst[0] + m % made * wst[1];
        for (int64_t k = 0; k < taken; ++k, from += xst[1], w += wst[0])
          for (const auto& [at, tap] : meetings) sum += from[at] * w[tap];
        y[a.channels_last ? (n * places + p) * channels + m : (n * channels + m) * places + p] = sum;
      }
  }
  return {};
}

struct Deconv {
  template <class T>
  Status operator()(Call& c) const {
    if (c.out(0).count() == 0) return {};
    return spread(c.attr<DeconvAttrs>(), c.shape(0), c.shape(1), c.in<T>(0).data(), c.in<T>(1).data(),
                  c.has(2) ? c.in<T>(2).data() : nullptr, c.out<T>(0).data());
  }
};

// ---- separable_deconv: a deconvolution of one tap over all channels, then one of each channel by itself

DeconvAttrs point_attrs(const DeconvAttrs& a) {
  DeconvAttrs point;
  point.groups = a.groups;
  return point;
}
DeconvAttrs plane_attrs(const DeconvAttrs& a, int64_t channels) {
  DeconvAttrs plane = a;
  plane.groups = channels;
  return plane;
}

Status infer_separable_deconv(InferCall& c) {
  const auto& a = c.attr<DeconvAttrs>();
  const MaybeDims &plane = c.dims(1), &point = c.dims(2);
  if (a.channels_last) return c.error("channels must come before the spatial axes");
  if (point)
    for (size_t i = 2; i < point->size(); ++i)
      if ((*point)[i].is_number() && (*point)[i].value() != 1)
        return c.error("point_filter has extent {} at axis {}; needed 1", (*point)[i].value(), i);
  if (plane && plane->size() > 1 && (*plane)[1].is_number() && (*plane)[1].value() != 1)
    return c.error("plane_filter makes {} channels of each; needed 1", (*plane)[1].value());
  NNEX_ASSIGN(MaybeDims middle, deconv_dims(c, point_attrs(a), c.dims(0), point, {}));
  const bool known = plane && !plane->empty() && plane->front().is_number();
  const int64_t channels = known ? plane->front().value() : 1;
  NNEX_ASSIGN(MaybeDims out, deconv_dims(c, plane_attrs(a, std::max<int64_t>(channels, 1)), middle, plane,
                                         known ? dims_if(c, 3) : MaybeDims{}));
  if (!known && out) (*out)[1] = c.unknown();
  c.result(0, std::move(out));
  return {};
}

struct SeparableDeconv {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<DeconvAttrs>();
    if (c.out(0).count() == 0) return {};
    Shape shape = c.shape(0);
    shape.set(1, c.shape(2)[1] * a.groups);
    NNEX_ASSIGN(Tensor middle, Tensor::make(c.in(0).dtype(), shape));
    NNEX_TRY(spread<T>(point_attrs(a), c.shape(0), c.shape(2), c.in<T>(0).data(), c.in<T>(2).data(), nullptr,
                       middle.mutable_as<T>().data()));
    return spread<T>(plane_attrs(a, c.shape(1)[0]), shape, c.shape(1), middle.as<T>().data(), c.in<T>(1).data(),
                     c.has(3) ? c.in<T>(3).data() : nullptr, c.out<T>(0).data());
  }
};

constexpr AttrType kDeconvAttrs = attrs_of<DeconvAttrs>(
    {field<&DeconvAttrs::stride>("stride", "Elements of y between windows, one a spatial axis; empty: 1."),
     field<&DeconvAttrs::dilation>("dilation", "Elements of y between taps; empty: 1."),
     field<&DeconvAttrs::padding>("padding", "(before, after) cut from each spatial axis; empty: 0."),
     field<&DeconvAttrs::auto_pad>("auto_pad", "Padding that gives extent * stride, or output_shape."),
     field<&DeconvAttrs::groups>("groups", "Channel groups."),
     field<&DeconvAttrs::output_padding>("output_padding", "More elements at the end of each spatial axis."),
     field<&DeconvAttrs::output_shape>("output_shape", "Spatial extents of y; with auto_pad only."),
     field<&DeconvAttrs::border>("border", "What lies beyond x."),
     field<&DeconvAttrs::channels_last>("channels_last", "x and y are [batch, spatial..., channels]; set by passes.")});

constexpr OpRow kDeconvOps[] = {
    {.name = "deconv",
     .summary = "The transpose of a convolution: every element of x adds its multiple of the filter to y.",
     .source = "NNEF 1.0.5 deconv; ONNX ConvTranspose-22; WebNN convTranspose2d()",
     .inputs = {{"x", kF},
                {.name = "filter", .type = same_type_as("x"), .doc = "[in, out / groups, spatial...]"},
                {"bias", same_type_as("x"), Arity::optional}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = kDeconvAttrs,
     .infer = infer_deconv,
     .reference = typed<float, double>(Deconv{}),
     .spelled =
         {{nnef, "deconv", {{"border", "border", &nnef_border}}},
          {onnx,
           "ConvTranspose",
           {{"stride", "strides"}, {"dilation", "dilations"}, {"padding", "pads", &begins_ends}, {"groups", "group"}}},
          {webnn,
           "convTranspose2d",
           {{"stride", "strides"},
            {"dilation", "dilations"},
            {"padding", "padding", &interleaved},
            {"output_padding", "outputPadding"}}}},
     .layout = LayoutRole::channels,
     .work = Work::deconv},
    {.name = "separable_deconv",
     .summary = "A deconvolution of a single tap over all channels, then one of each channel by itself.",
     .source = "NNEF 1.0.5 separable_deconv",
     .inputs = {{"x", kF},
                {.name = "plane_filter", .type = same_type_as("x"), .doc = "[channels, 1, spatial...]"},
                {.name = "point_filter", .type = same_type_as("x"), .doc = "[in, channels / groups, 1...]"},
                {"bias", same_type_as("x"), Arity::optional}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = kDeconvAttrs,
     .infer = infer_separable_deconv,
     .reference = typed<float, double>(SeparableDeconv{}),
     .spelled = {{nnef, "separable_deconv", {{"border", "border", &nnef_border}}}},
     .work = Work::separable},
};
}  // namespace

std::span<const OpDef> deconv_ops() { return stored<kDeconvOps>(); }

}  // namespace nnex
