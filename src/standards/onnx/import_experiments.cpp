// Early experiments: operators of the standard domain that are in none of its opsets, which converters of 2017 to 2019
// wrote and ONNX Runtime still runs. Each becomes rows that the table has.

#include "ops/codecs.h"
#include "ops/join.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "standards/onnx/import_microsoft.h"

namespace nnex::onnx_format {
namespace microsoft {  // with whom they share their helpers
namespace {

/// factor * x + term, where they change anything.
ValueId scaled(NodeImport& n, ValueId x, double factor, double term = 0) {
  const DType type = real_type(n, 0);
  if (factor != 1) x = n.b("mul", {x, n.b.number(type, factor)});
  return term != 0 ? n.b("add", {x, n.b.number(type, term)}) : x;
}

Result<Quirked> finished(NodeImport& n, ValueId y) {
  n.bind(0, y == n.in[0] ? n.b("copy", {y}) : y);
  return Quirked::done;
}

Result<Quirked> affine(NodeImport& n) {
  NNEX_TRY(needs(n, {0}));
  return finished(n, scaled(n, n.in[0], n.real("alpha", 1), n.real("beta", 0)));
}

Result<Quirked> scale(NodeImport& n) {
  NNEX_TRY(needs(n, {0}));
  return finished(n, scaled(n, n.in[0], n.real("scale", 1)));
}

/// alpha * f(beta * x); neither has a default.
Result<Quirked> scaled_map(NodeImport& n, std::string_view row) {
  NNEX_TRY(needs(n, {0}));
  for (std::string_view attribute : {"alpha", "beta"})
    if (!n.given(attribute)) return n.error(fmt::format("attribute '{}' is required", attribute));
  return finished(n, scaled(n, n.b(row, {scaled(n, n.in[0], n.real("beta", 1))}), n.real("alpha", 1)));
}
Result<Quirked> scaled_tanh(NodeImport& n) { return scaled_map(n, "tanh"); }
Result<Quirked> scaled_softplus(NodeImport& n) { return scaled_map(n, "softplus"); }

/// Images [batch, channels, height, width].
Status takes_images(const NodeImport& n) {
  NNEX_TRY(needs(n, {0}));
  if (const auto rank = n.rank(0); rank && *rank != 4)
    return n.error(fmt::format("the input has {} axes; needed 4", *rank));
  return {};
}

std::optional<int64_t> extent_of_image(const NodeImport& n, size_t axis) {
  const MaybeDims& dims = n.type(0).dims;
  return dims ? (*dims)[axis].number() : std::nullopt;
}

/// scale * x + the bias of its channel.
Result<Quirked> image_scaler(NodeImport& n) {
  NNEX_TRY(takes_images(n));
  const Reals bias = n.reals("bias");
  const auto channels = extent_of_image(n, 1);
  if (!bias.empty() && channels && *channels != static_cast<int64_t>(bias.size()))
    return n.error(fmt::format("bias has {} numbers; the input has {} channels", bias.size(), *channels));
  ValueId y = scaled(n, n.in[0], n.real("scale", 1));
  if (!bias.empty()) {
    const auto count = static_cast<int64_t>(bias.size());
    const ValueId each = n.b.constant(Tensor::of(Shape{1, count, 1, 1}, std::vector<float>(bias.begin(), bias.end())));
    y = n.b("add", {y, real_type(n, 0) == DType::f32 ? each : cast_to(n, each, real_type(n, 0))});
  }
  return finished(n, y);
}

/// Height and width without border (left, top, right, bottom), or from its left and top on as long as `scale` says.
Result<Quirked> crop(NodeImport& n) {
  NNEX_TRY(takes_images(n));
  const Ints border = n.ints("border"), size = n.ints("scale");
  if (border.size() != 4) return n.error(fmt::format("border has {} numbers; needed 4", border.size()));
  if (!size.empty() && size.size() != 2) return n.error(fmt::format("scale has {} numbers; needed 2", size.size()));
  constexpr int64_t kLargest = int64_t{1} << 40;
  for (const Ints& list : {border, size})
    for (int64_t number : list)
      if (number < 0 || number > kLargest) return n.error(fmt::format("{} is no count of rows or columns", number));
  for (size_t i : {0, 1}) {
    const int64_t before = border[1 - i], after = size.empty() ? border[3 - i] : size[i];
    const auto extent = extent_of_image(n, 2 + i);
    if (extent && before + after > *extent)
      return n.error(fmt::format("{} + {} {} of {}", before, after, i == 0 ? "rows" : "columns", *extent));
  }
  if (size.empty())
    return finished(n, n.b("pad", {n.in[0], n.b.ints({0, 0, -border[1], -border[0], 0, 0, -border[3], -border[2]})}));
  const ValueId part = n.b("slice", {n.in[0], n.b.ints({border[1], border[0]}),
                                     n.b.ints({border[1] + size[0], border[0] + size[1]}), n.b.ints({2, 3})});
  ReshapeAttrs a;  // where a run has less, it is refused
  a.zero = ZeroExtent::copy;
  return finished(n, n.b("reshape", {part, n.b.ints({0, 0, size[0], size[1]})}, a));
}

/// The step came later.
Result<Quirked> dynamic_slice(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1, 2}));
  return as_standard(n, "Slice");
}

/// The attribute `shape`, or input 0 or its shape, then extra_shape.
Result<ValueId> filled_shape(NodeImport& n) {
  if (n.given("shape")) return n.b.ints(n.ints("shape"));
  if (!n.has(0)) return n.error("neither an input nor the attribute 'shape' says a shape");
  const ValueId shape = n.integer("input_as_shape", 0) ? cast_to(n, n.in[0], DType::i64) : n.b("shape", {n.in[0]});
  const Ints extra = n.ints("extra_shape");
  return extra.empty() ? shape : n.b("concat", {shape, n.b.ints(extra)}, AxisAttrs{0});
}

Result<Quirked> given_tensor(NodeImport& n) {
  const Reals values = n.reals("values");
  const ValueId all = n.b.constant(
      Tensor::of(Shape{static_cast<int64_t>(values.size())}, std::vector<float>(values.begin(), values.end())));
  NNEX_ASSIGN(const ValueId shape, filled_shape(n));
  n.bind(0, n.b("reshape", {all, shape}));
  return Quirked::done;
}

Result<Quirked> constant_fill(NodeImport& n) {
  NNEX_ASSIGN(const ValueId shape, filled_shape(n));
  const DType type = dtype_of_onnx(n.integer("dtype", 1));
  if (!is_float(type) && !is_int(type)) return n.error("attribute 'dtype' is no type of numbers");
  n.bind(0, n.b("expand", {n.b.number(type, n.real("value", 0)), shape}));
  return Quirked::done;
}

/// Before opset 10 by the same words.
Result<Quirked> thresholded_relu(NodeImport& n) {
  if (n.version < 10) n.version = 10;
  return Quirked::no;
}

/// Before opset 9 attributes said whether channels are taken together, and whether anything is divided.
Result<Quirked> mean_variance(NodeImport& n) {
  if (n.version >= 9) return Quirked::no;
  NNEX_TRY(needs(n, {0}));
  const bool together = n.integer("across_channels", 0) != 0, divided = n.integer("normalize_variance", 1) != 0;
  const Ints axes = together ? Ints{0, 1, 2, 3} : Ints{0, 2, 3};
  for (std::string_view early : {"across_channels", "normalize_variance"}) n.drop(early);
  n.set("axes", axes);
  n.version = 9;
  if (divided) return Quirked::no;
  n.bind(0, n.b("sub", {n.in[0], n.b("mean_reduce", {n.in[0], n.b.ints(axes)}, ReduceAttrs{})}));
  return Quirked::done;
}

constexpr QuirkRow kExperimentRows[] = {
    {"Affine", affine, "", "1 T > T | alpha:f beta:f"},
    {"ConstantFill", constant_fill, "", "1 T? > T1 | dtype:i extra_shape:I input_as_shape:i shape:I value:f"},
    {"Crop", crop, "", "1 T > T | border:I scale:I"},
    {"DynamicSlice", dynamic_slice, "", "1 T T1 T1 T1? > T", "Slice"},
    {"GivenTensorFill", given_tensor, "", "1 T? > T1 | extra_shape:I input_as_shape:i shape:I values:F"},
    {"ImageScaler", image_scaler, "", "1 T > T | bias:F scale:f"},
    {"MeanVarianceNormalization", mean_variance},
    {"ParametricSoftplus", scaled_softplus, "", "1 T > T | alpha:f beta:f"},
    {"Scale", scale, "", "1 T > T | scale:f"},
    {"ScaledTanh", scaled_tanh, "", "1 T > T | alpha:f beta:f"},
    {"ThresholdedRelu", thresholded_relu},
};

}  // namespace
}  // namespace microsoft

std::span<const QuirkRow> experiment_quirks() { return read_of<microsoft::kExperimentRows>(); }

}  // namespace nnex::onnx_format
