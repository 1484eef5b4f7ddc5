// Rows that move elements.

#include <algorithm>

#include "nnex/elements.h"
#include "ops/join.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "ops/strided.h"
#include "standards/c/write_step.h"

namespace nnex::c_format {
namespace {

/// out[...] = in[...] over extents, each side by its own steps.
void copy_elements(StepWriter& w, const Shape& extents, Access from, Access to) {
  if (extents.count() == 0) return;
  Nest(extents, {std::move(to), std::move(from)}).write(w.body(), [&](const auto& at) {
    w.body().line("{} = {};", at[0], at[1]);
  });
}

void write_transpose(StepWriter& w) {
  Ints axes = w.attr<TransposeAttrs>().axes;
  const Shape x = w.x(), y = w.y();
  if (axes.empty())
    for (int64_t i = x.rank(); i-- > 0;) axes.push_back(i);
  const Ints dense = row_major_strides(x);
  Ints steps;
  for (const int64_t axis : axes) steps.push_back(dense[static_cast<size_t>(from_front(axis, x.rank()))]);
  copy_elements(w, y, {w.in(), steps}, {w.out(), row_major_strides(y)});
}

/// Items side by side along an axis, each an [outer, extent * inner] matrix.
void write_concat(StepWriter& w) {
  const Shape y = w.y();
  const int64_t axis = from_front(w.attr<AxisAttrs>().axis, y.rank());
  const int64_t outer = count_between(y, 0, axis), row = count_between(y, axis, y.rank());
  int64_t at = 0;
  for (size_t i = 0; i < w.node().in.size(); ++i) {
    const int64_t part = count_between(w.x(i), axis, y.rank());
    if (part == 0) continue;
    copy_elements(w, {outer, part}, {w.in(i), {part, 1}}, {w.out(), {row, 1}, at});
    at += part;
  }
}

void write_stack(StepWriter& w) {
  const Shape y = w.y();
  const int64_t axis = from_front(w.attr<AxisAttrs>().axis, y.rank()), n = y[axis];
  const int64_t outer = count_between(y, 0, axis), inner = count_between(y, axis + 1, y.rank());
  for (int64_t i = 0; i < n; ++i)
    copy_elements(w, {outer, inner}, {w.in(static_cast<size_t>(i)), {inner, 1}}, {w.out(), {n * inner, 1}, i * inner});
}

void write_unstack(StepWriter& w) {
  const Shape x = w.x();
  const int64_t axis = from_front(w.attr<AxisAttrs>().axis, x.rank()), n = x[axis];
  const int64_t outer = count_between(x, 0, axis), inner = count_between(x, axis + 1, x.rank());
  for (int64_t i = 0; i < n; ++i)
    if (const auto o = static_cast<size_t>(i); w.wants(o))
      copy_elements(w, {outer, inner}, {w.in(), {n * inner, 1}, i * inner}, {w.out(o), {inner, 1}});
}

void write_split(StepWriter& w) {
  const Shape x = w.x();
  const auto& a = w.attr<SplitAttrs>();
  const int64_t axis = from_front(a.axis, x.rank()), outer = count_between(x, 0, axis);
  const int64_t inner = count_between(x, axis + 1, x.rank()), row = x[axis] * inner, n = std::ssize(w.node().out);
  const Ints sizes = w.numbers(1);
  int64_t ratios = 0, at = 0;
  for (const int64_t r : a.ratios) ratios += r;
  for (int64_t i = 0; i < n; ++i) {
    const auto o = static_cast<size_t>(i);
    const int64_t each = (x[axis] + n - 1) / n;
    const int64_t extent = o < sizes.size() ? sizes[o]
                           : ratios         ? x[axis] / ratios * a.ratios[o]
                                            : std::clamp<int64_t>(x[axis] - i * each, 0, each);
    if (w.wants(o) && extent > 0)
      copy_elements(w, {outer, extent * inner}, {w.in(), {row, 1}, at}, {w.out(o), {extent * inner, 1}});
    at += extent * inner;
  }
}

void write_expand(StepWriter& w) {
  const Shape y = w.y();
  copy_elements(w, y, {w.in(), broadcast_steps(w.x(), y)}, {w.out(), row_major_strides(y)});
}

void write_tile(StepWriter& w) {
  const Shape x = w.x();
  const Ints repeats = w.numbers(1), dense = row_major_strides(x);
  std::vector<int64_t> extents;
  Ints steps;
  for (int64_t i = 0; i < x.rank() && static_cast<size_t>(i) < repeats.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    extents.insert(extents.end(), {repeats[at], x[i]});
    steps.insert(steps.end(), {0, dense[at]});
  }
  const Shape all(extents);
  copy_elements(w, all, {w.in(), steps}, {w.out(), row_major_strides(all)});
}

void write_repeat(StepWriter& w) {
  const Shape x = w.x();
  const auto& a = w.attr<RepeatAttrs>();
  const int64_t axis = from_front(a.axis, x.rank()), inner = count_between(x, axis + 1, x.rank());
  const Shape all{count_between(x, 0, axis + 1), a.repeats, inner};
  copy_elements(w, all, {w.in(), {inner, 0, 1}}, {w.out(), row_major_strides(all)});
}

void write_slice(StepWriter& w) {
  const Shape x = w.x(), y = w.y();
  const Ints begin = w.numbers(1), end = w.numbers(2), axes = w.numbers(3), strides = w.numbers(4);
  if (w.refused()) return;
  Ints steps = row_major_strides(x);
  int64_t offset = 0;
  for (size_t i = 0; i < begin.size(); ++i) {
    const int64_t axis = axes.empty() ? static_cast<int64_t>(i) : from_front(axes[i], x.rank());
    const int64_t stride = i < strides.size() ? strides[i] : 1;
    int64_t& step = steps[static_cast<size_t>(axis)];
    offset += slice_range(x[axis], begin[i], end[i], stride).first * step;
    step *= stride;
  }
  copy_elements(w, y, {w.in(), steps, offset}, {w.out(), row_major_strides(y)});
}

/// The list of axes of a row whose attributes no header declares; none: all.
Ints reversed_axes(const StepWriter& w) {
  const AttrValue value = w.get("axes");
  if (const auto* axes = std::get_if<Ints>(&value)) return *axes;
  Ints all;
  for (int64_t i = 0; i < w.x().rank(); ++i) all.push_back(i);
  return all;
}

void write_reverse(StepWriter& w) {
  const Shape x = w.x();
  Ints steps = row_major_strides(x);
  int64_t offset = 0;
  for (const int64_t named : reversed_axes(w)) {
    const int64_t axis = from_front(named, x.rank());
    int64_t& step = steps[static_cast<size_t>(axis)];
    offset += (x[axis] - 1) * step;
    step = -step;
  }
  copy_elements(w, x, {w.in(), steps, offset}, {w.out(), row_major_strides(x)});
}

void write_depth_to_space(StepWriter& w) {
  const Shape x = w.x();
  if (x.rank() != 4) return w.refuse(fmt::format("depth_to_space: x has {} axes; needed 4", x.rank()));
  const auto& a = w.attr<DepthToSpaceAttrs>();
  const int64_t b = a.block, c = x[1] / (b * b), h = x[2], v = x[3], plane = h * v;
  // y is [n, c, h, block row, v, block column].
  const Shape all{x[0], c, h, b, v, b};
  const bool blocks_first = a.order == DepthOrder::dcr;
  copy_elements(w, all,
                {w.in(),
                 {x[1] * plane, blocks_first ? plane : b * b * plane, v, blocks_first ? b * c * plane : b * plane, 1,
                  blocks_first ? c * plane : plane}},
                {w.out(), row_major_strides(all)});
}

void write_space_to_depth(StepWriter& w) {
  const Shape x = w.x();
  if (x.rank() != 4) return w.refuse(fmt::format("space_to_depth: x has {} axes; needed 4", x.rank()));
  const int64_t b = w.attr<SpaceToDepthAttrs>().block, c = x[1], h = x[2] / b, v = x[3] / b;
  // y is [n, block row, block column, c, h, v].
  const Shape all{x[0], b, b, c, h, v};
  copy_elements(w, all, {w.in(), {c * x[2] * x[3], x[3], 1, x[2] * x[3], b * x[3], b}},
                {w.out(), row_major_strides(all)});
}

// ---- Pads

std::string_view border_function(PadBorder border) {
  switch (border) {
    case PadBorder::replicate:
      return "replicate";
    case PadBorder::reflect:
      return "reflect";
    case PadBorder::reflect_even:
      return "reflect_even";
    default:
      return "wrap";
  }
}

/// Each place of y reads one of x that its axes' border names.
void pad_by_border(StepWriter& w, const Ints& before, PadBorder border) {
  const Shape x = w.x(), y = w.y();
  const Ints dense = row_major_strides(x), to = row_major_strides(y);
  const std::string place = w.need(border_function(border));
  std::string from, at;
  const std::string in = w.in(), out = w.out();
  for (int64_t i = 0; i < y.rank(); ++i) {
    const auto a = static_cast<size_t>(i);
    w.body().open("for (long i{0} = 0; i{0} < {1}; ++i{0})", i, y[i]);
    if (x[i] != y[i] || before[a] != 0)
      from += fmt::format("{}{}(i{} - {}, {}) * {}", from.empty() ? "" : " + ", place, i, before[a], x[i], dense[a]);
    else
      from += fmt::format("{}i{} * {}", from.empty() ? "" : " + ", i, dense[a]);
    at += fmt::format("{}i{} * {}", at.empty() ? "" : " + ", i, to[a]);
  }
  w.body().line("{}[{}] = {}[{}];", out, at.empty() ? "0" : at, in, from.empty() ? "0" : from);
  for (int64_t i = 0; i < y.rank(); ++i) w.body().close();
}

void write_pad(StepWriter& w) {
  const Shape x = w.x(), y = w.y();
  const Ints padding = w.numbers(1), named = w.numbers(3);
  if (w.refused()) return;
  Ints before(static_cast<size_t>(x.rank()), 0);
  const size_t n = padding.size() / 2;
  for (size_t i = 0; i < n; ++i)
    before[static_cast<size_t>(named.empty() ? static_cast<int64_t>(i) : from_front(named[i], x.rank()))] = padding[i];
  const PadBorder border = w.attr<PadAttrs>().border;
  if (border != PadBorder::constant) return pad_by_border(w, before, border);
  const Ints from = row_major_strides(x), to = row_major_strides(y);
  std::vector<int64_t> inside;
  int64_t from_at = 0, to_at = 0;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const auto a = static_cast<size_t>(i);
    const int64_t first = std::max<int64_t>(before[a], 0), skipped = std::max<int64_t>(-before[a], 0);
    inside.push_back(std::max<int64_t>(std::min(x[i] - skipped, y[i] - first), 0));
    from_at += skipped * from[a], to_at += first * to[a];
  }
  const std::string in = w.in(), out = w.out();
  if (!(Shape(inside) == y))
    w.body().line("for (long i = 0; i < {}; ++i) {}[i] = {};", y.count(), out, w.given(2) ? w.in(2) + "[0]" : "0");
  copy_elements(w, Shape(inside), {in, from, from_at}, {out, to, to_at});
}

void write_constant(StepWriter& w) {
  const Tensor& value = w.attr<ConstantOfShapeAttrs>().value;
  w.body().line("for (long i = 0; i < {}; ++i) {}[i] = {};", w.y().count(), w.out(), literal(value, 0));
}

void write_trilu(StepWriter& w) {
  const Shape x = w.x();
  const bool upper = std::get<bool>(w.get("upper"));
  const Ints diagonal = w.numbers(1);
  if (w.refused()) return;
  const int64_t columns = x[x.rank() - 1], rows = x[x.rank() - 2], k = diagonal.empty() ? 0 : diagonal[0];
  const std::string in = w.in(), out = w.out();
  w.body().open("for (long n = 0; n < {}; ++n)", count_between(x, 0, x.rank() - 2));
  w.body().open("for (long i = 0; i < {}; ++i)", rows);
  w.body().open("for (long j = 0; j < {}; ++j)", columns);
  const std::string at = fmt::format("(n * {} + i) * {} + j", rows, columns);
  w.body().line("{0}[{1}] = j - i {2} {3} ? {4}[{1}] : 0;", out, at, upper ? ">=" : "<=", k, in);
  for (int i = 0; i < 3; ++i) w.body().close();
}

bool keeps_expanded(const StepWriter& w) { return w.x().count() == w.y().count(); }

bool keeps_sliced(const StepWriter& w) {
  if (!(w.x() == w.y())) return false;
  if (!w.given(4)) return true;
  const Tensor* stride = w.constant(4);
  const Ints strides = stride ? ints_of(*stride) : Ints{-1};
  return std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s > 0; });
}

/// Axes of more than one element stay in their order.
bool keeps_transposed(const StepWriter& w) {
  const Shape x = w.x();
  Ints axes = w.attr<TransposeAttrs>().axes;
  if (axes.empty())
    for (int64_t i = x.rank(); i-- > 0;) axes.push_back(i);
  int64_t last = -1;
  for (const int64_t named : axes) {
    const int64_t axis = from_front(named, x.rank());
    if (x[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

constexpr RowEntry kMovingRows[] = {
    {"transpose", write_transpose, keeps_transposed},
    {"concat", write_concat},
    {"stack", write_stack},
    {"unstack", write_unstack},
    {"split", write_split},
    {"expand", write_expand, keeps_expanded},
    {"tile", write_tile},
    {"repeat", write_repeat},
    {"slice", write_slice, keeps_sliced},
    {"reverse", write_reverse},
    {"depth_to_space", write_depth_to_space},
    {"space_to_depth", write_space_to_depth},
    {"pad", write_pad},
    {"trilu", write_trilu},
    {"constant_of_shape", write_constant},
};

}  // namespace

std::span<const RowEntry> moving_rows() { return kMovingRows; }

}  // namespace nnex::c_format
