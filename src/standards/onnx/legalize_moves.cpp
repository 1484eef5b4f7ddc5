// Rows that move elements: axes, indices, shapes.

#include <algorithm>
#include <numeric>

#include "ops/compare.h"
#include "ops/gather.h"
#include "ops/join.h"
#include "ops/reduce.h"
#include "ops/scatter.h"
#include "ops/shape.h"
#include "standards/onnx/legalize.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

constexpr int64_t kFarEnd = INT64_MIN;  ///< Before the first element, for a slice that goes backwards.

// ---- Indices

/// An index port takes i32 and i64 alone.
void index_type(Legalized& l, size_t port) {
  if (l.has(port) && l.dtype(port) == DType::u32) l.graph.set_input(l.id, port, l.cast(l.in(port), DType::i64));
}

/// Parameter ports are lists of i64.
void parameters_i64(Legalized& l) {
  const auto& ports = l.node().op->inputs;
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].by_value && l.has(i) && (ports[i].type.allowed & ~kIndex) == 0 && l.dtype(i) != DType::i64) {
      if (const Tensor* t = l.constant(i)) {
        if (auto wide = convert(*t, DType::i64); wide.ok()) l.graph.set_input(l.id, i, l.b.constant(std::move(*wide)));
      } else {
        l.graph.set_input(l.id, i, l.cast(l.in(i), DType::i64));
      }
    }
}

/// max(min(index, high), low), all of them of the index's type.
ValueId bounded(Legalized& l, size_t port, const Ints& low, const Ints& high) {
  const DType type = l.dtype(port);
  const auto limit = [&](const Ints& numbers) {
    const Tensor wide = numbers.size() == 1 ? Tensor::scalar<int64_t>(numbers[0])
                                            : Tensor::of(Shape{static_cast<int64_t>(numbers.size())}, numbers);
    return l.b.constant(type == DType::i64 ? wide : std::move(convert(wide, type)).value());
  };
  const ValueId v = l.b("max", {l.b("min", {l.in(port), limit(high)}), limit(low)});
  l.graph.set_type(v, l.type(port));
  return v;
}

/// Indices that are clamped, or of which negative ones do not count from the end, are put into range first. `extents`:
/// of the axes that each index names.
template <class A>
void index_rule(Legalized& l, size_t port, const std::optional<Ints>& extents) {
  index_type(l, port);
  A a = l.attrs<A>();
  if (a.outside == Outside::clamp && extents && !extents->empty()) {
    Ints low, high;
    for (int64_t n : *extents) low.push_back(a.from_end ? -n : 0), high.push_back(n - 1);
    l.graph.set_input(l.id, port, bounded(l, port, low, high));
    a.outside = Outside::fault, a.from_end = true;
  }
  if (!a.from_end && a.outside == Outside::fault) a.from_end = true;  // a negative index was a fault
  l.set(a);
}

template <class A>
void one_axis(Legalized& l) {
  const A a = l.attrs<A>();
  std::optional<Ints> extent;
  if (const Type t = l.type(0); t.dims) {
    const auto rank = static_cast<int64_t>(t.dims->size());
    const int64_t axis = a.axis < 0 ? a.axis + rank : a.axis;
    if (axis >= 0 && axis < rank && (*t.dims)[static_cast<size_t>(axis)].is_number())
      extent = Ints{(*t.dims)[static_cast<size_t>(axis)].value()};
  }
  index_rule<A>(l, 1, extent);
}

/// Each number of an index row names an axis of x.
template <class A>
void row_of_axes(Legalized& l, size_t first) {
  const auto x = l.shape(0);
  const Type index = l.type(1);
  std::optional<Ints> extents;
  if (x && index.dims && !index.dims->empty() && index.dims->back().is_number()) {
    const auto count = static_cast<size_t>(index.dims->back().value());
    if (first + count <= static_cast<size_t>(x->rank())) {
      extents.emplace();
      for (size_t i = 0; i < count; ++i) extents->push_back((*x)[static_cast<int64_t>(first + i)]);
    }
  }
  index_rule<A>(l, 1, extents);
}
void gather_nd(Legalized& l) {
  row_of_axes<GatherNdAttrs>(l, static_cast<size_t>(l.attrs<GatherNdAttrs>().batch_dims));
}
void scatter_nd(Legalized& l) { row_of_axes<ScatterNdAttrs>(l, 0); }

/// A negative index that is off becomes one past the last.
void one_hot(Legalized& l) {
  OneHotAttrs a = l.attrs<OneHotAttrs>();
  if (a.from_end) return;
  const ValueId zero = l.b.number(l.dtype(0), 0), negative = l.b("lt", {l.in(0), zero});
  l.graph.set_type(negative, Type::tensor(DType::boolean, l.type(0).dims));
  const ValueId depth = l.rank(1) == 0 ? l.in(1) : l.reshaped(l.in(1), {});
  l.graph.set_input(l.id, 0, l.b("select", {negative, l.cast(depth, l.dtype(0)), l.in(0)}));
  a.from_end = true;
  l.set(a);
}

// ---- Shapes

/// A window of axes is spelled as the whole shape.
void reshape(Legalized& l) {
  ReshapeAttrs a = l.attrs<ReshapeAttrs>();
  const Tensor* shape = l.constant(1);
  if (a.axis_start != 0 || a.axis_count != -1) {
    const auto rank = l.rank(0);
    ValueId whole;
    if (const auto y = l.out_shape()) {
      whole = l.ints(Ints(y->begin(), y->end()));
      a.zero = ZeroExtent::literal;
    } else if (rank && a.zero == ZeroExtent::literal) {
      const int64_t end = a.axis_count < 0 ? *rank : a.axis_start + a.axis_count;
      ShapeAttrs before, after;
      before.end = a.axis_start, after.start = end;
      std::vector<ValueId> parts;
      if (a.axis_start > 0) parts.push_back(l.b("shape", {l.in(0)}, before));
      parts.push_back(l.in(1));
      if (end < *rank) parts.push_back(l.b("shape", {l.in(0)}, after));
      whole = l.b("concat", std::move(parts), AxisAttrs{});
    } else {
      return;
    }
    l.graph.set_input(l.id, 1, whole);
    a.axis_start = 0, a.axis_count = -1;
    shape = l.constant(1);
  }
  if (shape && a.zero == ZeroExtent::literal) {  // a zero that is none needs no flag
    const Ints numbers = ints_of(*shape);
    if (std::find(numbers.begin(), numbers.end(), 0) == numbers.end()) a.zero = ZeroExtent::copy;
  }
  if (a.zero == ZeroExtent::literal) a.zero = zero_of(l.type(0).dims, l.graph[l.node().out[0]].type.dims);
  l.set(a);
}

void split(Legalized& l) {
  SplitAttrs a = l.attrs<SplitAttrs>();
  if (l.has(1)) {
    a.ratios.clear(), a.chunks = 0;
    return l.set(a);
  }
  Ints sizes;
  const auto x = l.type(0).dims;
  const int64_t axis = a.axis < 0 && x ? a.axis + static_cast<int64_t>(x->size()) : a.axis;
  for (size_t o = 0; o < l.node().out.size(); ++o) {
    const auto y = l.out_shape(o);
    if (y && axis >= 0 && axis < y->rank()) sizes.push_back((*y)[axis]);
  }
  const auto count = static_cast<int64_t>(l.node().out.size());
  const bool equal = std::adjacent_find(a.ratios.begin(), a.ratios.end(), std::not_equal_to<>()) == a.ratios.end();
  if (static_cast<int64_t>(sizes.size()) == count)
    l.graph.set_input(l.id, 1, l.ints(sizes));
  else if (!a.ratios.empty() && equal)
    a.chunks = count;
  else
    return;
  if (l.has(1)) a.chunks = 0;
  a.ratios.clear();
  l.set(a);
}

ValueId with_axis(Legalized& l, ValueId x, int64_t axis) { return l.b("unsqueeze", {x, l.ints({axis})}); }

void stack(Legalized& l) {
  std::vector<ValueId> parts;
  const AxisAttrs a = l.attrs<AxisAttrs>();
  for (ValueId v : l.node().in) parts.push_back(with_axis(l, v, a.axis));
  l.replace(l.b("concat", std::move(parts), a));
}

void unstack(Legalized& l) {
  const std::vector<ValueId> out = l.node().out;
  SplitAttrs a;
  a.axis = l.attrs<AxisAttrs>().axis;
  std::vector<ValueId> in = {l.in(0), l.ints(Ints(out.size(), 1))};
  const NodeId parts = l.b.node(op("split"), std::move(in), out.size(), std::make_shared<SplitAttrs>(a));
  for (size_t o = 0; o < out.size(); ++o)
    if (out[o].valid()) l.replace(l.b("squeeze", {l.graph[parts].out[o], l.ints({a.axis})}), o);
}

/// Each slice several times: a new axis behind the repeated one, stretched and merged into it.
void repeat(Legalized& l) {
  const auto a = l.attrs<RepeatAttrs>();
  const auto x = l.shape(0), y = l.out_shape();
  if (!x || !y) return;
  const int64_t axis = a.axis < 0 ? a.axis + x->rank() : a.axis;
  Ints stretched(x->begin(), x->end());
  stretched.insert(stretched.begin() + axis + 1, a.repeats);
  const ValueId wide = l.b("expand", {with_axis(l, l.in(0), axis + 1), l.ints(stretched)});
  l.replace(l.reshaped(wide, Ints(y->begin(), y->end())));
}

void reverse(Legalized& l) {
  const AttrValue axes = l.node().op->attrs.find("axes")->get(l.node().attrs.get());
  Ints along;
  if (auto* list = std::get_if<Ints>(&axes)) {
    along = *list;
  } else if (const auto rank = l.rank(0)) {
    along.resize(static_cast<size_t>(*rank));
    std::iota(along.begin(), along.end(), 0);
  } else {
    return;
  }
  if (along.empty()) return l.replace(l.b("copy", {l.in(0)}));
  const Ints last(along.size(), -1);
  l.replace(l.b("slice", {l.in(0), l.ints(last), l.ints(Ints(along.size(), kFarEnd)), l.ints(along), l.ints(last)}));
}

/// ONNX takes a start before the first element as the first one; where the row goes backwards, nothing is there.
void slice(Legalized& l) {
  const auto x = l.shape(0);
  const Tensor *begin = l.constant(1), *end = l.constant(2), *stride = l.has(4) ? l.constant(4) : nullptr;
  const Tensor* axes = l.has(3) ? l.constant(3) : nullptr;
  if (!x || !begin || !end || !stride || (l.has(3) && !axes)) return;
  Ints from = ints_of(*begin), to = ints_of(*end);
  const Ints step = ints_of(*stride), along = axes ? ints_of(*axes) : Ints{};
  bool changed = false;
  for (size_t i = 0; i < from.size() && i < step.size() && i < to.size(); ++i) {
    const int64_t axis = i < along.size() ? along[i] : static_cast<int64_t>(i),
                  n = (*x)[axis < 0 ? axis + x->rank() : axis];
    if (step[i] > 0 || from[i] >= -n) continue;
    from[i] = to[i] = 0;
    changed = true;
  }
  if (!changed) return;
  l.graph.set_input(l.id, 1, l.ints(from));
  l.graph.set_input(l.id, 2, l.ints(to));
}

void slice_like(Legalized& l) {
  const auto x = l.shape(0), y = l.out_shape();
  if (!x || !y) return;
  Ints axes, end;
  for (int64_t i = 0; i < x->rank(); ++i)
    if ((*x)[i] != (*y)[i]) axes.push_back(i), end.push_back((*y)[i]);
  if (axes.empty()) return l.replace(l.b("copy", {l.in(0)}));
  l.replace(l.b("slice", {l.in(0), l.ints(Ints(axes.size(), 0)), l.ints(end), l.ints(axes)}));
}

/// Of amounts that add on one side of an axis and crop on the other, those that add come first, in a node of their own:
/// the text does not say which part of x the border then continues.
void pad(Legalized& l) {
  const Tensor* amounts = l.constant(1);
  if (!amounts) return;
  Ints more = ints_of(*amounts), less = more;
  const size_t axes = more.size() / 2;
  bool mixed = false;
  for (size_t i = 0; i < axes; ++i) mixed |= (more[i] < 0 && more[i + axes] > 0) || (more[i] > 0 && more[i + axes] < 0);
  if (!mixed) return;
  for (int64_t& n : more) n = std::max<int64_t>(n, 0);
  for (int64_t& n : less) n = std::min<int64_t>(n, 0);
  std::vector<ValueId> in = l.node().in;
  in[1] = l.ints(more);
  in[0] = l.again(in);
  in[1] = l.ints(less);
  if (in.size() > 2) in[2] = {};
  l.replace(l.b("pad", std::move(in), PadAttrs{}));
}

// ---- Places of the maximum

void arg_reduce(Legalized& l) {
  ArgReduceAttrs a = l.attrs<ArgReduceAttrs>();
  if (a.result == DType::i64) return;
  a.result = DType::i64;
  l.set(a);
  l.cast_result(DType::i64);
}

/// K is a list of one number.
void top_k(Legalized& l) {
  if (l.rank(1) == 0) l.graph.set_input(l.id, 1, l.reshaped(l.in(1), {1}));
}

constexpr LegalizeRow kMoveRows[] = {
    {"gather", one_axis<GatherAttrs>},
    {"gather_elements", one_axis<GatherAttrs>},
    {"scatter_elements", one_axis<ScatterElementsAttrs>},
    {"gather_nd", gather_nd},
    {"scatter_nd", scatter_nd},
    {"one_hot", one_hot, 0, 11},
    {"reshape", reshape},
    {"reshape", parameters_i64},
    {"squeeze", parameters_i64},
    {"unsqueeze", parameters_i64},
    {"expand", parameters_i64},
    {"tile", parameters_i64},
    {"slice", slice},
    {"slice", parameters_i64},
    {"pad", parameters_i64},
    {"pad", pad},
    {"top_k", parameters_i64},
    {"split", split},
    {"split", parameters_i64},
    {"constant_of_shape", parameters_i64},
    {"center_crop_pad", parameters_i64},
    {"stack", stack},
    {"unstack", unstack},
    {"repeat", repeat},
    {"reverse", reverse},
    {"slice_like", slice_like},
    {"argmax_reduce", arg_reduce},
    {"argmin_reduce", arg_reduce},
    {"top_k", top_k},
};

}  // namespace

std::span<const LegalizeRow> legalize_moves() { return kMoveRows; }

}  // namespace nnex::onnx_format
