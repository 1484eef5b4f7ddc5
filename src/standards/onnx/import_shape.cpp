// Shapes, slices, reductions, sequences and control flow of old opsets.

#include <fmt/format.h>

#include <algorithm>

#include "ops/cast.h"
#include "ops/codecs.h"
#include "ops/resize.h"
#include "standards/onnx/import_quirks.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

/// An attribute that became an input: a constant at that place.
void input_from(NodeImport& n, std::string_view attr, size_t at) {
  if (!n.given(attr)) return;
  if (n.in.size() <= at) n.in.resize(at + 1);
  const AttrValue& v = *n.find(attr);
  if (auto* l = std::get_if<Ints>(&v))
    n.in[at] = n.b.ints(*l);
  else if (auto* i = std::get_if<int64_t>(&v))
    n.in[at] = n.b.integer(*i);
  n.drop(attr);
}

/// Before the first element a slice begins at the first one, whichever way it goes ("for negative stepping clamped into
/// [0, dims - 1]"); the row's backward slices begin nowhere there. -extent names the first element too.
ValueId begin_inside(NodeImport& n) {
  const Tensor *begin = n.constant(1), *axes = n.constant(3);
  const MaybeDims& x = n.type(0).dims;
  if (begin && x && (axes || !n.has(3))) {
    Ints at = ints_of(*begin);
    const Ints along = axes ? ints_of(*axes) : Ints{};
    const auto rank = static_cast<int64_t>(x->size());
    const auto settled = [&](size_t i) {
      int64_t axis = i < along.size() ? along[i] : static_cast<int64_t>(i);
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank) return true;  // refused later
      const auto extent = (*x)[static_cast<size_t>(axis)].number();
      if (extent) at[i] = std::max(at[i], -*extent);
      return extent.has_value() || at[i] >= -1;
    };
    bool all = true;
    for (size_t i = 0; i < at.size(); ++i) all &= settled(i);
    if (all) return n.b.ints(at);
  }
  const ValueId extents = n.b("shape", {n.in[0]});
  const ValueId first = n.has(3) ? n.b("gather", {extents, n.in[3]})
                                 : n.b("slice", {extents, n.b.ints({0}), n.b("shape", {n.in[1]}), n.b.ints({0})});
  CastAttrs wide;
  wide.to = DType::i64;
  return n.b("max", {n.b("cast", {n.in[1]}, wide), n.b("neg", {first})});
}

/// Slice-1: starts, ends, axes are attributes. Only a step backwards makes a start before the first element matter.
Result<Quirked> slice(NodeImport& n) {
  if (n.version < 10) {
    input_from(n, "starts", 1);
    input_from(n, "ends", 2);
    input_from(n, "axes", 3);
  }
  if (!n.has(4) || !n.has(0) || !n.has(1)) return Quirked::no;
  const auto all_from = [&](size_t i, int64_t min) {
    const Tensor* t = n.constant(i);
    if (!t) return false;
    const Ints list = ints_of(*t);
    return std::all_of(list.begin(), list.end(), [&](int64_t v) { return v >= min; });
  };
  if (!all_from(4, 1) && !all_from(1, -1)) n.in[1] = begin_inside(n);
  return Quirked::no;
}

/// Pad-1 names its amounts `paddings`, Pad-2 `pads`; both are (before..., after...) as the input is since opset 11.
Result<Quirked> pad(NodeImport& n) {
  if (n.version >= 11) return Quirked::no;
  input_from(n, "paddings", 1);
  input_from(n, "pads", 1);
  const double value = n.real("value", 0);
  n.drop("value");
  const DType type = n.type(0).dtype == DType::none ? DType::f32 : n.type(0).dtype;
  if (n.in.size() < 2) return n.error("pads are required");
  n.in.resize(3);
  n.in[2] = n.b.number(type, value);
  return Quirked::no;
}

/// Reductions: noop_with_empty_axes = 1 without axes leaves the input alone; a list of no axes is otherwise all of
/// them.
Result<Quirked> reduce(NodeImport& n) {
  if (n.given("axes") && n.ints("axes").empty()) n.drop("axes");
  if (n.integer("noop_with_empty_axes", 0) != 0 && !n.has(1) && !n.given("axes")) {
    n.in.resize(2);
    n.in[1] = n.b.ints({});
  }
  return Quirked::no;
}

/// TopK-1: k is an attribute.
Result<Quirked> top_k(NodeImport& n) {
  if (n.version < 10) input_from(n, "k", 1);
  return Quirked::no;
}

/// Split: sizes as attribute or input, or none: as many equal parts as there are outputs. An input of opset 1 has the
/// data's type.
Result<Quirked> split(NodeImport& n) {
  if (n.version < 2 && n.has(1)) {
    CastAttrs to;
    to.to = DType::i64;
    const Tensor* sizes = n.constant(1);
    n.in[1] = sizes ? n.b.ints(ints_of(*sizes)) : n.b("cast", {n.in[1]}, to);
  }
  input_from(n, "split", 1);
  if (n.version >= 18 && n.given("num_outputs") == n.has(1))
    return n.error(n.has(1) ? "both split and num_outputs are given; needed one of them"
                            : "neither split nor num_outputs is given; needed one of them");
  if (n.given("num_outputs")) {
    n.set("chunks", n.integer("num_outputs", 0));
    n.drop("num_outputs");
  } else if (!n.has(1)) {
    n.set("ratios", Ints(n.out.size(), 1));
  }
  return Quirked::no;
}

/// Tile-1: one axis, `tiles` times.
Result<Quirked> tile(NodeImport& n) {
  if (n.version >= 6) return Quirked::no;
  auto rank = n.rank(0);
  const Tensor *tiles = n.constant(1), *axis = n.constant(2);
  if (!rank || !tiles || !axis) return n.error("opset 1 needs constant tiles and axis and a known rank");
  Ints repeats(static_cast<size_t>(*rank), 1);
  const int64_t at = int_at(*axis, 0);
  if (at < 0 || at >= *rank) return n.error(fmt::format("axis {} is outside [0, {})", at, *rank));
  repeats[static_cast<size_t>(at)] = int_at(*tiles, 0);
  n.bind(0, n.b("tile", {n.in[0], n.b.ints(repeats)}));
  return Quirked::done;
}

/// Reshape-1: the shape is an attribute.
Result<Quirked> reshape(NodeImport& n) {
  if (n.version < 5) input_from(n, "shape", 1);
  return Quirked::no;
}

/// Resize-10 takes the nearest element from above on the axes that get smaller (its test data say so, its text is
/// silent), from below on the others. Where both kinds meet or only a run knows, the axes that grow are resized by a
/// node of their own before.
void round_up_where_smaller(NodeImport& n) {
  if (!n.has(1)) return;
  ValueId down, up;
  if (const Tensor* scales = n.constant(1)) {
    std::vector<float> smaller, larger;
    for (double s : reals_of(*scales)) {
      smaller.push_back(std::min(static_cast<float>(s), 1.0F));
      larger.push_back(std::max(static_cast<float>(s), 1.0F));
    }
    const auto moves = [](const std::vector<float>& list) {
      return std::any_of(list.begin(), list.end(), [](float s) { return s != 1; });
    };
    if (!moves(smaller)) return;
    const Shape one{static_cast<int64_t>(larger.size())};
    const bool both = moves(larger);
    down = n.b.constant(Tensor::of(one, smaller));
    if (both) up = n.b.constant(Tensor::of(one, larger));
  } else {
    down = n.b("min", {n.in[1], n.b.number(DType::f32, 1)});
    up = n.b("max", {n.in[1], n.b.number(DType::f32, 1)});
  }
  n.set("nearest_mode", std::string("ceil"));
  ResizeAttrs grow;
  grow.transform = Transform::asymmetric, grow.nearest_rounding = NearestRounding::floor;
  if (up.valid()) n.in[0] = n.b("resize", {n.in[0], {}, up}, grow);
  n.in[1] = down;
}

/// Upsample and old Resize: nearest and linear from asymmetric coordinates, rounded down.
Result<Quirked> upsample(NodeImport& n) {
  const bool one = n.version < 7;
  Reals scales = n.reals("scales");
  if (one) scales = {1, 1, n.real("height_scale", 1), n.real("width_scale", 1)};
  for (const char* a : {"scales", "height_scale", "width_scale"}) n.drop(a);
  std::string mode = n.word("mode", "nearest");
  if (mode == "bilinear") mode = "linear";
  n.set("mode", mode);
  n.set("coordinate_transformation_mode", std::string("asymmetric"));
  n.set("nearest_mode", std::string("floor"));
  if (n.op == "Resize" && mode == "nearest") round_up_where_smaller(n);
  ValueId factor = n.has(1) ? n.in[1]
                            : n.b.constant(Tensor::of(Shape{static_cast<int64_t>(scales.size())},
                                                      std::vector<float>(scales.begin(), scales.end())));
  n.in = {n.in[0], {}, factor};
  n.op = "Resize";
  n.version = 19;
  return Quirked::no;
}

Result<Quirked> resize(NodeImport& n) {
  if (n.version == 10) return upsample(n);
  // Since opset 11 an empty tensor stands for an absent input.
  for (size_t i = 1; i < n.in.size(); ++i)
    if (const Tensor* t = n.constant(i); t && t->count() == 0) n.in[i] = {};
  if (n.has(2) && n.has(3)) return n.error("both scales and sizes are given; needed one of them");
  return Quirked::no;
}

/// SequenceEmpty: a sequence of nothing, of an element type.
Result<Quirked> sequence_empty(NodeImport& n) {
  n.set("dtype", n.integer("dtype", 1));
  n.op = "SequenceConstruct";
  return Quirked::no;
}

constexpr QuirkRow kShapeRows[] = {
    {"Slice", slice},
    {"Pad", pad},
    {"TopK", top_k},
    {"Split", split},
    {"Tile", tile},
    {"Reshape", reshape},
    {"Upsample", upsample},
    {"Resize", resize},
    {"SequenceEmpty", sequence_empty},
    {"ReduceSum", reduce},
    {"ReduceMean", reduce},
    {"ReduceMax", reduce},
    {"ReduceMin", reduce},
    {"ReduceProd", reduce},
    {"ReduceL1", reduce},
    {"ReduceL2", reduce},
    {"ReduceSumSquare", reduce},
    {"ReduceLogSum", reduce},
    {"ReduceLogSumExp", reduce},
};

}  // namespace

std::span<const QuirkRow> shape_quirks() { return read_of<kShapeRows>(); }

}  // namespace nnex::onnx_format
