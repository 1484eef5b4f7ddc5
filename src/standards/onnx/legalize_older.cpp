// What an opset that is asked for has no words for yet, in the words it has.

#include <algorithm>

#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/gather.h"
#include "ops/join.h"
#include "ops/pool.h"
#include "standards/onnx/legalize.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

bool all_ones(const Ints& list) {
  return std::all_of(list.begin(), list.end(), [](int64_t i) { return i == 1; });
}

/// Windows without gaps are the only ones there were.
void drop_dilation(Legalized& l) {
  PoolAttrs a = l.attrs<PoolAttrs>();
  if (a.dilation.empty() || !all_ones(a.dilation)) return;
  a.dilation.clear();
  l.set(a);
}

/// Steps of 1 go without saying.
void drop_steps(Legalized& l) {
  const Tensor* steps = l.constant(4);
  if (!steps) return;
  for (int64_t i = 0; i < steps->count(); ++i)
    if (int_at(*steps, i) != 1) return;
  l.graph.set_input(l.id, 4, ValueId{});
}

/// Axes count from the start.
void count_axes(Legalized& l) {
  const Tensor* axes = l.constant(3);
  const auto rank = l.rank(0);
  if (!axes || !rank || !is_int(axes->dtype())) return;
  Ints counted = ints_of(*axes);
  bool changed = false;
  for (int64_t& axis : counted)
    if (axis < 0) axis += *rank, changed = true;
  if (!changed) return;
  Tensor all = Tensor::of(Shape{static_cast<int64_t>(counted.size())}, counted);
  auto as_before = convert(all, axes->dtype());
  if (as_before.ok()) l.graph.set_input(l.id, 3, l.b.constant(std::move(*as_before)));
}

/// A number of parts is a list of their extents.
void name_sizes(Legalized& l) {
  SplitAttrs a = l.attrs<SplitAttrs>();
  const auto x = l.type(0).dims;
  if (a.chunks == 0 || !x) return;
  const int64_t axis = a.axis < 0 ? a.axis + static_cast<int64_t>(x->size()) : a.axis;
  Ints sizes;
  for (size_t o = 0; o < l.node().out.size(); ++o) {
    const auto made = l.out_shape(o);
    if (!made) return;
    sizes.push_back((*made)[axis]);
  }
  a.chunks = 0;
  l.set(a);
  std::vector<ValueId> in = {l.in(0), l.ints(sizes)};
  l.graph.set_inputs(l.id, std::move(in));
}

/// Inputs that were required then are there, and empty.
void name_region(Legalized& l) {
  std::vector<ValueId> in = l.node().in;
  in.resize(std::max<size_t>(in.size(), 3));
  for (size_t i = 1; i < 3; ++i)
    if (!in[i].valid()) in[i] = l.b.constant(std::move(Tensor::make(DType::f32, Shape{0})).value());
  l.graph.set_inputs(l.id, std::move(in));
}

/// The axis that goes without saying was another one.
void name_axis(Legalized& l) {
  if (!l.has(0) || l.has(2)) return;
  std::vector<ValueId> in = l.node().in;
  in.resize(3);
  in[2] = l.b.integer(-2);
  l.graph.set_inputs(l.id, std::move(in));
}

/// Indices count from the start: those that are negative are counted before. What is off then is off as it was.
void count_indices(Legalized& l) {
  OneHotAttrs a = l.attrs<OneHotAttrs>();
  if (!a.from_end) return;
  a.from_end = false;
  l.set(a);
  if (is_unsigned_int(l.dtype(0))) return;
  const ValueId zero = l.b.number(l.dtype(0), 0), negative = l.b("lt", {l.in(0), zero});
  l.graph.set_type(negative, Type::tensor(DType::boolean, l.type(0).dims));
  const ValueId depth = l.rank(1) == 0 ? l.in(1) : l.reshaped(l.in(1), {});
  const ValueId counted = l.b("add", {l.in(0), l.cast(depth, l.dtype(0))});
  l.graph.set_input(l.id, 0, l.b("select", {negative, counted, l.in(0)}));
}

/// Known indices are counted from the start.
void count_from_start(Legalized& l) {
  const Tensor* indices = l.constant(1);
  const auto x = l.type(0).dims;
  const GatherAttrs a = l.attrs<GatherAttrs>();
  if (!indices || !x || x->empty()) return;
  const Ints all = ints_of(*indices);
  if (std::none_of(all.begin(), all.end(), [](int64_t i) { return i < 0; })) return;
  const int64_t axis = a.axis < 0 ? a.axis + static_cast<int64_t>(x->size()) : a.axis;
  const Dim& extent = (*x)[static_cast<size_t>(axis)];
  Ints counted = all;
  for (int64_t& i : counted)
    if (i < 0) i = extent.is_number() ? i + extent.value() : 1;
  const auto constant = [&](const Ints& list) {
    return l.b.constant(Tensor::of(Shape{static_cast<int64_t>(list.size())}, list).reshaped(indices->shape()));
  };
  if (extent.is_number()) return l.graph.set_input(l.id, 1, constant(counted));
  for (size_t i = 0; i < all.size(); ++i) counted[i] = all[i] < 0 ? 1 : 0;
  ShapeAttrs one;
  const ValueId extents = l.b("shape", {l.in(0)}, one);
  const ValueId here = l.reshaped(l.b("slice", {extents, l.ints({axis}), l.ints({axis + 1}), l.ints({0})}), {});
  l.graph.set_input(l.id, 1, l.b("add", {l.b("mul", {constant(counted), here}), constant(all)}));
}

// ---- Padding

/// Amounts of every axis, in place of those of some.
void pad_all_axes(Legalized& l) {
  const Tensor *amounts = l.constant(1), *axes = l.has(3) ? l.constant(3) : nullptr;
  const auto rank = l.rank(0);
  if (!amounts || !axes || !rank) return;
  const Ints some = ints_of(*amounts), along = ints_of(*axes);
  if (some.size() != 2 * along.size()) return;
  Ints all(static_cast<size_t>(2 * *rank), 0);
  for (size_t i = 0; i < along.size(); ++i) {
    const auto axis = static_cast<size_t>(along[i] < 0 ? along[i] + *rank : along[i]);
    all[axis] = some[i], all[axis + static_cast<size_t>(*rank)] = some[i + along.size()];
  }
  std::vector<ValueId> in = {l.in(0), l.ints(all)};
  if (l.has(2)) in.push_back(l.in(2));
  l.graph.set_inputs(l.id, std::move(in));
}

/// The middle: of an odd surplus or lack the larger half is at the end.
void pad_and_crop(Legalized& l) {
  const auto x = l.shape(0), y = l.out_shape();
  if (!x || !y) return;
  Ints amounts(static_cast<size_t>(2 * x->rank()));
  for (int64_t i = 0; i < x->rank(); ++i) {
    const int64_t more = (*y)[i] - (*x)[i];
    amounts[static_cast<size_t>(i)] = more / 2;
    amounts[static_cast<size_t>(i + x->rank())] = more - more / 2;
  }
  l.replace(l.b("pad", {l.in(0), l.ints(amounts)}, PadAttrs{}));
}

/// Averages that count zeros around x are of an x that has them.
void pad_before_average(Legalized& l) {
  PoolAttrs a = l.attrs<PoolAttrs>();
  if (a.divisor != Divisor::padded || a.auto_pad != AutoPad::off || a.ceil) return;
  Ints before, after;
  for (const auto& [p, q] : a.padding) before.push_back(p), after.push_back(q);
  const auto rank = l.rank(0);
  if (!rank || static_cast<int64_t>(before.size()) > *rank) return;
  before.resize(static_cast<size_t>(*rank)), after.resize(static_cast<size_t>(*rank));
  before.insert(before.end(), after.begin(), after.end());
  l.graph.set_input(l.id, 0, l.b("pad", {l.in(0), l.ints(before)}, PadAttrs{}));
  a.padding.clear(), a.divisor = Divisor::inside;
  l.set(a);
}

/// Extents of 1 are repeated.
void tile(Legalized& l) {
  const auto x = l.shape(0), y = l.out_shape();
  if (!x || !y || x->rank() > y->rank()) return;
  Ints from(static_cast<size_t>(y->rank()), 1), times;
  std::copy(x->begin(), x->end(), from.end() - x->rank());
  for (size_t i = 0; i < from.size(); ++i) times.push_back(from[i] == 1 ? (*y)[static_cast<int64_t>(i)] : 1);
  const ValueId v = x->rank() == y->rank() ? l.in(0) : l.reshaped(l.in(0), from);
  l.replace(l.b("tile", {v, l.ints(times)}));
}

// ---- Comparisons and limits

ValueId truth(Legalized& l, std::string_view row, std::vector<ValueId> in) {
  const ValueId v = l.b(row, std::move(in), AnswerAttrs{});
  l.graph.set_type(v, Type::tensor(DType::boolean, l.graph[l.node().out[0]].type.dims));
  return v;
}

/// x >= y   ->   x > y or x == y
void at_least(Legalized& l) { l.replace(truth(l, "or", {truth(l, "gt", l.node().in), truth(l, "eq", l.node().in)})); }
void at_most(Legalized& l) { l.replace(truth(l, "or", {truth(l, "lt", l.node().in), truth(l, "eq", l.node().in)})); }

/// Numbers are equal of which none is less, if both are numbers: what is below 1 or above 0 is one.
void equal(Legalized& l) {
  const DType type = l.dtype(0);
  if (type == DType::boolean || type == DType::i32 || type == DType::i64 || !(is_real(type) || is_int(type))) return;
  const std::vector<ValueId> in = l.node().in;
  ValueId y = truth(l, "not", {truth(l, "or", {truth(l, "lt", in), truth(l, "gt", in)})});
  for (size_t i = 0; i < in.size() && is_real(type); ++i) {
    const auto is = [&](std::string_view row, double limit) {
      const ValueId v = l.b(row, {in[i], l.b.number(type, limit)}, AnswerAttrs{});
      l.graph.set_type(v, Type::tensor(DType::boolean, l.type(i).dims));
      return v;
    };
    const ValueId number = l.b("or", {is("lt", 1), is("gt", 0)}, AnswerAttrs{});
    l.graph.set_type(number, Type::tensor(DType::boolean, l.type(i).dims));
    y = truth(l, "and", {y, number});
  }
  l.replace(y);
}

/// Only real numbers were compared: doubles hold integers of 32 bits.
void compare_reals(Legalized& l) {
  const DType type = l.dtype(0);
  if (!is_int(type) || bits(type) > 32) return;
  for (size_t i = 0; i < l.node().in.size(); ++i) l.graph.set_input(l.id, i, l.cast(l.in(i), DType::f64));
}

/// Limits that are computed are a minimum and a maximum.
void computed_limits(Legalized& l) {
  if ((!l.has(1) || l.constant(1)) && (!l.has(2) || l.constant(2))) return;
  ValueId y = l.in(0);
  if (l.has(1)) y = l.b("max", {y, l.in(1)}, NansAttrs{});
  if (l.has(2)) y = l.b("min", {y, l.in(2)}, NansAttrs{});
  l.replace(y);
}

/// The third operand of a product had to be there.
void add_zero(Legalized& l) {
  if (l.has(2)) return;
  std::vector<ValueId> in = {l.in(0), l.in(1), l.constant_as(l.b.number(l.dtype(0), 0), Shape{1})};
  l.graph.set_inputs(l.id, std::move(in));
}

constexpr LegalizeRow kOlder[] = {
    {"linear", add_zero, 11},
    {"max_pool", drop_dilation, 10},
    {"box", drop_dilation, 19},
    {"box", pad_before_average, 7},
    {"lp_pool", drop_dilation, 18},
    {"slice", drop_steps, 10},
    {"slice", count_axes, 11},
    {"split", name_sizes, 18},
    {"resize", name_region, 13},
    {"dft", name_axis, 20},
    {"one_hot", count_indices, 11},
    {"gather", count_from_start, 11},
    {"expand", tile, 8},
    {"pad", pad_all_axes, 18},
    {"center_crop_pad", pad_and_crop, 18},
    {"ge", at_least, 12},
    {"le", at_most, 12},
    {"eq", equal, 11},
    {"lt", compare_reals, 9},
    {"gt", compare_reals, 9},
    {"clamp", computed_limits, 11},
};

}  // namespace

std::span<const LegalizeRow> legalize_older() { return kOlder; }

}  // namespace nnex::onnx_format
