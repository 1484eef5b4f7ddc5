#include "graph/intervals.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "graph/infer.h"
#include "ops/arithmetic.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/pool.h"
#include "ops/precision_call.h"
#include "ops/reduce.h"
#include "ops/resize.h"
#include "ops/traits.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

/// The numbers an integer type holds.
std::optional<Interval> range_of(DType t) {
  switch (t) {
    case DType::boolean:
      return Interval{0, 1};
    case DType::i8:
      return Interval{-128, 127};
    case DType::u8:
      return Interval{0, 255};
    case DType::i16:
      return Interval{-32768, 32767};
    case DType::u16:
      return Interval{0, 65535};
    case DType::i32:
      return kAllInt32;
    default:
      return std::nullopt;
  }
}

Interval hull(const Interval& a, const Interval& b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

/// Bounds end here: what lies beyond is only known to be beyond. Products of two fit 128 bits.
constexpr int64_t kLimit = int64_t{1} << 62;
using Wide = __int128;

int64_t capped(Wide n) { return static_cast<int64_t>(std::clamp(n, -Wide{kLimit}, Wide{kLimit})); }
Interval capped(Wide low, Wide high) { return {capped(low), capped(high)}; }

Interval times(const Interval& a, const Interval& b) {
  const std::array<Wide, 4> p = {Wide{a.low} * b.low, Wide{a.low} * b.high, Wide{a.high} * b.low,
                                 Wide{a.high} * b.high};
  return capped(*std::min_element(p.begin(), p.end()), *std::max_element(p.begin(), p.end()));
}

/// Truncated quotients; 0 for a divisor of 0. Over divisors of one sign the ends of both ranges give the extremes.
Interval quotients(const Interval& x, const Interval& y) {
  std::optional<Interval> all;
  const auto take = [&](int64_t q) { all = hull(all.value_or(Interval{q, q}), {q, q}); };
  if (y.low <= 0 && y.high >= 0) take(0);
  const auto divide = [&](int64_t low, int64_t high) {
    for (int64_t d : {low, high}) take(x.low / d), take(x.high / d);
  };
  if (y.low < 0) divide(y.low, std::min<int64_t>(y.high, -1));
  if (y.high > 0) divide(std::max<int64_t>(y.low, 1), y.high);
  return *all;
}

Interval clamped(const Interval& x, int64_t min, int64_t max) {
  return {std::clamp(x.low, min, max), std::clamp(x.high, min, max)};
}

/// Products of bytes less their zero points.
bool is_integer_product(const OpDef& op) { return op.name == "conv_integer" || op.name == "matmul_integer"; }

int64_t number(const Node& node, std::string_view field) {
  return std::get<int64_t>(node.op->attrs.find(field)->get(node.attrs.get()));
}

/// Elements of a tensor of known extents.
std::optional<int64_t> count_of(const Type& t) {
  const auto shape = concrete(t);
  return shape ? std::optional(shape->count()) : std::nullopt;
}

/// f(x) for `count` elements of an integer tensor, from element `first` on, `step` apart.
template <class F>
void numbers(const Tensor& t, int64_t first, int64_t step, int64_t count, F f) {
  const auto typed = [&](const auto& elements) {
    for (int64_t k = 0; k < count; ++k) f(int64_t{elements[static_cast<size_t>(first + k * step)]});
  };
  if (t.dtype() == DType::i8) return typed(t.as<int8_t>());
  if (t.dtype() == DType::i32 && reinterpret_cast<uintptr_t>(t.data()) % sizeof(int32_t) == 0)
    return typed(t.as<int32_t>());
  for (int64_t k = 0; k < count; ++k) f(int_at(t, first + k * step));
}

/// Sums of the positive and of the negative ones among numbers.
struct SignedSums {
  int64_t positive = 0, negative = 0;

  void add(int64_t x) { positive += std::max<int64_t>(x, 0), negative += std::min<int64_t>(x, 0); }
};

SignedSums signed_sums(const Tensor& t, int64_t first, int64_t step, int64_t count) {
  SignedSums sums;
  if (t.dtype() == DType::i8 && step == 1) {
    constexpr int64_t kBlock = 256;  // a fixed count: the compiler makes vectors of it
    const auto bytes = t.as<int8_t>();
    for (; count >= kBlock; count -= kBlock, first += kBlock) {
      const int8_t* const p = &bytes[static_cast<size_t>(first)];
      int32_t all = 0, size = 0;
      for (int64_t k = 0; k < kBlock; ++k) all += p[k], size += p[k] < 0 ? -p[k] : p[k];
      sums.positive += (size + all) / 2, sums.negative -= (size - all) / 2;
    }
  }
  numbers(t, first, step, count, [&](int64_t x) { sums.add(x); });
  return sums;
}

}  // namespace

int Interval::bits() const {
  int p = 1;
  while (p < 62 && magnitude() > (int64_t{1} << (p - 1)) - 1) ++p;
  return p;
}

/// A result and the bound of its partial sums.
struct Intervals::Sum {
  Interval result;
  int64_t partial = 0;

  Sum(const Interval& r) : result(r) {}  // NOLINT: implicit on purpose
  Sum(const Interval& r, int64_t p) : result(r), partial(p) {}
};

Intervals::Intervals(const ir::Graph& graph, const std::map<ValueId, Interval>& known)
    : graph_(graph), of_(graph.value_count()), open_(graph.value_count()) {
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& v = graph[ValueId{n}];
    if (!v.type.is_tensor()) continue;
    if (v.is_constant())
      of_[n] = constant(ValueId{n});
    else if (!v.producer.valid())
      of_[n] = range_of(v.type.dtype);
  }
  for (const auto& [v, interval] : known) of_[v.n] = interval;
  for (NodeId id : graph.order()) node(id);
}

/// The least and the greatest element.
std::optional<Interval> Intervals::constant(ValueId v) const {
  const Tensor* t = graph_[v].constant.tensor();
  if (!t || (!range_of(t->dtype()) && t->dtype() != DType::i64) || t->count() == 0) return std::nullopt;
  Interval i = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  numbers(*t, 0, 1, t->count(), [&](int64_t x) { i.low = std::min(i.low, x), i.high = std::max(i.high, x); });
  return i.inside(-kLimit, kLimit) ? std::optional(i) : std::nullopt;
}

/// The numbers of a constant, be they stored as bytes.
const Tensor* Intervals::content(ValueId v) const {
  const Node* producer = graph_.producer(v);
  const bool widens = producer && producer->op->name == "cast" && graph_[v].type.dtype == DType::i32 &&
                      graph_[producer->in[0]].type.is_tensor() && graph_[producer->in[0]].type.dtype == DType::i8;
  if (widens) v = producer->in[0];
  const Tensor* t = graph_[v].constant.tensor();
  return t && is_int(t->dtype()) ? t : nullptr;
}

std::optional<Interval> Intervals::input(const Node& node, size_t i) const {
  return i < node.in.size() && node.in[i].valid() ? of_[node.in[i].n] : std::nullopt;
}

void Intervals::node(NodeId id) {
  const Node& node = graph_[id];
  for (size_t o = 0; o < node.out.size(); ++o)
    if (node.out[o].valid() && graph_[node.out[o]].type.is_tensor())
      of_[node.out[o].n] = range_of(graph_[node.out[o]].type.dtype);
  other_outputs(node);
  if (node.out.empty() || !node.out[0].valid() || !graph_[node.out[0]].type.is_tensor()) return;
  const DType type = graph_[node.out[0]].type.dtype;
  const auto range = type == DType::i64 ? std::optional(Interval{1 - kLimit, kLimit - 1}) : range_of(type);
  if (!range) return;
  const auto sum = result(node);
  const uint32_t y = node.out[0].n;
  const bool whole = type == DType::i32 && !content(node.out[0]);  // no stored filter
  const bool from_open =
      std::any_of(node.in.begin(), node.in.end(), [&](ValueId v) { return v.valid() && open_[v.n]; });
  const bool fits = sum && sum->result.inside(range->low, range->high);
  if (fits) of_[y] = sum->result;
  const bool overflows = sum && (!fits || sum->partial > range->high);
  const bool bounded = sum && !(overflows && from_open);
  open_[y] = !bounded || (from_open && of_[y] && (of_[y]->low == range->low || of_[y]->high == range->high));
  if (whole) nodes_.push_back({id, sum ? sum->result : *range, sum ? sum->partial : 0, overflows, bounded});
}

/// Outputs behind the first: parts of the same elements, or rows moved among rows of -1.
void Intervals::other_outputs(const Node& node) {
  const auto x = input(node, 0);
  const bool counts = node.op->name == "get_valid_counts";
  if (!x || (!counts && node.op->elements != Elements::of_first)) return;
  for (size_t o = 1; o < node.out.size(); ++o)
    if (node.out[o].valid()) of_[node.out[o].n] = counts ? hull(*x, {-1, -1}) : *x;
}

/// What a product multiplies: intervals of both factors, the filter's numbers where they are constant.
struct Intervals::Product {
  Interval x, w;
  const Tensor* numbers = nullptr;
  bool rows_are_columns = true;  ///< Which axis of w counts the columns.
  ValueId bias;
};

std::optional<Intervals::Product> Intervals::factors(const Node& node) const {
  const std::string_view name = node.op->name;
  const auto x = input(node, 0), w = input(node, 1);
  if (!x || !w) return std::nullopt;
  Product p{*x, *w, content(node.in[1]), true, {}};
  if (is_integer_product(*node.op)) {
    for (size_t i : {size_t{2}, size_t{3}}) {
      if (i >= node.in.size() || !node.in[i].valid()) continue;
      const auto zero = input(node, i);
      if (!zero) return std::nullopt;
      Interval& from = i == 2 ? p.x : p.w;
      from = {from.low - zero->high, from.high - zero->low};
      if (i == 3 && !(*zero == Interval{0, 0})) p.numbers = nullptr;
    }
    p.rows_are_columns = name == "conv_integer";
  } else if (node.in.size() > 2) {
    p.bias = node.in[2];
  }
  if (name == "linear") {
    const auto& a = graph_.attrs<LinearAttrs>(node);
    if (a.alpha != 1 || a.beta != 1) return std::nullopt;
    p.rows_are_columns = a.transpose_b;
  }
  if (name == "matmul") p.rows_are_columns = graph_.attrs<MatmulAttrs>(node).transpose_b;
  if (node.op->work == Work::conv) p.x = hull(p.x, {0, 0});  // what lies beyond: 0, or elements of x
  constexpr int64_t kMaxFactor = int64_t{1} << 32;           // sums of a column's numbers fit 64 bits
  const bool small = p.x.inside(-kMaxFactor, kMaxFactor) && p.w.inside(-kMaxFactor, kMaxFactor);
  return small ? std::optional(p) : std::nullopt;
}

/// Convolutions and matrix products: by output column over the real weights where they are constant, else by their
/// ranges.
std::optional<Intervals::Sum> Intervals::product(const Node& node) const {
  const auto w_shape = concrete(graph_[node.in[1]].type), x_shape = concrete(graph_[node.in[0]].type);
  const auto p = factors(node);
  if (!p || !w_shape || !x_shape || w_shape->count() == 0 || x_shape->rank() == 0) return std::nullopt;
  const bool is_conv = node.op->work == Work::conv;
  if (!is_conv && w_shape->rank() != 2) return std::nullopt;
  const bool has_bias = p->bias.valid(), rows_are_columns = p->rows_are_columns;
  if (has_bias && !of_[p->bias.n]) return std::nullopt;
  const Interval add = has_bias ? of_[p->bias.n].value() : Interval{0, 0};
  const Interval &x = p->x, &w = p->w;
  const int64_t columns = rows_are_columns ? (*w_shape)[0] : (*w_shape)[1], terms = w_shape->count() / columns;
  const Tensor* t = p->numbers;
  const Wide magnitude = x.magnitude();
  if (!t) {
    const Interval term = times(x, w);
    return Sum({capped(Wide{term.low} * terms + add.low), capped(Wide{term.high} * terms + add.high)},
               capped(magnitude * w.magnitude() * terms + add.magnitude()));
  }
  const Tensor* b = has_bias ? graph_[p->bias].constant.tensor() : nullptr;
  if (b && b->count() != columns) b = nullptr;
  std::optional<Sum> all;
  for (int64_t c = 0; c < columns; ++c) {
    const auto [positive, negative] =
        signed_sums(*t, rows_are_columns ? c * terms : c, rows_are_columns ? 1 : columns, terms);
    const Interval plus = b ? Interval{int_at(*b, c), int_at(*b, c)} : add;
    const Sum one({capped(Wide{positive} * x.low + Wide{negative} * x.high + plus.low),
                   capped(Wide{positive} * x.high + Wide{negative} * x.low + plus.high)},
                  capped(magnitude * (positive - negative) + plus.magnitude()));
    all = all ? Sum(hull(all->result, one.result), std::max(all->partial, one.partial)) : one;
  }
  return all;
}

/// CVM's own rows.
std::optional<Intervals::Sum> Intervals::cvm(const Node& node, const Interval& x) const {
  const std::string_view name = node.op->name;
  if (name == "cvm_precision") {
    const int64_t min = x.low > 0 ? x.low : x.high < 0 ? -x.high : 0;
    const auto digits_of = [](int64_t n) { return std::max<int64_t>(1, digits(static_cast<uint64_t>(n))); };
    return Interval{digits_of(min), digits_of(x.magnitude())};
  }
  // Coordinates are subtracted from one another.
  if (name == "cvm_non_max_suppression") return Sum(hull(x, {-1, -1}), x.high - x.low);
  if (name != "cvm_clip" && name != "cvm_right_shift" && name != "cvm_left_shift") return std::nullopt;
  const int64_t precision = number(node, "precision");
  if (precision < 1 || precision > 32) return std::nullopt;
  const int64_t max = bound_of_bits(precision);
  if (name == "cvm_clip") return clamped(x, -max, max);
  const int64_t bits = number(node, "shift_bit");
  if (bits < 1 || bits > 32) return std::nullopt;
  if (name == "cvm_left_shift") return clamped(times(x, {int64_t{1} << bits, int64_t{1} << bits}), -max, max);
  const auto shifted = [&](int64_t n) { return ((n >> (bits - 1)) + 1) >> 1; };
  return clamped({shifted(x.low), shifted(x.high)}, -max, max);
}

/// max_reduce and min_reduce: elements of x and the number that takes part in every set. Over nothing the result is
/// the end of the type's range.
std::optional<Intervals::Sum> Intervals::extreme(const Node& node, const Interval& x) const {
  const auto from = count_of(graph_[node.in[0]].type);
  if (!from || *from == 0) return std::nullopt;
  const auto& initial = graph_.attrs<ExtremeAttrs>(node).initial;
  if (!initial) return x;
  if (*initial != 0) return std::nullopt;
  return node.op->name == "max_reduce" ? Interval{std::max<int64_t>(x.low, 0), std::max<int64_t>(x.high, 0)}
                                       : Interval{std::min<int64_t>(x.low, 0), std::min<int64_t>(x.high, 0)};
}

/// Two operands, element by element.
std::optional<Intervals::Sum> Intervals::pair(const Node& node, const Interval& x, const Interval& y) const {
  const std::string_view name = node.op->name;
  if (node.in.size() != 2) return std::nullopt;
  if (name == "add") return capped(Wide{x.low} + y.low, Wide{x.high} + y.high);
  if (name == "sub") return capped(Wide{x.low} - y.high, Wide{x.high} - y.low);
  if (name == "mul") return times(x, y);
  if (name == "max") return Interval{std::max(x.low, y.low), std::max(x.high, y.high)};
  if (name == "min") return Interval{std::min(x.low, y.low), std::min(x.high, y.high)};
  if (name == "div") return quotients(x, y);
  if (name == "mod") {  // the divisor's sign, or the dividend's
    const int64_t max = std::max<int64_t>(y.magnitude() - 1, 0);
    const bool floor = graph_.attrs<ModAttrs>(node).division == Division::floor;
    const bool below = floor ? y.low < 0 : x.low < 0, above = floor ? y.high > 0 : x.high > 0;
    return Interval{below ? -max : 0, above ? max : 0};
  }
  return std::nullopt;
}

std::optional<Intervals::Sum> Intervals::result(const Node& node) const {
  const std::string_view name = node.op->name;
  if (is_answer(*node.op)) return Interval{0, 1};
  if (is_product(*node.op) || is_integer_product(*node.op)) return product(node);
  const auto x = input(node, 0), y = input(node, 1), z = input(node, 2);
  if (name == "select") return y && z ? std::optional<Sum>(hull(*y, *z)) : std::nullopt;
  if (name == "get_valid_counts") {
    const auto count = node.in.empty() ? std::nullopt : concrete(graph_[node.in[0]].type);
    return count && count->rank() == 3 ? std::optional<Sum>(Interval{0, (*count)[1]}) : std::nullopt;
  }
  if (!x) return std::nullopt;
  if (name == "relu") return clamped(*x, 0, std::numeric_limits<int64_t>::max());
  if (name == "neg") return Interval{-x->high, -x->low};
  if (name == "abs") return Interval{x->low > 0 ? x->low : x->high < 0 ? -x->high : 0, x->magnitude()};
  if (name == "cast") return *x;
  if (name == "max_pool") return graph_.attrs<PoolAttrs>(node).border == PoolBorder::ignore ? *x : hull(*x, {0, 0});
  if (name == "max_reduce" || name == "min_reduce") return extreme(node, *x);
  if (name == "clamp") {
    const bool has_low = node.in.size() > 1 && node.in[1].valid(), has_high = node.in.size() > 2 && node.in[2].valid();
    if ((has_low && !y) || (has_high && !z) || (has_low && has_high && y->high > z->low)) return std::nullopt;
    Interval r = *x;
    if (has_low) r = {std::max(r.low, y->low), std::max(r.high, y->high)};
    if (has_high) r = {std::min(r.low, z->low), std::min(r.high, z->high)};
    return r;
  }
  if (name == "sum_reduce") {
    const auto from = count_of(graph_[node.in[0]].type), to = count_of(graph_[node.out[0]].type);
    if (!from || !to || *to == 0) return std::nullopt;
    const Wide terms = *from / *to;
    return Sum(capped(x->low * terms, x->high * terms), capped(x->magnitude() * terms));
  }
  if (name == "resize") {
    const auto& a = graph_.attrs<ResizeAttrs>(node);
    if (a.mode != ResizeMode::nearest || a.transform == Transform::tf_crop_and_resize) return std::nullopt;
    return *x;
  }
  if (node.op->elements == Elements::of_first) return *x;
  if (node.op->elements == Elements::of_any) {
    Interval all = *x;
    for (size_t i = 1; i < node.in.size(); ++i) {
      const auto other = input(node, i);
      if (!other) return std::nullopt;
      all = hull(all, *other);
    }
    return all;
  }
  if (name == "pad") {
    const auto value = node.in.size() > 2 && node.in[2].valid() ? z : std::optional(Interval{0, 0});
    return value ? std::optional<Sum>(hull(*x, *value)) : std::nullopt;
  }
  if (auto own = cvm(node, *x)) return own;
  return y ? pair(node, *x, *y) : std::nullopt;
}

}  // namespace nnex
