#include "standards/cvm/export.h"

#include <algorithm>

#include "base/try.h"
#include "ops/gather.h"
#include "ops/matmul.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "ops/resize.h"
#include "ops/shape.h"
#include "ops/window.h"
#include "standards/cvm/signatures.h"
#include "tensor/convert.h"

namespace nnex::cvm_format {

Shape NodeExport::shape(ValueId v) const {
  const Shape s = *concrete(graph[v].type);
  return s.rank() == 0 ? Shape{1} : s;
}

void NodeExport::set(std::string_view name, const AttrValue& value) {
  attrs.emplace_back(std::string(name), attribute_text(value));
}

Result<Ints> NodeExport::numbers(size_t i) const {
  const Tensor* t = graph.constant_in(node, i);
  if (!t) return unsupported("computed '{}'", node.op->inputs[std::min(i, node.op->inputs.size() - 1)].name);
  return ints_of(*t);
}

namespace {

Ints ints(const Shape& s) { return Ints(s.begin(), s.end()); }

/// The same number before and after each spatial axis.
Result<Ints> both_sides(const NodeExport& n, const Pairs& pairs, size_t first) {
  Ints out;
  for (size_t i = first; i < first + 2; ++i) {
    const auto [before, after] = i < pairs.size() ? pairs[i] : std::pair<int64_t, int64_t>{};
    if (before != after) return n.unsupported("padding of {} before and {} after an axis", before, after);
    out.push_back(before);
  }
  return out;
}

Ints two_of(const Ints& list, size_t first) { return {entry(list, first, 1), entry(list, first + 1, 1)}; }

/// The value before a reshape that a reader put in for the row's sake: nobody named its result.
ValueId before_reshape(const NodeExport& n, ValueId v) {
  const Node* producer = n.graph.producer(v);
  return producer && producer->op->name == "reshape" && n.graph[v].name.empty() ? producer->in[0] : v;
}

// ---- Element by element

Status plain(NodeExport& n) {
  n.in = n.node.in;
  return {};
}

Status two_operands(NodeExport& n) {
  const bool linear = n.node.op->name == "add" || n.node.op->name == "sub";
  if (linear && n.shape_in(0) == n.shape_in(1)) n.op = "elemwise_" + std::string(n.node.op->name);
  return plain(n);
}

Status greater(NodeExport& n) {
  if (n.graph[n.node.out[0]].type.dtype != DType::i32) return n.unsupported("comparison whose answers are not i32");
  return plain(n);
}

Status clamp(NodeExport& n) {
  if (!n.has(1) || !n.has(2)) return n.unsupported("clamp with one limit");
  for (size_t i = 1; i < 3; ++i) {
    NNEX_ASSIGN(const Ints limit, n.numbers(i));
    if (limit.size() != 1) return n.unsupported("clamp with a limit of {} elements", limit.size());
    n.set(i == 1 ? "a_min" : "a_max", limit[0]);
  }
  n.in = {n.node.in[0]};
  return {};
}

Status with_fields(NodeExport& n) {
  for (const Field& f : n.node.op->attrs.fields) n.set(f.name, f.get(n.node.attrs.get()));
  return plain(n);
}

/// A condition with extents of 1 but for the first axis chooses rows.
Status select(NodeExport& n) {
  const Shape condition = n.shape_in(0), x = n.shape_in(1);
  if (!(x == n.shape_in(2))) return n.unsupported("choice between shapes {} and {}", x.text(), n.shape_in(2).text());
  NNEX_TRY(plain(n));
  if (condition == x) {
    const ValueId rows = before_reshape(n, n.in[0]);
    if (n.shape(rows) == Shape{x[0]}) n.in[0] = rows;
    return {};
  }
  if (condition.rank() != x.rank() || condition[0] != x[0] || condition.count() != x[0])
    return n.unsupported("condition of shape {} for {}", condition.text(), x.text());
  n.reshapes.emplace_back(0, Ints{x[0]});
  return {};
}

Status reduction(NodeExport& n) {
  const int64_t rank = n.shape_in(0).rank();
  const bool of_sum = n.node.op->name == "sum_reduce";
  const bool keepdims = of_sum ? n.attr<ReduceAttrs>().keepdims : n.attr<ExtremeAttrs>().keepdims;
  const bool to_end = of_sum ? n.attr<ReduceAttrs>().to_end : n.attr<ExtremeAttrs>().to_end;
  const WhenEmpty empty = of_sum ? n.attr<ReduceAttrs>().when_empty : n.attr<ExtremeAttrs>().when_empty;
  if (to_end) return n.unsupported("reduction of an axis and all later ones");
  if (!of_sum && n.attr<ExtremeAttrs>().initial) return n.unsupported("maximum that starts from a number");
  Ints axes;
  if (n.has(1)) {
    NNEX_ASSIGN(axes, n.numbers(1));
  }
  const bool none = n.has(1) && axes.empty() && empty == WhenEmpty::none;
  if (axes.empty())
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  n.set("axis", axes);
  n.set("keepdims", keepdims);
  if (none) n.set("exclude", true);
  n.in = {n.node.in[0]};
  return {};
}

// ---- Windows

/// Padding of the spatial axes of a convolution, automatic or not, in numbers.
Result<Pairs> padding_of(const NodeExport& n, const ConvAttrs& a) {
  const Shape x = n.shape_in(0), w = n.shape_in(1);
  Pairs out;
  for (size_t i = 0; i < 2; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    const auto given = i < a.padding.size() ? a.padding[i] : std::pair<int64_t, int64_t>{};
    NNEX_ASSIGN(const AxisWindow window,
                window_of(x[axis], w[axis], entry(a.stride, i, 1), entry(a.dilation, i, 1), given, a.auto_pad, false));
    out.emplace_back(window.before, window.after);
  }
  return out;
}

Status conv(NodeExport& n) {
  const auto& a = n.attr<ConvAttrs>();
  const Shape w = n.shape_in(1);
  if (w.rank() != 4) return n.unsupported("convolution over {} axes", w.rank() - 2);
  if (a.border != ConvBorder::constant || a.channels_last)
    return n.unsupported("convolution with another border, or channels last");
  NNEX_ASSIGN(const Pairs pads, padding_of(n, a));
  NNEX_ASSIGN(const Ints padding, both_sides(n, pads, 0));
  n.set("channels", w[0]);
  n.set("kernel_size", Ints{w[2], w[3]});
  n.set("strides", two_of(a.stride, 0));
  n.set("padding", padding);
  n.set("dilation", two_of(a.dilation, 0));
  n.set("groups", a.groups);
  n.set("use_bias", n.has(2));
  return plain(n);
}

Status dense(NodeExport& n) {
  const auto& a = n.attr<LinearAttrs>();
  if (a.transpose_a || !a.transpose_b || a.alpha != 1 || a.beta != 1)
    return n.unsupported("product other than x by the transposed weight, once");
  n.set("units", n.shape_in(1)[0]);
  n.set("use_bias", n.has(2));
  return plain(n);
}

Status max_pool(NodeExport& n) {
  const auto& a = n.attr<PoolAttrs>();
  if (a.size.size() != 4 || a.size[0] != 1 || a.size[1] != 1 || entry(a.stride, 0, 1) != 1 ||
      entry(a.stride, 1, 1) != 1)
    return n.unsupported("window over other axes than the last two of four");
  NNEX_ASSIGN(const std::vector<AxisWindow> windows, windows_over(a, n.shape_in(0)));
  Pairs pads;
  for (const AxisWindow& w : windows) pads.emplace_back(w.before, w.after);
  const bool none =
      std::all_of(pads.begin(), pads.end(), [](const auto& p) { return p == std::pair(int64_t{0}, int64_t{0}); });
  if (a.channels_last || n.node.out.size() > 1 ||
      std::any_of(a.dilation.begin(), a.dilation.end(), [](int64_t d) { return d != 1; }) ||
      (a.border != PoolBorder::ignore && !none))
    return n.unsupported("pool with dilation, a border, indices, or channels last");
  NNEX_ASSIGN(const Ints padding, both_sides(n, a.auto_pad == AutoPad::off ? a.padding : pads, 2));
  n.set("pool_size", two_of(a.size, 2));
  n.set("strides", two_of(a.stride, 2));
  n.set("padding", padding);
  n.set("ceil_mode", a.ceil);
  return plain(n);
}

Status resize(NodeExport& n) {
  const auto& a = n.attr<ResizeAttrs>();
  const Shape x = n.shape_in(0), y = n.shape_out();
  if (a.mode != ResizeMode::nearest || a.transform != Transform::asymmetric ||
      a.nearest_rounding != NearestRounding::floor || a.antialias || x.rank() != 4)
    return n.unsupported("resampling other than repeated pixels");
  const int64_t scale = y[2] / x[2];
  if (y[0] != x[0] || y[1] != x[1] || y[2] != x[2] * scale || y[3] != x[3] * scale)
    return n.unsupported("resampling from {} to {}", x.text(), y.text());
  n.set("scale", scale);
  n.in = {n.node.in[0]};
  return {};
}

// ---- Elements that move

Status reshape(NodeExport& n) {
  n.in = {n.node.in[0]};
  n.op = "reshape";
  n.alias = concrete(n.graph[n.node.in[0]].type)->rank() == 0 && n.shape_out() == Shape{1};
  n.attrs.clear();
  n.set("shape", ints(n.shape_out()));
  return {};
}

Status flatten(NodeExport& n) {
  const int64_t axis = n.attr<FlattenAttrs>().axis;
  if (axis != 1 && axis + n.shape_in(0).rank() != 1) return reshape(n);
  return plain(n);
}

Status squeeze(NodeExport& n) {
  const Shape x = n.shape_in(0);
  Ints axes;
  if (n.has(1)) {
    NNEX_ASSIGN(axes, n.numbers(1));
    if (axes.empty()) return reshape(n);
  }
  n.set("axis", axes);
  n.in = {n.node.in[0]};
  return {};
}

Status unsqueeze(NodeExport& n) {
  NNEX_ASSIGN(Ints axes, n.numbers(1));
  const int64_t rank = n.shape_out().rank();
  for (int64_t& a : axes) a = a < 0 ? a + rank : a;
  std::sort(axes.begin(), axes.end());
  const bool scalar = concrete(n.graph[n.node.in[0]].type)->rank() == 0;
  if (scalar || axes.empty() || axes.back() - axes.front() + 1 != static_cast<int64_t>(axes.size())) return reshape(n);
  n.set("axis", axes.front());
  n.set("num_newaxis", static_cast<int64_t>(axes.size()));
  n.in = {n.node.in[0]};
  return {};
}

Status slice(NodeExport& n) {
  const Shape x = n.shape_in(0);
  NNEX_ASSIGN(const Ints first, n.numbers(1));
  NNEX_ASSIGN(const Ints last, n.numbers(2));
  Ints axes, steps(first.size(), 1);
  for (size_t i = 0; i < first.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (n.has(3)) {
    NNEX_ASSIGN(axes, n.numbers(3));
  }
  if (n.has(4)) {
    NNEX_ASSIGN(steps, n.numbers(4));
  }
  Ints begin(static_cast<size_t>(x.rank()), 0), end = ints(x), stride(begin.size(), 1);
  for (size_t i = 0; i < first.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + x.rank() : axes[i]);
    const int64_t max = 2 * x[static_cast<int64_t>(axis)];  // beyond it nothing changes, and it fits every reader
    begin[axis] = std::clamp(first[i], -max, max), end[axis] = std::clamp(last[i], -max, max);
    stride[axis] = std::clamp(steps[i], -max, max);
  }
  n.set("begin", begin), n.set("end", end), n.set("stride", stride);
  n.in = {n.node.in[0]};
  return {};
}

/// A table of one axis, or of any shape that was flattened: CVM's look-up; else take.
Status gather(NodeExport& n) {
  const auto& a = n.attr<GatherAttrs>();
  if (a.from_end || a.outside != Outside::clamp) return n.unsupported("gather but with indices clamped to the axis");
  const Shape x = n.shape_in(0);
  const int64_t axis = a.axis < 0 ? a.axis + x.rank() : a.axis;
  if (x.rank() == 1) {
    n.op = "cvm_lut";
    n.set("in_dim", x[0]);
    n.in = {n.node.in[1], before_reshape(n, n.node.in[0])};
    return {};
  }
  n.op = "take";
  n.set("axis", axis);
  return plain(n);
}

Status tile(NodeExport& n) {
  NNEX_ASSIGN(const Ints reps, n.numbers(1));
  n.set("reps", reps);
  const Shape wide = n.shape_in(0), narrow = n.shape(before_reshape(n, n.node.in[0]));
  const int64_t ones = wide.rank() - narrow.rank();  // that the reader put in front
  const bool same = ones >= 0 && std::equal(narrow.begin(), narrow.end(), wide.begin() + ones) &&
                    std::all_of(wide.begin(), wide.begin() + ones, [](int64_t e) { return e == 1; });
  n.in = {same ? before_reshape(n, n.node.in[0]) : n.node.in[0]};
  return {};
}

Status slice_like(NodeExport& n) {
  n.set("axis", n.node.op->attrs.fields[0].get(n.node.attrs.get()));
  return plain(n);
}

Status copy(NodeExport& n) {
  n.alias = true;
  return plain(n);
}

const struct Row {
  std::string_view name, op;
  Status (*run)(NodeExport&);
} kRows[] = {
    {"abs", "abs", plain},
    {"add", "broadcast_add", two_operands},
    {"clamp", "clip", clamp},
    {"concat", "concatenate", with_fields},
    {"conv", "conv2d", conv},
    {"copy", "", copy},
    {"cvm_clip", "cvm_clip", with_fields},
    {"cvm_left_shift", "cvm_left_shift", with_fields},
    {"cvm_non_max_suppression", "non_max_suppression", with_fields},
    {"cvm_precision", "cvm_precision", plain},
    {"cvm_right_shift", "cvm_right_shift", with_fields},
    {"div", "broadcast_div", two_operands},
    {"flatten", "flatten", flatten},
    {"gather", "take", gather},
    {"get_valid_counts", "get_valid_counts", with_fields},
    {"gt", "broadcast_greater", greater},
    {"linear", "dense", dense},
    {"max", "broadcast_max", two_operands},
    {"max_pool", "max_pool2d", max_pool},
    {"max_reduce", "max", reduction},
    {"mul", "broadcast_mul", two_operands},
    {"neg", "negative", plain},
    {"relu", "relu", plain},
    {"repeat", "repeat", with_fields},
    {"reshape", "reshape", reshape},
    {"resize", "upsampling", resize},
    {"select", "where", select},
    {"slice", "strided_slice", slice},
    {"slice_like", "slice_like", slice_like},
    {"squeeze", "squeeze", squeeze},
    {"sub", "broadcast_sub", two_operands},
    {"sum_reduce", "sum", reduction},
    {"tile", "tile", tile},
    {"transpose", "transpose", with_fields},
    {"unsqueeze", "expand_dims", unsqueeze},
};

}  // namespace

bool has_spelling(std::string_view row) {
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.name == row; });
}

Status export_spelling(NodeExport& n) {
  for (const Row& r : kRows) {
    if (r.name != n.node.op->name) continue;
    n.op = r.op;
    return r.run(n);
  }
  return n.unsupported("such operator");
}

}  // namespace nnex::cvm_format
