// Elements moved by indices, as a gather of the flattened tensor.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graph/infer.h"
#include "ops/gather.h"
#include "ops/join.h"
#include "ops/resize.h"
#include "ops/scatter.h"
#include "ops/shape.h"
#include "passes/lower.h"
#include "tensor/convert.h"

namespace nnex::passes {
namespace {

constexpr int64_t kMaxPlaces = int64_t{1} << 24;  ///< Of elements: float32 counts them, and a file lists them.

/// 0, 1, 2, ... from `first` under this shape.
ValueId counted(Lowering& l, const Shape& shape, int64_t first = 0) {
  Ints all(static_cast<size_t>(shape.count()));
  std::iota(all.begin(), all.end(), first);
  return l.b.constant(Tensor::of(shape, all));
}

/// The node's row again, of other inputs: where those are constants, folding computes it.
ValueId again(Lowering& l, std::vector<ValueId> in) {
  return l.graph()[l.b.node(*l.node().op, std::move(in), 1, l.node().attrs)].out[0];
}

/// Elements of a flat tensor, by places that count from its start.
ValueId at_places(Lowering& l, ValueId flat, ValueId places) {
  GatherAttrs a;
  a.from_end = false;
  return l.row("gather", {flat, places}, a);
}

Status need_few(Lowering& l, int64_t places) {
  if (places <= kMaxPlaces) return {};
  return l.error("it moves {} elements; at most {} are counted", places, kMaxPlaces);
}

/// What else than x the row reads; `what` names it in errors.
Status need_constants(Lowering& l, std::string_view what) {
  if (l.constant(0)) return l.error("constants of this size are not computed");
  for (size_t i = 1; i < l.node().in.size(); ++i)
    if (l.given(i) && !l.constant(i)) return l.error("its {} is computed; needed numbers", what);
  return {};
}

/// y = row(x, constants), which only moves elements   ->   y = gather(x as a vector, row(0 1 2 ..., constants))
Status moved(Lowering& l, std::string_view what) {
  NNEX_TRY(need_constants(l, what));
  NNEX_ASSIGN(const Shape x, l.shape(0));
  NNEX_TRY(l.result_shape());
  NNEX_TRY(need_few(l, x.count()));
  std::vector<ValueId> in = l.node().in;
  in[0] = counted(l, x);
  l.give(0, at_places(l, l.reshaped(l.in(0), {x.count()}), again(l, std::move(in))));
  return {};
}

Status compress(Lowering& l) { return moved(l, "condition"); }
Status reverse_sequence(Lowering& l) { return moved(l, "lengths"); }

// ---- Indices that only a run knows: places are counted in float32

struct Indexed {
  int64_t extent;  ///< Of the axis.
  bool from_end;
  Outside outside;
};

/// Indices of an axis as reals that count from its start.
ValueId counted_from_start(Lowering& l, ValueId index, const Indexed& of) {
  const auto number = [&](double v) { return l.b.number(DType::f32, v); };
  const auto n = static_cast<double>(of.extent);
  ValueId i = l.cast(index, DType::f32);
  if (of.from_end) i = l.row("select", {l.row("lt", {i, number(0)}), l.row("add", {i, number(n)}), i});
  if (of.outside == Outside::clamp) i = l.row("clamp", {i, number(0), number(n - 1)});
  return i;
}

ValueId times(Lowering& l, ValueId v, int64_t by) {
  return by == 1 ? v : l.row("mul", {v, l.b.number(DType::f32, static_cast<double>(by))});
}

/// Elements that one step of an axis passes over.
int64_t pace_of(const Shape& s, int64_t axis) {
  int64_t pace = 1;
  for (int64_t a = axis + 1; a < s.rank(); ++a) pace *= s[a];
  return pace;
}

/// Where the other axes of every index begin, in elements of x.
ValueId other_places(Lowering& l, const Shape& x, const Shape& index, int64_t axis) {
  std::vector<float> at(static_cast<size_t>(index.count()));
  for (int64_t i = 0; i < index.count(); ++i) {
    int64_t rest = i, place = 0;
    for (int64_t a = index.rank(); a-- > 0; rest /= index[a])
      if (a != axis) place += rest % index[a] * pace_of(x, a);
    at[static_cast<size_t>(i)] = static_cast<float>(place);
  }
  return l.b.constant(Tensor::of(index, at));
}

Status gather_elements(Lowering& l) {
  if (l.constant(1) && !l.constant(0)) return moved(l, "index");
  const auto& a = l.attrs<GatherAttrs>();
  NNEX_ASSIGN(const Shape x, l.shape(0));
  NNEX_ASSIGN(const Shape index, l.shape(1));
  NNEX_TRY(need_few(l, std::max(x.count(), index.count())));
  const int64_t axis = a.axis < 0 ? a.axis + x.rank() : a.axis;
  const ValueId i = counted_from_start(l, l.in(1), {x[axis], a.from_end, a.outside});
  const ValueId place = l.row("add", {times(l, i, pace_of(x, axis)), other_places(l, x, index, axis)});
  l.give(0, at_places(l, l.reshaped(l.in(0), {x.count()}), l.cast_whole(place, DType::i64)));
  return {};
}

/// Rows of index name blocks: those of the axes before the last ones, which stay together.
Status gather_nd(Lowering& l) {
  const auto& a = l.attrs<GatherNdAttrs>();
  NNEX_ASSIGN(const Shape x, l.shape(0));
  NNEX_ASSIGN(const Shape index, l.shape(1));
  const int64_t taken = index[index.rank() - 1], batch = a.batch_dims, named = batch + taken;
  Ints blocks = {1}, rows(index.begin(), index.end() - 1);
  for (int64_t i = 0; i < named; ++i) blocks[0] *= x[i];
  NNEX_TRY(need_few(l, std::max(blocks[0], index.count())));
  const Shape of_blocks(std::vector<int64_t>(x.begin(), x.begin() + named));
  blocks.insert(blocks.end(), x.begin() + named, x.end());
  ValueId place;
  for (int64_t k = 0; k < taken; ++k) {
    const ValueId column = l.reshaped(l.sliced(l.in(1), index.rank() - 1, k, k + 1), rows);
    const ValueId i = counted_from_start(l, column, {x[batch + k], a.from_end, a.outside});
    const ValueId part = times(l, i, pace_of(of_blocks, batch + k));
    place = place.valid() ? l.row("add", {place, part}) : part;
  }
  if (batch > 0) {
    std::vector<float> first(static_cast<size_t>(Shape(rows).count()));
    const int64_t each = pace_of(Shape(rows), batch - 1);
    for (size_t i = 0; i < first.size(); ++i) {
      const int64_t block = static_cast<int64_t>(i) / each;
      first[i] = static_cast<float>(block * pace_of(of_blocks, batch - 1));
    }
    place = l.row("add", {place, l.b.constant(Tensor::of(Shape(rows), first))});
  }
  l.give(0, at_places(l, l.reshaped(l.in(0), blocks), l.cast_whole(place, DType::i64)));
  return {};
}

// ---- Writing by known indices

/// y = row(x, index, update)   ->   y = gather(x and update as one vector, row(places of x, index, those of update))
template <class A>
Status scattered(Lowering& l) {
  if (l.attrs<A>().reduction != Collision::none)
    return l.error("it combines elements; only replacing them can be said");
  if (!l.constant(1)) return l.error("its index is computed; needed numbers");
  if (l.constant(0) && l.constant(2)) return l.error("constants of this size are not computed");
  NNEX_ASSIGN(const Shape x, l.shape(0));
  NNEX_ASSIGN(const Shape update, l.shape(2));
  NNEX_TRY(need_few(l, x.count() + update.count()));
  const ValueId from = again(l, {counted(l, x), l.in(1), counted(l, update, x.count())});
  const ValueId both = l.concat({l.reshaped(l.in(0), {x.count()}), l.reshaped(l.in(2), {update.count()})}, 0);
  l.give(0, at_places(l, both, from));
  return {};
}

Status scatter_elements(Lowering& l) { return scattered<ScatterElementsAttrs>(l); }
Status scatter_nd(Lowering& l) { return scattered<ScatterNdAttrs>(l); }

// ---- Triangles

/// Where the row keeps elements, it keeps truths.
Status trilu(Lowering& l) {
  if (l.given(1) && !l.constant(1)) return l.error("its diagonal is computed; needed a number");
  if (l.constant(0)) return l.error("constants of this size are not computed");
  NNEX_ASSIGN(const Shape x, l.shape(0));
  const Shape matrix({x[x.rank() - 2], x[x.rank() - 1]});
  NNEX_TRY(need_few(l, matrix.count()));
  NNEX_ASSIGN(Tensor all, Tensor::make(DType::boolean, matrix));
  std::fill_n(all.mutable_data(), all.bytes(), std::byte{1});
  std::vector<ValueId> in = l.node().in;
  in[0] = l.b.constant(std::move(all));
  const DType type = l.type(0);
  NNEX_ASSIGN(const Tensor zero, convert(Tensor::scalar<float>(0), type));
  l.give(0, l.row("select", {again(l, std::move(in)), l.in(0), l.b.constant(zero)}));
  return {};
}

/// Extents alone decide: those of a constant serve.
Status eye_like(Lowering& l) {
  if (l.constant(0)) return l.error("constants of this size are not computed");
  NNEX_ASSIGN(const Shape x, l.shape(0));
  NNEX_TRY(need_few(l, x.count()));
  NNEX_ASSIGN(Tensor like, Tensor::make(l.type(0), x));
  std::fill_n(like.mutable_data(), like.bytes(), std::byte{0});
  l.give(0, again(l, {l.b.constant(std::move(like))}));
  return {};
}

Status constant_of_shape(Lowering& l) {
  NNEX_ASSIGN(const Shape y, l.result_shape());
  const Tensor value = l.attrs<ConstantOfShapeAttrs>().value.reshaped(Shape());
  l.give(0, l.row("expand", {l.b.constant(value), l.b.ints(Ints(y.begin(), y.end()))}));
  return {};
}

/// The index meets every place of the new axis; reals tell all places that there are apart.
Status one_hot(Lowering& l) {
  const auto& a = l.attrs<OneHotAttrs>();
  NNEX_ASSIGN(const Shape y, l.result_shape());
  const int64_t axis = a.axis < 0 ? a.axis + y.rank() : a.axis, depth = y[axis];
  NNEX_TRY(need_few(l, depth));
  Ints index(y.begin(), y.end()), places(static_cast<size_t>(y.rank()), 1);
  index[static_cast<size_t>(axis)] = 1, places[static_cast<size_t>(axis)] = depth;
  const ValueId whole = is_float(l.type(0)) ? l.cast(l.in(0), DType::i64) : l.in(0);
  const ValueId i = counted_from_start(l, whole, {depth, a.from_end, Outside::fault});
  const ValueId all = l.cast(counted(l, Shape(places)), DType::f32);
  const auto value = [&](int64_t k) { return l.reshaped(l.sliced(l.in(2), 0, k, k + 1), {}); };
  l.give(0, l.row("select", {l.row("eq", {l.reshaped(i, index), all}), value(1), value(0)}));
  return {};
}

/// Parts without elements are constants; the others are cut out.
Status split(Lowering& l) {
  const auto& a = l.attrs<SplitAttrs>();
  NNEX_ASSIGN(const Shape x, l.shape(0));
  const int64_t axis = a.axis < 0 ? a.axis + x.rank() : a.axis;
  std::vector<int64_t> sizes;
  for (ValueId v : l.node().out) {
    const auto shape = v.valid() ? concrete(l.graph()[v].type) : std::nullopt;
    if (!shape) return l.error("nobody reads one of its parts");
    sizes.push_back((*shape)[axis]);
  }
  int64_t at = 0;
  for (size_t o = 0; o < sizes.size(); at += sizes[o], ++o) {
    if (sizes[o] > 0) {
      l.give(o, l.sliced(l.in(0), axis, at, at + sizes[o]));
      continue;
    }
    Ints none(x.begin(), x.end());
    none[static_cast<size_t>(axis)] = 0;
    NNEX_ASSIGN(Tensor empty, Tensor::make(l.type(0), Shape(none)));
    l.graph().replace_uses(l.node().out[o], l.b.constant(std::move(empty)));
  }
  return {};
}

/// Parts without elements are left out.
Status concat(Lowering& l) {
  std::vector<ValueId> parts;
  for (ValueId v : l.node().in) {
    const Type type = l.graph()[v].is_constant() ? type_of(l.graph()[v].constant) : l.graph()[v].type;
    const auto shape = concrete(type);
    if (!shape || shape->count() > 0) parts.push_back(v);
  }
  if (parts.size() == l.node().in.size() || parts.empty()) return l.error("no part of it is without elements");
  l.give(0, l.concat(std::move(parts), l.attrs<AxisAttrs>().axis));
  return {};
}

/// Constants before and behind the axes, one after another.
Status pad(Lowering& l) {
  if (l.attrs<PadAttrs>().border != PadBorder::constant) return l.error("its border is no constant");
  if (!l.constant(1) || (l.given(3) && !l.constant(3))) return l.error("its padding is computed; needed numbers");
  NNEX_ASSIGN(const Shape x, l.shape(0));
  const Ints halves = ints_of(*l.constant(1));
  Ints axes(static_cast<size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (l.given(3)) axes = ints_of(*l.constant(3));
  if (halves.size() != 2 * axes.size() || *std::min_element(halves.begin(), halves.end()) < 0)
    return l.error("its padding takes elements away");
  NNEX_ASSIGN(const Tensor zero, convert(Tensor::scalar<float>(0), l.type(0)));
  const ValueId value = l.given(2) ? l.reshaped(l.in(2), {}) : l.b.constant(zero);
  Ints shape(x.begin(), x.end());
  ValueId y = l.in(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + x.rank() : axes[i];
    std::vector<ValueId> parts = {y};
    int64_t& extent = shape[static_cast<size_t>(axis)];
    const int64_t before = halves[i], inside = extent, behind = halves[i + axes.size()];
    const auto filled = [&](int64_t n) {
      extent = n;
      return l.row("expand", {value, l.b.ints(shape)});
    };
    if (before > 0) parts.insert(parts.begin(), filled(before));
    if (behind > 0) parts.push_back(filled(behind));
    extent = before + inside + behind;
    y = l.concat(std::move(parts), axis);
  }
  l.give(0, y);
  return {};
}

// ---- Resizing: each axis by a gather, or a product with the matrix of its weights

/// x by the weights of an axis.
ValueId weighted(Lowering& l, ValueId x, int64_t rank, int64_t axis, const ResizeTaps& t, DType type) {
  std::vector<double> all(static_cast<size_t>(t.in * t.out));
  const auto taps = static_cast<size_t>(t.taps);
  for (size_t o = 0; o < static_cast<size_t>(t.out); ++o) {
    const size_t count = t.count.empty() ? taps : static_cast<size_t>(t.count[o]);
    for (size_t k = 0; k < count; ++k)
      all[o * static_cast<size_t>(t.in) + static_cast<size_t>(t.index[o * taps + k])] += t.weight[o * taps + k];
  }
  auto matrix = convert(Tensor::of(Shape{t.out, t.in}, all), type);
  const ValueId w = l.b.constant(std::move(matrix).value());
  if (axis == rank - 1) return l.matmul(x, w, true);
  if (axis == rank - 2) return l.matmul(w, x);
  Ints axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<size_t>(axis)], axes.back());
  return l.transposed(l.matmul(l.transposed(x, axes), w, true), axes);
}

Status resize(Lowering& l) {
  const auto& a = l.attrs<ResizeAttrs>();
  for (size_t i = 1; i < 4; ++i)
    if (l.given(i) && !l.constant(i)) return l.error("its {} is computed; needed numbers", l.node().op->inputs[i].name);
  NNEX_ASSIGN(const Shape x, l.shape(0));
  NNEX_TRY(l.result_shape());
  const auto list = [&](size_t i) { return l.constant(i) ? reals_of(*l.constant(i)) : Reals{}; };
  NNEX_ASSIGN(const auto targets,
              resize_targets(a, x, list(1), list(2), l.constant(3) ? ints_of(*l.constant(3)) : Ints{}));
  std::vector<ResizeTaps> taps;
  for (const ResizeTarget& target : targets) {
    NNEX_ASSIGN(ResizeTaps t, resize_taps(a, target));
    if (!t.outside.empty()) return l.error("what lies outside has a value of its own");
    if (!t.weight.empty() && !is_float(l.type(0))) return l.error("its x is {}; weights take reals", name(l.type(0)));
    if (!t.same) NNEX_TRY(need_few(l, t.weight.empty() ? t.out : t.in * t.out));
    taps.push_back(std::move(t));
  }
  ValueId y = l.in(0);
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const ResizeTaps& t = taps[static_cast<size_t>(axis)];
    if (t.same) continue;
    GatherAttrs along;
    along.axis = axis, along.from_end = false;
    y = t.weight.empty() ? l.row("gather", {y, l.b.ints(t.index)}, along)
                         : weighted(l, y, x.rank(), axis, t, l.type(0));
  }
  l.give(0, y);
  return {};
}

constexpr LowerRow kLowerMoves[] = {
    {"gather_elements", gather_elements},
    {"gather_nd", gather_nd},
    {"scatter_elements", scatter_elements},
    {"scatter_nd", scatter_nd},
    {"compress", compress},
    {"reverse_sequence", reverse_sequence},
    {"trilu", trilu},
    {"eye_like", eye_like},
    {"constant_of_shape", constant_of_shape},
    {"one_hot", one_hot},
    {"split", split},
    {"concat", concat},
    {"pad", pad},
    {"resize", resize},
};

}  // namespace

std::span<const LowerRow> lower_moves() { return kLowerMoves; }

}  // namespace nnex::passes
