// Shapes, slices, reductions, sequences and control flow of old opsets.

#include <fmt/format.h>

#include <algorithm>

#include "formats/onnx/quirks.h"
#include "ops/codecs.h"
#include "ops/resize.h"
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

/// Slice-1: starts, ends, axes are attributes.
Result<Quirked> slice(NodeImport& n) {
  if (n.version >= 10) return Quirked::no;
  input_from(n, "starts", 1);
  input_from(n, "ends", 2);
  input_from(n, "axes", 3);
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

/// Split: sizes as attribute or input, or none: as many equal parts as there are outputs.
Result<Quirked> split(NodeImport& n) {
  input_from(n, "split", 1);
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
/// silent), from below on the others. Where both kinds meet, the axes that grow are resized by a node of their own
/// before.
void round_up_where_smaller(NodeImport& n) {
  const Tensor* scales = n.constant(1);
  if (!scales || scales->dtype() != DType::f32) return;
  std::vector<float> down, up;
  for (double s : reals_of(*scales)) {
    down.push_back(std::min(static_cast<float>(s), 1.0F));
    up.push_back(std::max(static_cast<float>(s), 1.0F));
  }
  const auto moves = [](float s) { return s != 1; };
  if (std::none_of(down.begin(), down.end(), moves)) return;
  n.set("nearest_mode", std::string("ceil"));
  if (std::none_of(up.begin(), up.end(), moves)) return;
  const Shape one{static_cast<int64_t>(up.size())};
  ResizeAttrs grow;
  grow.transform = Transform::asymmetric, grow.nearest_rounding = NearestRounding::floor;
  n.in = {n.b("resize", {n.in[0], {}, n.b.constant(Tensor::of(one, std::move(up)))}, grow),
          n.b.constant(Tensor::of(one, std::move(down)))};
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
  return Quirked::no;
}

/// SequenceEmpty: a sequence of nothing, of an element type.
Result<Quirked> sequence_empty(NodeImport& n) {
  n.set("dtype", n.integer("dtype", 1));
  n.op = "SequenceConstruct";
  return Quirked::no;
}

constexpr QuirkRow kRows[] = {
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

std::span<const QuirkRow> shape_quirks() { return kRows; }

}  // namespace nnex::onnx_format
