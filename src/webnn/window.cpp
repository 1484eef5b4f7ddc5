// Convolutions and pools over the two spatial axes.

#include "ops/window.h"
#include "base/joined.h"

#include <algorithm>
#include <array>

#include "base/try.h"
#include "ops/deconv.h"
#include "ops/pool.h"
#include "webnn/rules.h"

namespace nnex::ml {
namespace {

/// A layout: where each axis of the engine's order stands in it.
struct Layout {
  std::string_view word;
  std::array<int64_t, 4> axes;
};

/// Batch, channels, height, width.
constexpr Layout kImages[] = {{"nchw", {0, 1, 2, 3}}, {"nhwc", {0, 3, 1, 2}}};
/// Output channels, input channels, height, width.
constexpr Layout kFilters[] = {
    {"oihw", {0, 1, 2, 3}}, {"hwio", {3, 2, 0, 1}}, {"ohwi", {0, 3, 1, 2}}, {"ihwo", {3, 0, 1, 2}}};
/// Input channels, output channels, height, width.
constexpr Layout kTransposedFilters[] = {{"iohw", {0, 1, 2, 3}}, {"hwoi", {3, 2, 0, 1}}, {"ohwi", {3, 0, 1, 2}}};

template <size_t N>
Ints axes_of(const Layout (&layouts)[N], std::string_view word) {
  for (const Layout& l : layouts)
    if (l.word == word) return Ints(l.axes.begin(), l.axes.end());
  NNEX_ASSERT(false && "the words of an enumeration are its layouts");
  return {};
}

/// The extents in the engine's order.
Ints in_order(const Ints& shape, const Ints& axes) {
  Ints out;
  for (int64_t axis : axes) out.push_back(shape[static_cast<size_t>(axis)]);
  return out;
}

/// Extents of the engine's order put back where the layout has them.
Ints put_back(const Ints& ordered, const Ints& axes) {
  Ints out(ordered.size());
  for (size_t i = 0; i < axes.size(); ++i) out[static_cast<size_t>(axes[i])] = ordered[i];
  return out;
}

Ints inverse(const Ints& axes) {
  Ints order(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) order[i] = static_cast<int64_t>(i);
  return put_back(order, axes);
}

/// What the options say about both spatial axes.
struct Windows {
  Ints size, stride, dilation, padding;  ///< padding: before and after height, before and after width.

  /// Elements from the first tap to the last.
  int64_t reach(size_t axis) const { return window_reach(size[axis], dilation[axis]); }
  int64_t padded(size_t axis, int64_t extent) const { return extent + padding[2 * axis] + padding[2 * axis + 1]; }
  /// How many windows there are.
  int64_t count(size_t axis, int64_t extent, bool ceil) const {
    return window_count(padded(axis, extent), reach(axis), stride[axis], ceil);
  }
  Pairs pairs() const { return {{padding[0], padding[1]}, {padding[2], padding[3]}}; }
};

Result<Windows> windows_of(const Step& step, Ints size) {
  NNEX_TRY(step.need_count("padding", 4));
  for (std::string_view list : {"strides", "dilations"}) {
    NNEX_TRY(step.need_count(list, 2));
    NNEX_TRY(step.need_positive(list));
  }
  return Windows{std::move(size), step.ints_or("strides", {1, 1}), step.ints_or("dilations", {1, 1}),
                 step.ints_or("padding", {0, 0, 0, 0})};
}

Ints image_axes(const Step& step, std::string_view option) { return axes_of(kImages, step.word(option)); }

}  // namespace

// ---- conv2d

Status conv_rule(Step& step) {
  const Ints x = in_order(step.shape("input"), image_axes(step, "inputLayout"));
  const Ints filter = in_order(step.shape("filter"), axes_of(kFilters, step.word("filterLayout")));
  NNEX_TRY(windows_of(step, {filter[2], filter[3]}));
  const int64_t groups = step.integer("groups");
  if (groups < 1) return step.fail("groups is {}; needed at least 1", groups);
  if (x[1] % groups != 0 || x[1] / groups != filter[1])
    return step.fail("the input has {} channels; the filter takes {} in each of {} groups", x[1], filter[1], groups);
  if (filter[0] % groups != 0)
    return step.fail("the filter gives {} channels; {} groups do not divide them", filter[0], groups);
  return step.need_shape("bias", {filter[0]});
}

void import_conv(Importer& to) {
  const Step& step = to.step();
  const Ints axes = image_axes(step, "inputLayout");
  ConvAttrs attrs;
  attrs.stride = step.ints_or("strides", {1, 1});
  attrs.dilation = step.ints_or("dilations", {1, 1});
  const Ints p = step.ints_or("padding", {0, 0, 0, 0});
  attrs.padding = {{p[0], p[1]}, {p[2], p[3]}};
  attrs.groups = step.integer("groups");
  const ValueId x = to.transposed(to.in("input"), axes);
  const ValueId filter = to.transposed(to.in("filter"), axes_of(kFilters, step.word("filterLayout")));
  to.result(to.transposed(to("conv", {x, filter, to.in("bias")}, attrs), inverse(axes)));
}

// ---- convTranspose2d

namespace {

/// Extent of the sum of all windows less padding, before outputPadding.
int64_t spread(const Windows& w, size_t axis, int64_t extent) {
  return bounded_add(windows_reach(extent, w.stride[axis], w.reach(axis)),
                     -(w.padding[2 * axis] + w.padding[2 * axis + 1]));
}

/// Elements added at the end of both axes: outputPadding, or what outputSizes leaves.
Result<Ints> end_padding(const Step& step, const Windows& w, const Ints& x) {
  NNEX_TRY(step.need_count("outputPadding", 2));
  NNEX_TRY(step.need_count("outputSizes", 2));
  Ints more = step.ints_or("outputPadding", {0, 0});
  for (size_t i : {size_t{0}, size_t{1}}) {
    const int64_t min = spread(w, i, x[2 + i]);
    if (step.given("outputSizes")) more[i] = bounded_add(step.ints("outputSizes")[i], -min);
    if (more[i] >= 0 && more[i] < w.stride[i]) continue;
    if (step.given("outputSizes"))
      return step.fail("outputSizes has {}; needed at least {} and less than {}", step.ints("outputSizes")[i], min,
                       bounded_add(min, w.stride[i]));
    return step.fail("outputPadding has {}; needed less than the stride {}", more[i], w.stride[i]);
  }
  return more;
}

}  // namespace

Status conv_transpose_rule(Step& step) {
  const Ints x = in_order(step.shape("input"), image_axes(step, "inputLayout"));
  const Ints filter = in_order(step.shape("filter"), axes_of(kTransposedFilters, step.word("filterLayout")));
  NNEX_ASSIGN(Windows w, windows_of(step, {filter[2], filter[3]}));
  const int64_t groups = step.integer("groups");
  if (groups < 1) return step.fail("groups is {}; needed at least 1", groups);
  if (x[1] != filter[0]) return step.fail("the input has {} channels; the filter takes {}", x[1], filter[0]);
  NNEX_TRY(step.need_shape("bias", {bounded_mul(filter[1], groups)}));
  NNEX_TRY(end_padding(step, w, x));
  return {};
}

/// Groups that do not divide the channels are legal here and mean nothing: build() refuses them.
void import_conv_transpose(Importer& to) {
  const Step& step = to.step();
  const Ints axes = image_axes(step, "inputLayout"),
             filter_axes = axes_of(kTransposedFilters, step.word("filterLayout"));
  const Ints x_shape = in_order(step.shape("input"), axes), taps = in_order(step.shape("filter"), filter_axes);
  const auto w = windows_of(step, {taps[2], taps[3]});
  const auto more = end_padding(step, *w, x_shape);
  DeconvAttrs attrs;
  attrs.stride = w->stride, attrs.dilation = w->dilation, attrs.padding = w->pairs();
  attrs.groups = step.integer("groups");
  attrs.output_padding = *more;
  Ints out = {x_shape[0], bounded_mul(taps[1], attrs.groups)};
  for (size_t i : {size_t{0}, size_t{1}}) out.push_back(bounded_add(spread(*w, i, x_shape[2 + i]), (*more)[i]));
  if (x_shape[1] % attrs.groups != 0 && *std::min_element(out.begin(), out.end()) > 0) {
    to.result(to.impossible("groups that do not divide the channels", put_back(out, axes)));
    return;
  }
  const ValueId x = to.transposed(to.in("input"), axes), filter = to.transposed(to.in("filter"), filter_axes);
  to.result(to.transposed(to("deconv", {x, filter, to.in("bias")}, attrs), inverse(axes)));
}

// ---- Pools

namespace {

/// The spatial extents: by the rounding, or outputSizes, which must be what one of the two roundings gives. Rounded up,
/// a window longer than the image is one, as long as less than a stride of it is beyond.
Result<Ints> pooled(const Step& step, const Windows& w, const Ints& x) {
  Ints down, up;
  for (size_t i : {size_t{0}, size_t{1}}) {
    down.push_back(w.count(i, x[2 + i], false));
    up.push_back(w.count(i, x[2 + i], true));
  }
  NNEX_TRY(step.need_count("outputSizes", 2));
  const bool given = step.given("outputSizes");
  const Ints made = given ? step.ints("outputSizes") : step.word("outputShapeRounding") == "floor" ? down : up;
  for (size_t i : {size_t{0}, size_t{1}})
    if ((given ? up : made)[i] < 1)
      return step.fail("a window of {} elements does not fit the {} of the padded input", w.reach(i),
                       w.padded(i, x[2 + i]));
  if (made != down && made != up)
    return step.fail("outputSizes is [{}]; needed [{}] or [{}]", joined(made, ","), joined(down, ","), joined(up, ","));
  for (size_t i : {size_t{0}, size_t{1}})
    if (made[i] < 1) return step.fail("outputSizes is [{}]; needed 1 or more", joined(made, ","));
  return made;
}

/// windowDimensions, which are the whole image where they are absent.
Result<Windows> pool_windows(const Step& step, const Ints& x) {
  NNEX_TRY(step.need_count("windowDimensions", 2));
  NNEX_TRY(step.need_positive("windowDimensions"));
  return windows_of(step, step.ints_or("windowDimensions", {x[2], x[3]}));
}

}  // namespace

Status pool_rule(Step& step) {
  const Ints x = in_order(step.shape("input"), image_axes(step, "layout"));
  NNEX_ASSIGN(Windows w, pool_windows(step, x));
  NNEX_TRY(pooled(step, w, x));
  return {};
}

/// Extents beyond the rounding down are made by more padding after: cells of padding never count.
void import_pool(Importer& to) {
  const Step& step = to.step();
  const Ints axes = image_axes(step, "layout");
  const Ints x_shape = in_order(step.shape("input"), axes);
  const auto w = pool_windows(step, x_shape);
  const auto spatial = pooled(step, *w, x_shape);
  PoolAttrs attrs;
  attrs.size = {1, 1, w->size[0], w->size[1]};
  attrs.stride = {1, 1, w->stride[0], w->stride[1]};
  attrs.dilation = {1, 1, w->dilation[0], w->dilation[1]};
  attrs.border = PoolBorder::ignore;
  const std::string_view name = step.method().name;
  attrs.divisor = name == "averagePool2d" ? Divisor::inside : Divisor::one;
  attrs.padding = {{0, 0}, {0, 0}};
  for (size_t i : {size_t{0}, size_t{1}}) {
    const int64_t needed = windows_reach((*spatial)[i], w->stride[i], w->reach(i));
    const int64_t overhang = std::max<int64_t>(needed - w->padded(i, x_shape[2 + i]), 0);
    attrs.padding.emplace_back(w->padding[2 * i], w->padding[2 * i + 1] + overhang);
  }
  const Spelled row = find_spelling(Format::webnn, "", name);
  const ValueId y = to(row.op->name, {to.transposed(to.in("input"), axes)}, attrs);
  to.result(to.transposed(y, inverse(axes)));
}

}  // namespace nnex::ml
