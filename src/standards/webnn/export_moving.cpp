// Rows that move elements: shapes, slices, borders, gathers, resampling.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/gather.h"
#include "ops/join.h"
#include "ops/resize.h"
#include "ops/scatter.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "standards/webnn/export.h"
#include "tensor/convert.h"

namespace nnex::ml {
namespace {

size_t from_front(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

std::optional<Ints> ints(const RowNode& w, size_t port) {
  const nnex::Tensor* t = w.constant(port);
  return t && is_int(t->dtype()) ? std::optional(ints_of(*t)) : std::nullopt;
}

// ---- Shapes

void reshape(RowNode& w) { w.give(w.to.reshaped(w.in(0), w.y())); }

void expand(RowNode& w) {
  const Ref x = w.in(0);
  if (w.to.failed()) return;
  if (w.x() == w.y()) return w.give(x);
  w.give(w.to.call("expand", {{"input", x}, {"newShape", AttrValue(w.y())}}));
}

void transpose(RowNode& w) {
  Ints axes = w.attr<TransposeAttrs>().axes;
  if (axes.empty())
    for (auto i = static_cast<int64_t>(w.x().size()); i-- > 0;) axes.push_back(i);
  w.give(w.to.transposed(w.in(0), axes));
}

void depth_to_space(RowNode& w) {
  const auto& a = w.attr<DepthToSpaceAttrs>();
  const Ints x = w.x();
  if (x.size() != 4) return w.refuse("depth_to_space: needed 4 axes");
  const int64_t b = a.block, c = x[1] / (b * b);
  const bool dcr = a.order == DepthOrder::dcr;
  const Ints apart = dcr ? Ints{x[0], b, b, c, x[2], x[3]} : Ints{x[0], c, b, b, x[2], x[3]};
  const Ref six = w.to.reshaped(w.in(0), apart);
  w.give(w.to.reshaped(w.to.transposed(six, dcr ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3}), w.y()));
}

void space_to_depth(RowNode& w) {
  const int64_t b = w.attr<SpaceToDepthAttrs>().block;
  const Ints x = w.x();
  if (x.size() != 4) return w.refuse("space_to_depth: needed 4 axes");
  const Ref six = w.to.reshaped(w.in(0), {x[0], x[1], x[2] / b, b, x[3] / b, b});
  w.give(w.to.reshaped(w.to.transposed(six, {0, 3, 5, 1, 2, 4}), w.y()));
}

// ---- Joining and cutting

void concat(RowNode& w) {
  w.set("axis", static_cast<int64_t>(from_front(w.attr<AxisAttrs>().axis, w.y().size())));
  plain_row(w);
}

void stack(RowNode& w) {
  Ints one = w.y();
  const size_t axis = from_front(w.attr<AxisAttrs>().axis, one.size());
  one[axis] = 1;
  std::vector<Ref> all;
  for (size_t i = 0; i < w.node.in.size(); ++i) all.push_back(w.to.reshaped(w.in(i), one));
  w.give(w.to.call("concat", {{"inputs", std::move(all)}, {"axis", AttrValue(static_cast<int64_t>(axis))}}));
}

/// Parts by what their results say; a part that nobody named is not cut out.
void split(RowNode& w) {
  const Ints x = w.x();
  const size_t axis = from_front(w.attr<SplitAttrs>().axis, x.size());
  Ints sizes = ints(w, 1).value_or(Ints{});
  if (sizes.empty())
    for (ValueId v : w.node.out) {
      if (!v.valid()) return w.refuse("split: a part that nobody named");
      sizes.push_back(w.to.extents(v)[axis]);
    }
  if (sizes.size() != w.node.out.size() || std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
    return w.refuse("split: a part without elements");
  const auto parts = w.to.calls(
      "split", {{"input", w.in(0)}, {"splits", AttrValue(sizes)}, {"axis", AttrValue(static_cast<int64_t>(axis))}});
  for (size_t i = 0; i < parts.size(); ++i) w.to.give(w.node.out[i], parts[i]);
}

void unstack(RowNode& w) {
  const Ints x = w.x();
  const size_t axis = from_front(w.attr<AxisAttrs>().axis, x.size());
  for (size_t i = 0; i < w.node.out.size(); ++i) {
    if (!w.node.out[i].valid()) continue;
    const Ref part = w.to.sliced(w.in(0), axis, static_cast<int64_t>(i), 1);
    w.to.give(w.node.out[i], w.to.reshaped(part, w.y(i)));
  }
}

/// Steps backwards are steps forward, then reversed.
void slice(RowNode& w) {
  const Ints x = w.x();
  const auto begin = ints(w, 1), end = ints(w, 2);
  auto axes = w.given(3) ? ints(w, 3) : std::optional(Ints{}), steps = w.given(4) ? ints(w, 4) : std::optional(Ints{});
  if (!begin || !end || !axes || !steps) return w.refuse("slice: its limits are computed; WebNN needs numbers");
  if (!w.given(3)) {
    axes->resize(begin->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!w.given(4)) steps->assign(begin->size(), 1);
  Ints starts(x.size()), sizes = x, strides(x.size(), 1), reversed;
  for (size_t i = 0; i < axes->size(); ++i) {
    const size_t axis = from_front((*axes)[i], x.size());
    const int64_t step = (*steps)[i];
    const auto [first, count] = slice_range(x[axis], (*begin)[i], (*end)[i], step);
    if (count < 1) return w.refuse("slice: a result without elements");
    const int64_t stride = step < 0 ? -step : step;
    starts[axis] = step < 0 ? first - (count - 1) * stride : first;
    sizes[axis] = (count - 1) * stride + 1;
    strides[axis] = stride;
    if (step < 0 && count > 1) reversed.push_back(static_cast<int64_t>(axis));
  }
  Ref y = w.in(0);
  const bool strided = std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s != 1; });
  if (strided || sizes != x) {
    std::vector<Named> args = {{"input", y}, {"starts", AttrValue(starts)}, {"sizes", AttrValue(sizes)}};
    if (strided) args.emplace_back("strides", AttrValue(strides));
    y = w.to.call("slice", std::move(args));
  }
  if (!reversed.empty()) y = w.to.call("reverse", {{"input", y}, {"axes", AttrValue(reversed)}});
  w.give(y);
}

/// What is added comes first: what a negative amount crops may be seen in the border on the other side.
void pad(RowNode& w) {
  const Ints x = w.x();
  const auto halves = ints(w, 1);
  auto axes = w.given(3) ? ints(w, 3) : std::optional(Ints{});
  if (!halves || !axes) return w.refuse("pad: its amounts are computed; WebNN needs numbers");
  if (!w.given(3)) {
    axes->resize(x.size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (halves->size() != 2 * axes->size()) return w.refuse("pad: amounts and axes of different lengths");
  const PadBorder border = w.attr<PadAttrs>().border;
  if (border == PadBorder::wrap || border == PadBorder::reflect_even)
    return w.refuse(fmt::format("pad: WebNN has no border '{}'", enumerators(border)[static_cast<size_t>(border)]));
  const AttrValue value = w.given(2) ? number_of(w.constant(2)) : AttrValue(int64_t{0});
  if (border == PadBorder::constant && value.index() == 0)
    return w.refuse("pad: its value is computed; WebNN needs a number");
  Ints before(x.size()), after(x.size()), first(x.size()), count = x;
  Ref y = w.in(0);
  for (size_t i = 0; i < axes->size(); ++i) {
    const size_t axis = from_front((*axes)[i], x.size());
    const int64_t a = (*halves)[i], b = (*halves)[i + axes->size()];
    before[axis] = std::max<int64_t>(a, 0), after[axis] = std::max<int64_t>(b, 0);
    first[axis] = std::max<int64_t>(-a, 0), count[axis] = x[axis] + a + b;
  }
  const auto some = [](const Ints& l) { return std::any_of(l.begin(), l.end(), [](int64_t n) { return n > 0; }); };
  if (some(before) || some(after)) {
    std::vector<Named> args = {
        {"input", y}, {"beginningPadding", AttrValue(before)}, {"endingPadding", AttrValue(after)}};
    if (border == PadBorder::constant)
      args.emplace_back("value", value);
    else
      args.emplace_back("mode", AttrValue(std::string(border == PadBorder::replicate ? "edge" : "reflection")));
    y = w.to.call("pad", std::move(args));
  }
  for (size_t i = 0; i < x.size(); ++i) y = w.to.sliced(y, i, first[i], count[i]);
  w.give(y);
}

// ---- By index. An index outside its axis is clamped here: it faults where it comes from, so programs that ran give
// the same.

/// Indices of types that WebNN does not take become int32.
Ref index_of(RowNode& w, size_t port) {
  const Ref r = w.in(port);
  if (w.to.failed()) return {};
  const DataType type = w.to.type(r);
  const bool fits = type == DataType::int32 || type == DataType::uint32 || type == DataType::int64;
  return fits ? r : w.to.cast(r, DataType::int32);
}

void gather(RowNode& w) {
  const auto& a = w.attr<GatherAttrs>();
  w.give(w.to.call(w.row() == "gather" ? "gather" : "gatherElements",
                   {{"input", w.in(0)},
                    {"indices", index_of(w, 1)},
                    {"axis", AttrValue(static_cast<int64_t>(from_front(a.axis, w.x().size())))}}));
}

void gather_nd(RowNode& w) {
  if (w.attr<GatherNdAttrs>().batch_dims != 0) return w.refuse("gather_nd: WebNN has no batch axes of it");
  w.give(w.to.call("gatherND", {{"input", w.in(0)}, {"indices", index_of(w, 1)}}));
}

void scatter_elements(RowNode& w) {
  const auto& a = w.attr<ScatterElementsAttrs>();
  if (a.reduction != Collision::none) return w.refuse("scatter_elements: WebNN replaces elements only");
  w.give(w.to.call("scatterElements", {{"input", w.in(0)},
                                       {"indices", index_of(w, 1)},
                                       {"updates", w.in(2)},
                                       {"axis", AttrValue(static_cast<int64_t>(from_front(a.axis, w.x().size())))}}));
}

void scatter_nd(RowNode& w) {
  if (w.attr<ScatterNdAttrs>().reduction != Collision::none)
    return w.refuse("scatter_nd: WebNN replaces elements only");
  w.give(w.to.call("scatterND", {{"input", w.in(0)}, {"indices", index_of(w, 1)}, {"updates", w.in(2)}}));
}

// ---- Resampling

/// Whether resample2d reads the same: positions at half pixels of the whole extents, ties down, ends repeated.
bool is_resample(const ResizeAttrs& a, const std::vector<ResizeTarget>& targets) {
  size_t changed = 0;
  for (const ResizeTarget& t : targets) {
    if (t.in == t.out) continue;
    ++changed;
    if (t.num * static_cast<double>(t.in) != t.den * static_cast<double>(t.out)) return false;
  }
  if (changed == 0 || changed > 2 || targets.size() != 4 || a.border != ResizeBorder::replicate) return false;
  if (a.mode == ResizeMode::nearest)
    return a.transform == Transform::half_pixel && a.nearest_rounding == NearestRounding::half_down;
  return a.mode == ResizeMode::linear && !a.antialias &&
         (a.transform == Transform::half_pixel || a.transform == Transform::half_pixel_symmetric);
}

Ref resampled(RowNode& w, const ResizeAttrs& a, const std::vector<ResizeTarget>& targets) {
  Ints axes, sizes;
  for (size_t i = 0; i < targets.size(); ++i)
    if (targets[i].in != targets[i].out) axes.push_back(static_cast<int64_t>(i));
  if (axes.size() == 1) axes.insert(axes[0] == 3 ? axes.begin() : axes.end(), axes[0] == 3 ? 2 : axes[0] == 2 ? 3 : 2);
  for (int64_t axis : axes) sizes.push_back(targets[static_cast<size_t>(axis)].out);
  std::vector<Named> args = {{"input", w.in(0)}, {"sizes", AttrValue(sizes)}};
  if (a.mode == ResizeMode::linear) args.emplace_back("mode", AttrValue(std::string("linear")));
  if (axes != Ints{2, 3}) args.emplace_back("axes", AttrValue(axes));
  return w.to.call("resample2d", std::move(args));
}

/// One axis by its taps: the sum of what each tap gathers, times its weights.
Ref tapped(RowNode& w, Ref x, size_t axis, const ResizeTaps& t) {
  const auto each = static_cast<size_t>(t.taps);
  Ref sum;
  for (size_t k = 0; k < each && !w.to.failed(); ++k) {
    Ints index;
    std::vector<float> weight;
    for (size_t o = 0; o < static_cast<size_t>(t.out); ++o) {
      const bool there = t.count.empty() || static_cast<int>(k) < t.count[o];
      index.push_back(there ? t.index[o * each + k] : 0);
      weight.push_back(!there ? 0 : t.weight.empty() ? 1 : static_cast<float>(t.weight[o * each + k]));
    }
    Ref part = w.to.call("gather", {{"input", x},
                                    {"indices", w.to.constant(nnex::Tensor::of(nnex::Shape{t.out}, index))},
                                    {"axis", AttrValue(static_cast<int64_t>(axis))}});
    if (!t.weight.empty() && !w.to.failed()) {
      Ints along(w.to.shape(x).size() - axis, 1);
      along[0] = t.out;
      const Ref weights = w.to.constant(nnex::Tensor::of(nnex::Shape(along), weight));
      part = w.to.call("mul", {{"a", part}, {"b", w.to.cast(weights, w.to.type(x))}});
    }
    sum = sum.valid() ? w.to.call("add", {{"a", sum}, {"b", part}}) : part;
  }
  return sum;
}

void resize(RowNode& w) {
  const auto& a = w.attr<ResizeAttrs>();
  const auto list = [&](size_t i) { return w.constant(i) ? reals_of(*w.constant(i)) : Reals{}; };
  for (size_t i = 1; i < 4; ++i)
    if (w.given(i) && !w.constant(i)) return w.refuse("resize: its extents are computed; WebNN needs numbers");
  const Ints sizes = w.constant(3) ? ints_of(*w.constant(3)) : Ints{};
  const auto targets = resize_targets(a, nnex::Shape(w.x()), list(1), list(2), sizes);
  if (!targets.ok()) return w.refuse("resize: " + targets.error().message());
  if (is_resample(a, *targets)) return w.give(resampled(w, a, *targets));
  Ref y = w.in(0);
  for (size_t axis = 0; axis < targets->size() && !w.to.failed(); ++axis) {
    const auto taps = resize_taps(a, (*targets)[axis]);
    if (!taps.ok()) return w.refuse("resize: " + taps.error().message());
    if (taps->same) continue;
    if (!taps->outside.empty()) return w.refuse("resize: what lies outside has a value of its own");
    if (!taps->weight.empty() && !is_float(w.dtype())) return w.refuse("resize: weights of whole numbers");
    y = tapped(w, y, axis, *taps);
  }
  w.give(y);
}

constexpr RowEntry kMovingRows[] = {
    {"reshape", reshape},
    {"flatten", reshape},
    {"squeeze", reshape},
    {"unsqueeze", reshape},
    {"expand", expand},
    {"transpose", transpose},
    {"depth_to_space", depth_to_space},
    {"space_to_depth", space_to_depth},
    {"concat", concat},
    {"stack", stack},
    {"unstack", unstack},
    {"split", split},
    {"slice", slice},
    {"pad", pad},
    {"gather", gather},
    {"gather_elements", gather},
    {"gather_nd", gather_nd},
    {"scatter_elements", scatter_elements},
    {"scatter_nd", scatter_nd},
    {"resize", resize},
};

}  // namespace

std::span<const RowEntry> moving_rows() { return kMovingRows; }

}  // namespace nnex::ml
