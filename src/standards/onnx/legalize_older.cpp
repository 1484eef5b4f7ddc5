// What an opset that is asked for has no words for yet, in the words it has.

#include <algorithm>

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

constexpr LegalizeRow kOlder[] = {
    {"max_pool", drop_dilation, 10}, {"box", drop_dilation, 19}, {"lp_pool", drop_dilation, 18},
    {"slice", drop_steps, 10},       {"slice", count_axes, 11},  {"split", name_sizes, 18},
    {"resize", name_region, 13},     {"dft", name_axis, 20},     {"one_hot", count_indices, 11}};

}  // namespace

std::span<const LegalizeRow> legalize_older() { return kOlder; }

}  // namespace nnex::onnx_format
