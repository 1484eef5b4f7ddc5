// Integer networks: ONNX convolves and pools bytes, and has no shifts of signed numbers.

#include <algorithm>

#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/conv.h"
#include "ops/cvm.h"
#include "ops/gather.h"
#include "ops/join.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "ops/scatter.h"
#include "standards/onnx/legalize.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

/// 2^(bits-1) - 1
int64_t alpha(int64_t bits) { return (int64_t{1} << (bits - 1)) - 1; }

ValueId number(Legalized& l, DType type, int64_t value) {
  Tensor t = std::move(Tensor::make(type, Shape{})).value();
  set_int(t, 0, value);
  return l.b.constant(std::move(t));
}

ValueId clipped(Legalized& l, ValueId x, DType type, int64_t bits) {
  return l.b("clamp", {x, number(l, type, -alpha(bits)), number(l, type, alpha(bits))}, ClampAttrs{Crossed::high});
}

// ---- Shifts: in i64, where nothing overflows

ValueId wide(Legalized& l, ValueId x) { return l.cast(x, DType::i64); }

/// (x - x mod d) / d rounds down.
ValueId floor_quotient(Legalized& l, ValueId x, int64_t d) {
  const ValueId by = number(l, DType::i64, d);
  return l.b("div", {l.b("sub", {x, l.b("mod", {x, by})}), by});
}

/// ((x >> (s-1)) + 1) >> 1 is floor((x + 2^(s-1)) / 2^s).
void right_shift(Legalized& l) {
  const auto a = l.attrs<CvmShiftAttrs>();
  const ValueId half = number(l, DType::i64, int64_t{1} << (a.shift_bit - 1));
  const ValueId y = clipped(l, floor_quotient(l, l.b("add", {wide(l, l.in(0)), half}), int64_t{1} << a.shift_bit),
                            DType::i64, a.precision);
  l.graph.set_type(y, Type::tensor(DType::i64));
  l.replace(l.cast(y, DType::i32));
}

void left_shift(Legalized& l) {
  const auto a = l.attrs<CvmShiftAttrs>();
  if (a.shift_bit > 31) return;  // 2^31 2^32 needs more than 64 bits
  const ValueId y = l.b("mul", {wide(l, l.in(0)), number(l, DType::i64, int64_t{1} << a.shift_bit)});
  const ValueId narrow = clipped(l, y, DType::i64, a.precision);
  l.graph.set_type(narrow, Type::tensor(DType::i64));
  l.replace(l.cast(narrow, DType::i32));
}

void clip(Legalized& l) { l.replace(clipped(l, l.in(0), DType::i32, l.attrs<CvmClipAttrs>().precision)); }

/// 1, and one more for each power of two from 2 on that the magnitude reaches.
void digits(Legalized& l) {
  std::vector<int64_t> powers;
  for (int k = 1; k <= 31; ++k) powers.push_back(int64_t{1} << k);
  const ValueId size = l.b("unsqueeze", {l.b("abs", {wide(l, l.in(0))}), l.ints({-1})});
  const ValueId reached = l.b("ge", {size, l.ints(powers)}, AnswerAttrs{});
  ReduceAttrs sum;
  sum.keepdims = false, sum.when_empty = WhenEmpty::all;
  const ValueId count = l.b("sum_reduce", {l.cast(reached, DType::i32), l.ints({-1})}, sum);
  l.replace(l.b("add", {count, number(l, DType::i32, 1)}));
}

// ---- Bytes

/// A constant, perhaps cast, whose elements are bytes with a sign, as bytes under its name; invalid: it is none.
ValueId bytes_of(ir::Graph& graph, ValueId v) {
  if (const Node* producer = graph.producer(v); producer && producer->op->name == "cast") v = producer->in[0];
  const Tensor* t = graph[v].constant.tensor();
  if (!t || (t->dtype() != DType::i32 && t->dtype() != DType::i8)) return {};
  if (t->dtype() == DType::i8) return v;
  for (int64_t i = 0; i < t->count(); ++i)
    if (const int64_t x = int_at(*t, i); x < -128 || x > 127) return {};
  auto narrow = convert(*t, DType::i8);
  return narrow.ok() ? graph.add_constant(std::move(*narrow), graph[v].name) : ValueId{};
}

/// The input as bytes with a sign; invalid where it may need more than 8 bits.
ValueId as_bytes(Legalized& l, size_t i) {
  if (const ValueId bytes = bytes_of(l.graph, l.in(i)); bytes.valid()) return bytes;
  const int64_t bits = l.bits_of(l.in(i));
  return bits >= 1 && bits <= 8 ? l.cast(l.in(i), DType::i8) : ValueId{};
}

/// y = conv(x, w, b)   ->   y = conv_integer(x as i8, w as i8) + b, where both have 8 bits at most.
void integer_conv(Legalized& l) {
  const auto y_shape = l.out_shape();
  if (l.graph[l.node().out[0]].type.dtype != DType::i32 || !y_shape) return;
  const ValueId x = as_bytes(l, 0), w = as_bytes(l, 1);
  if (!x.valid() || !w.valid()) return;
  const NodeId made = l.b.node(op("conv_integer"), {x, w}, 1, l.node().attrs);
  ValueId y = l.graph[made].out[0];
  if (l.has(2)) {
    Ints extents(static_cast<size_t>(y_shape->rank() - 1), 1);
    extents[0] = -1;
    y = l.b("add", {y, l.reshaped(l.in(2), extents)});
  }
  l.replace(y);
}

/// Element j of window o at [o, j]; one beyond the input is the nearest of the window's own, which changes no maximum.
/// Nothing: a window has no element of the input, or the table would be large.
std::optional<Tensor> taps(const AxisWindow& w) {
  constexpr int64_t kMax = 1 << 22;
  if (w.output < 1 || w.size > kMax / w.output) return std::nullopt;
  Tensor out = std::move(Tensor::make(DType::i64, Shape{w.output, w.size})).value();
  for (int64_t o = 0; o < w.output; ++o) {
    const int64_t first = o * w.stride - w.before;
    const int64_t low = first < 0 ? (-first + w.dilation - 1) / w.dilation : 0;
    const int64_t high = first >= w.input ? -1 : std::min(w.size - 1, (w.input - 1 - first) / w.dilation);
    if (low > high) return std::nullopt;
    for (int64_t j = 0; j < w.size; ++j) set_int(out, o * w.size + j, first + std::clamp(j, low, high) * w.dilation);
  }
  return out;
}

/// Whole numbers of any width: each axis's windows side by side, and the largest of each. Invalid: the borders are
/// other ones.
ValueId pool_by_taps(Legalized& l) {
  const auto a = l.attrs<PoolAttrs>();
  const auto x = l.shape(0), y = l.out_shape();
  if (!x || !y || a.border != PoolBorder::ignore || a.channels_last || a.auto_pad != AutoPad::off) return {};
  ValueId v = l.in(0);
  for (int64_t axis = 0; axis < x->rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const auto pads = i < a.padding.size() ? a.padding[i] : std::pair<int64_t, int64_t>{};
    const auto w = window_of((*x)[axis], entry(a.size, i, 1), entry(a.stride, i, 1), entry(a.dilation, i, 1), pads,
                             AutoPad::off, a.ceil);
    if (!w.ok() || w->output != (*y)[axis]) return {};
    if (w->size == 1 && w->stride == 1 && pads == std::pair<int64_t, int64_t>{}) continue;
    auto table = taps(*w);
    if (!table) return {};
    GatherAttrs side_by_side;
    side_by_side.axis = axis;
    ExtremeAttrs largest;
    largest.keepdims = false, largest.when_empty = WhenEmpty::all;
    v = l.b("gather", {v, l.b.constant(std::move(*table))}, side_by_side);
    v = l.b("max_reduce", {v, l.ints({axis + 1})}, largest);
  }
  return v;
}

/// Pools compare bytes and reals: other whole numbers go another way, and where there is none, as reals that hold them.
void integer_pool(Legalized& l) {
  if (l.dtype(0) != DType::i32 || (l.node().out.size() > 1 && l.node().out[1].valid())) return;
  const int64_t bits = l.bits_of(l.in(0));
  const bool byte = bits >= 1 && bits <= 8;
  if (!byte)
    if (const ValueId y = pool_by_taps(l); y.valid()) return l.replace(y);
  const DType as = byte ? DType::i8 : DType::f64;
  const ValueId y = l.again({l.cast(l.in(0), as)});
  l.graph.set_type(y, Type::tensor(as));
  l.replace(l.cast(y, DType::i32));
}

// ---- Detection

/// Rows above the threshold move to the front: each row goes to its number among them, the others to one place behind
/// all, which is cut off.
void valid_counts(Legalized& l) {
  const auto x = l.shape(0);
  if (!x || x->rank() != 3 || x->count() > 1 << 24) return;
  const int64_t batch = (*x)[0], rows = (*x)[1], numbers = (*x)[2];
  const DType type = DType::i32;
  const ValueId score = l.b("slice", {l.in(0), l.ints({1}), l.ints({2}), l.ints({2})});
  const ValueId above = l.b("gt", {score, number(l, type, l.attrs<ValidCountsAttrs>().score_threshold)}, AnswerAttrs{});
  const ValueId ones = l.cast(above, type);  // [batch, rows, 1]
  ReduceAttrs sum;
  sum.keepdims = false, sum.when_empty = WhenEmpty::all;
  const ValueId count = l.b("sum_reduce", {ones, l.ints({1, 2})}, sum);
  const ValueId place = l.b("sub", {l.b("cum_sum", {ones, l.b.integer(1)}, CumulativeAttrs{}), number(l, type, 1)});
  const ValueId to = l.b("select", {above, place, number(l, type, rows)});
  const ValueId index = l.b("expand", {l.cast(to, DType::i64), l.ints({batch, rows, numbers})});
  Tensor empty = std::move(Tensor::make(type, Shape{batch, rows + 1, numbers})).value();
  std::fill(empty.mutable_as<int32_t>().begin(), empty.mutable_as<int32_t>().end(), -1);
  ScatterElementsAttrs along;
  along.axis = 1;
  const ValueId moved = l.b("scatter_elements", {l.b.constant(std::move(empty)), index, l.in(0)}, along);
  const ValueId front = l.b("slice", {moved, l.ints({0}), l.ints({rows}), l.ints({1})});
  const std::vector<ValueId> out = l.node().out;
  if (out[0].valid()) l.replace(count, 0);
  if (out[1].valid()) l.replace(front, 1);
}

constexpr LegalizeRow kIntegerRows[] = {
    {"cvm_right_shift", right_shift},   {"cvm_left_shift", left_shift}, {"cvm_clip", clip},
    {"cvm_precision", digits},          {"conv", integer_conv},         {"max_pool", integer_pool},
    {"get_valid_counts", valid_counts},
};

}  // namespace

std::span<const LegalizeRow> legalize_integers() { return kIntegerRows; }

}  // namespace nnex::onnx_format
