#include "ops/norm.h"

#include <algorithm>
#include <numeric>

#include "base/try.h"
#include "webnn/rules.h"

namespace nnex::ml {

Status batch_norm_rule(Step& step) {
  const Ints shape = step.shape("input");
  NNEX_TRY(step.need_axis("axis", shape.size()));
  const Ints channels = {shape[static_cast<size_t>(step.integer("axis"))]};
  for (std::string_view name : {"mean", "variance", "scale", "bias"}) NNEX_TRY(step.need_shape(name, channels));
  return {};
}

/// (input - mean) * (scale / sqrt(variance + epsilon)) + bias, in this order: the engine's own row may use one factor
/// and one shift a channel, which loses digits where the input is near the mean. Half types keep the row, which rounds
/// once.
void import_batch_norm(Importer& to) {
  const Step& step = to.step();
  if (step.operand("input").dataType == DataType::float32) {
    const Ints shape = step.shape("input");
    Ints along(shape.size() - static_cast<size_t>(step.integer("axis")), 1);
    along[0] = shape[static_cast<size_t>(step.integer("axis"))];
    const ValueId epsilon = to.constant(cast_number(DataType::float32, step.real("epsilon")));
    const ValueId deviation = to("sqrt", {to("add", {to.in("variance"), epsilon})});
    const ValueId factor = step.given("scale") ? to("div", {to.in("scale"), deviation}) : to("rcp", {deviation});
    const ValueId centred = to("sub", {to.in("input"), to.reshaped(to.in("mean"), along)});
    const ValueId scaled = to("mul", {centred, to.reshaped(factor, along)});
    to.result(step.given("bias") ? to("add", {scaled, to.reshaped(to.in("bias"), along)}) : scaled);
    return;
  }
  BatchNormAttrs attrs;
  attrs.axis = to.step().integer("axis");
  attrs.epsilon = to.step().real("epsilon");
  to.result(to("batch_normalization", {to.in("input"), to.in("mean"), to.in("variance"), to.in("bias"), to.in("scale")},
               attrs));
}

Status instance_norm_rule(Step& step) {
  const Ints shape = step.shape("input");
  const Ints channels = {shape[step.word("layout") == "nchw" ? 1 : 3]};
  for (std::string_view name : {"scale", "bias"}) NNEX_TRY(step.need_shape(name, channels));
  return {};
}

void import_instance_norm(Importer& to) {
  const bool last = to.step().word("layout") == "nhwc";
  const ValueId x = last ? to.transposed(to.in("input"), {0, 3, 1, 2}) : to.in("input");
  const ValueId y =
      to("instance_normalization", {x, to.in("scale"), to.in("bias")}, InstanceNormAttrs{to.step().real("epsilon")});
  to.result(last ? to.transposed(y, {0, 2, 3, 1}) : y);
}

// ---- layerNormalization

namespace {

/// Absent axes are all but the first.
Ints layer_axes(const Step& step) {
  if (step.given("axes")) return step.ints("axes");
  const int64_t rank = static_cast<int64_t>(step.shape("input").size());
  Ints axes;
  for (int64_t i = 1; i < rank; ++i) axes.push_back(i);
  return axes;
}

/// Scale or bias, whose axes are in the order of `axes`, as a tensor that broadcasts to the input.
ValueId along_axes(Importer& to, ValueId v, const Ints& axes, size_t rank) {
  if (!v.valid()) return v;
  Ints order(axes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return axes[static_cast<size_t>(a)] < axes[static_cast<size_t>(b)]; });
  v = to.transposed(v, order);
  const int64_t first = axes.empty() ? 0 : *std::min_element(axes.begin(), axes.end());
  if (first + static_cast<int64_t>(axes.size()) == static_cast<int64_t>(rank)) return v;  // the last axes
  Ints shape(rank, 1);
  const Shape have = to.shape(v);
  for (size_t i = 0; i < order.size(); ++i)
    shape[static_cast<size_t>(axes[static_cast<size_t>(order[i])])] = have[static_cast<int64_t>(i)];
  return to.reshaped(v, shape);
}

}  // namespace

Status layer_norm_rule(Step& step) {
  const Ints shape = step.shape("input");
  NNEX_TRY(step.need_axes("axes", shape.size()));
  Ints parameters;
  for (int64_t axis : layer_axes(step)) parameters.push_back(shape[static_cast<size_t>(axis)]);
  for (std::string_view name : {"scale", "bias"}) NNEX_TRY(step.need_shape(name, parameters));
  return {};
}

/// Over no axes each element is its own mean: it is normalised along a new axis of extent 1.
void import_layer_norm(Importer& to) {
  const Ints shape = to.step().shape("input"), axes = layer_axes(to.step());
  LayerNormAttrs attrs;
  attrs.epsilon = to.step().real("epsilon");
  attrs.axes = axes;
  std::sort(attrs.axes.begin(), attrs.axes.end());
  const ValueId x = to.in("input");
  const ValueId scale = along_axes(to, to.in("scale"), axes, shape.size());
  const ValueId bias = along_axes(to, to.in("bias"), axes, shape.size());
  if (!axes.empty()) {
    to.result(to("layer_normalization", {x, scale, bias}, attrs));
    return;
  }
  Ints longer = shape;
  longer.push_back(1);
  attrs.axes = {static_cast<int64_t>(shape.size())};
  to.result(to.reshaped(to("layer_normalization", {to.reshaped(x, longer), scale, bias}, attrs), shape));
}

}  // namespace nnex::ml
