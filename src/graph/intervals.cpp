#include "graph/intervals.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "graph/infer.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/pool.h"
#include "ops/resize.h"
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

/// Products of numbers within int32 fit 64 bits.
Interval times(const Interval& a, const Interval& b) {
  const std::array<int64_t, 4> p = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return {*std::min_element(p.begin(), p.end()), *std::max_element(p.begin(), p.end())};
}

Interval clamped(const Interval& x, int64_t least, int64_t most) {
  return {std::clamp(x.low, least, most), std::clamp(x.high, least, most)};
}

/// Rows whose results are elements of their first input.
constexpr std::string_view kMoves[] = {"transpose", "reshape",    "flatten",   "squeeze",        "unsqueeze",
                                       "slice",     "slice_like", "expand",    "tile",           "repeat",
                                       "gather",    "split",      "unstack",   "depth_to_space", "space_to_depth",
                                       "reverse",   "copy",       "max_reduce"};
/// Rows whose results are elements of any of their inputs.
constexpr std::string_view kJoins[] = {"concat", "stack"};
/// Rows that answer with 0 or 1.
constexpr std::string_view kAnswers[] = {"gt", "lt", "ge", "le", "eq", "ne", "and", "or", "not"};

template <size_t n>
bool among(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

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

Intervals::Intervals(const Graph& graph, const std::map<ValueId, Interval>& known)
    : graph_(graph), of_(graph.value_count()) {
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& v = graph[ValueId{n}];
    if (!v.type.is_tensor()) continue;
    if (v.is_constant())
      of_[n] = constant(ValueId{n});
    else if (!v.maker.valid())
      of_[n] = range_of(v.type.dtype);
  }
  for (const auto& [v, interval] : known) of_[v.n] = interval;
  for (NodeId id : graph.order()) node(id);
}

/// The least and the greatest element.
std::optional<Interval> Intervals::constant(ValueId v) const {
  const Tensor* t = graph_[v].constant.tensor();
  if (!t || !range_of(t->dtype()) || t->count() == 0) return std::nullopt;
  Interval i = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  numbers(*t, 0, 1, t->count(), [&](int64_t x) { i.low = std::min(i.low, x), i.high = std::max(i.high, x); });
  return i;
}

/// The numbers of a constant, be they stored as bytes.
const Tensor* Intervals::content(ValueId v) const {
  const Node* maker = graph_.maker(v);
  if (maker && maker->op->name == "cast" && is_int(graph_[v].type.dtype)) v = maker->in[0];
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
  if (node.out.empty() || !node.out[0].valid() || !of_[node.out[0].n]) return;
  const auto sum = result(node);
  const Interval range = *of_[node.out[0].n];
  const bool whole = graph_[node.out[0]].type.dtype == DType::i32 && !content(node.out[0]);  // no stored filter
  if (!sum) {
    if (whole) nodes_.push_back({id, range, 0, false});
    return;
  }
  const bool overflows = !sum->result.inside(range.low, range.high) || sum->partial > range.high;
  if (whole) nodes_.push_back({id, sum->result, sum->partial, overflows});
  if (sum->result.inside(range.low, range.high)) of_[node.out[0].n] = sum->result;
  for (size_t o = 1; o < node.out.size(); ++o)  // parts of the same elements
    if (node.out[o].valid() && (node.op->name == "split" || node.op->name == "unstack"))
      of_[node.out[o].n] = of_[node.out[0].n];
}

/// conv, linear and matmul: by output column over the real weights where they are constant, else by their ranges.
std::optional<Intervals::Sum> Intervals::product(const Node& node) const {
  auto x = input(node, 0);
  const auto w = input(node, 1), bias = input(node, 2);
  const auto w_shape = concrete(graph_[node.in[1]].type), x_shape = concrete(graph_[node.in[0]].type);
  if (!x || !w || !w_shape || !x_shape || w_shape->count() == 0 || x_shape->rank() == 0) return std::nullopt;
  const bool has_bias = node.in.size() > 2 && node.in[2].valid();
  if (has_bias && !bias) return std::nullopt;
  // Which axis of w counts the columns.
  bool rows_are_columns = true;
  if (node.op->name == "conv") {
    if (graph_.attrs<ConvAttrs>(node).border != ConvBorder::constant) return std::nullopt;
    x = hull(*x, {0, 0});  // what lies beyond the input
  } else if (w_shape->rank() != 2) {
    return std::nullopt;
  } else if (node.op->name == "linear") {
    const auto& a = graph_.attrs<LinearAttrs>(node);
    if (a.alpha != 1 || a.beta != 1) return std::nullopt;
    rows_are_columns = a.transpose_b;
  } else {
    rows_are_columns = graph_.attrs<MatmulAttrs>(node).transpose_b;
  }
  const int64_t columns = rows_are_columns ? (*w_shape)[0] : (*w_shape)[1], terms = w_shape->count() / columns;
  const Tensor* t = content(node.in[1]);
  const Interval add = has_bias ? *bias : Interval{0, 0};
  // Every term is below 2^62 in magnitude, but their sum need not be.
  const auto capped = [](__int128 n) {
    constexpr auto kLimit = static_cast<__int128>(int64_t{1} << 62);
    return static_cast<int64_t>(std::clamp(n, -kLimit, kLimit));
  };
  const auto magnitude = static_cast<__int128>(x->magnitude());
  if (!t) {
    const Interval term = times(*x, *w);
    return Sum({capped(static_cast<__int128>(term.low) * terms + add.low),
                capped(static_cast<__int128>(term.high) * terms + add.high)},
               capped(magnitude * w->magnitude() * terms + add.magnitude()));
  }
  const Tensor* b = has_bias ? graph_[node.in[2]].constant.tensor() : nullptr;
  if (b && b->count() != columns) b = nullptr;
  std::optional<Sum> all;
  for (int64_t c = 0; c < columns; ++c) {
    int64_t positive = 0, negative = 0;
    numbers(*t, rows_are_columns ? c * terms : c, rows_are_columns ? 1 : columns, terms,
            [&](int64_t value) { positive += std::max<int64_t>(value, 0), negative += std::min<int64_t>(value, 0); });
    const Interval plus = b ? Interval{int_at(*b, c), int_at(*b, c)} : add;
    const Sum one(
        {capped(static_cast<__int128>(positive) * x->low + static_cast<__int128>(negative) * x->high + plus.low),
         capped(static_cast<__int128>(positive) * x->high + static_cast<__int128>(negative) * x->low + plus.high)},
        capped(magnitude * (positive - negative) + plus.magnitude()));
    all = all ? Sum(hull(all->result, one.result), std::max(all->partial, one.partial)) : one;
  }
  return all;
}

/// CVM's own rows.
std::optional<Intervals::Sum> Intervals::cvm(const Node& node, const Interval& x) const {
  const std::string_view name = node.op->name;
  if (name == "cvm_precision") return Interval{1, 32};
  if (name == "cvm_non_max_suppression") return hull(x, {-1, -1});
  if (name != "cvm_clip" && name != "cvm_right_shift" && name != "cvm_left_shift") return std::nullopt;
  const int64_t precision = number(node, "precision");
  if (precision < 1 || precision > 32) return std::nullopt;
  const int64_t most = (int64_t{1} << (precision - 1)) - 1;
  if (name == "cvm_clip") return clamped(x, -most, most);
  const int64_t bits = number(node, "shift_bit");
  if (bits < 1 || bits > 32) return std::nullopt;
  if (name == "cvm_left_shift") return clamped({x.low << bits, x.high << bits}, -most, most);
  const auto shifted = [&](int64_t n) { return ((n >> (bits - 1)) + 1) >> 1; };
  return clamped({shifted(x.low), shifted(x.high)}, -most, most);
}

std::optional<Intervals::Sum> Intervals::result(const Node& node) const {
  const std::string_view name = node.op->name;
  if (among(kAnswers, name)) return Interval{0, 1};
  if (name == "conv" || name == "linear" || name == "matmul") return product(node);
  const auto x = input(node, 0), y = input(node, 1);
  if (name == "select") {
    const auto z = input(node, 2);
    return y && z ? std::optional<Sum>(hull(*y, *z)) : std::nullopt;
  }
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
  if (name == "clamp") {
    const bool has_low = node.in.size() > 1 && node.in[1].valid(), has_high = node.in.size() > 2 && node.in[2].valid();
    const auto z = input(node, 2);
    if ((has_low && !y) || (has_high && !z) || (has_low && has_high && y->high > z->low)) return std::nullopt;
    Interval r = *x;
    if (has_low) r = {std::max(r.low, y->low), std::max(r.high, y->high)};
    if (has_high) r = {std::min(r.low, z->low), std::min(r.high, z->high)};
    return r;
  }
  if (name == "sum_reduce") {
    const auto from = count_of(graph_[node.in[0]].type), to = count_of(graph_[node.out[0]].type);
    if (!from || !to || *to == 0) return std::nullopt;
    const int64_t terms = *from / *to;
    if (terms > (int64_t{1} << 31)) return std::nullopt;
    return Sum({x->low * terms, x->high * terms}, x->magnitude() * terms);
  }
  if (name == "resize") {
    const auto& a = graph_.attrs<ResizeAttrs>(node);
    if (a.mode != ResizeMode::nearest || a.transform == Transform::tf_crop_and_resize) return std::nullopt;
    return *x;
  }
  if (among(kMoves, name) || node.op->view) return *x;
  if (among(kJoins, name)) {
    Interval all = *x;
    for (size_t i = 1; i < node.in.size(); ++i) {
      const auto other = input(node, i);
      if (!other) return std::nullopt;
      all = hull(all, *other);
    }
    return all;
  }
  if (name == "pad") {
    const auto value = node.in.size() > 2 && node.in[2].valid() ? input(node, 2) : std::optional(Interval{0, 0});
    return value ? std::optional<Sum>(hull(*x, *value)) : std::nullopt;
  }
  if (auto own = cvm(node, *x)) return own;
  if (!y) return std::nullopt;
  if (name == "add") return Interval{x->low + y->low, x->high + y->high};
  if (name == "sub") return Interval{x->low - y->high, x->high - y->low};
  if (name == "mul") return times(*x, *y);
  if (name == "max") return Interval{std::max(x->low, y->low), std::max(x->high, y->high)};
  if (name == "min") return Interval{std::min(x->low, y->low), std::min(x->high, y->high)};
  if (name == "div") return Interval{-x->magnitude(), x->magnitude()};
  return std::nullopt;
}

}  // namespace nnex
