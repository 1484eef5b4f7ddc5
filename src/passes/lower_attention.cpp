// Attention, and what turns its heads, as products and a softmax.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/attention.h"
#include "ops/gather.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "passes/lower.h"
#include "tensor/convert.h"

namespace nnex::passes {
namespace {

namespace port = attention_port;

/// One attention while it is lowered: positions of keys, old and new, lie on one axis.
struct Attention {
  Lowering& l;
  const AttentionAttrs& a;
  AttentionSizes s;
  DType type;

  ValueId number(double v) const { return l.b.number(type, v); }
  /// [batch, heads, positions, depth] of what may have heads side by side.
  ValueId apart(ValueId v, int64_t heads, int64_t positions, int64_t depth) const {
    if (!s.side_by_side) return v;
    return l.transposed(l.reshaped(v, {s.batch, positions, heads, depth}), {0, 2, 1, 3});
  }
  ValueId joined(ValueId v, size_t past) const { return s.has_past ? l.concat({l.in(past), v}, 2) : v; }
  /// Rows of query heads that share a key and value head lie one after another.
  ValueId shared(ValueId v, int64_t columns) const {
    return s.group() == 1 ? v : l.reshaped(v, {s.batch, s.kv_heads, s.group() * s.queries, columns});
  }
  ValueId unshared(ValueId v, int64_t columns) const {
    return s.group() == 1 ? v : l.reshaped(v, {s.batch, s.q_heads, s.queries, columns});
  }
  void keep(ScoresAt stage, ValueId scores) const {
    if (l.wants(port::scores) && a.scores_at == stage) l.give(port::scores, scores);
  }

  Tensor visible(int64_t masked) const;
  ValueId mask(const Shape& shape) const;
  ValueId biased(ValueId scores, bool& guarded) const;
  ValueId softmax(ValueId scores) const;
  ValueId probabilities(ValueId scores, bool guarded) const;
};

/// Which keys a query sees by order alone, and of a mask that ends before them: [queries, total].
Tensor Attention::visible(int64_t masked) const {
  Tensor t = std::move(Tensor::make(DType::boolean, Shape{s.queries, s.total()})).value();
  for (int64_t i = 0; i < s.queries; ++i) {
    const KeyRange range = visible_keys(a, s, std::nullopt, i);
    for (int64_t j = 0; j < s.total(); ++j)
      set_int(t, i * s.total() + j, j >= range.begin && j < std::min(range.end, masked));
  }
  return t;
}

/// The mask with as many keys as there are.
ValueId Attention::mask(const Shape& shape) const {
  const int64_t missing = s.total() - shape[shape.rank() - 1];
  ValueId v = l.in(port::mask);
  if (l.type(port::mask) != DType::boolean) v = l.cast(v, type);
  if (missing == 0) return v;
  Ints extents(shape.begin(), shape.end());
  extents.back() = missing;
  Tensor none =
      std::move(Tensor::make(l.type(port::mask) == DType::boolean ? DType::boolean : type, Shape(extents))).value();
  std::fill_n(none.mutable_data(), none.bytes(), std::byte{0});
  return l.concat({v, l.b.constant(std::move(none))}, shape.rank() - 1);
}

/// Scores with the mask; what is masked is -inf. `guarded`: a row may be -inf throughout.
ValueId Attention::biased(ValueId scores, bool& guarded) const {
  int64_t masked = s.total();
  guarded = l.given(port::mask);
  if (l.given(port::mask)) {
    const Shape shape = *l.shape(port::mask);
    masked = shape[shape.rank() - 1];
    const ValueId m = mask(shape);
    scores = l.type(port::mask) == DType::boolean ? l.row("select", {m, scores, number(a.hidden.value_or(-HUGE_VAL))})
                                                  : l.row("add", {scores, m});
  }
  const Tensor seen = visible(masked);
  bool all = true;
  for (int64_t i = 0; i < s.queries; ++i) {
    int64_t count = 0;
    for (int64_t j = 0; j < s.total(); ++j) count += int_at(seen, i * s.total() + j);
    all &= count == s.total();
    guarded |= count == 0;
  }
  return all ? scores : l.row("select", {l.b.constant(seen), scores, number(-HUGE_VAL)});
}

/// With one more key where there is a sink, which is left out then.
ValueId Attention::softmax(ValueId scores) const {
  if (!l.given(port::sink)) return l.row("softmax", {scores}, SoftmaxAttrs{});
  const ValueId of_heads = l.reshaped(l.in(port::sink), {1, s.q_heads, 1, 1});
  const ValueId sink = l.row("expand", {of_heads, l.b.ints({s.batch, s.q_heads, s.queries, 1})});
  return l.sliced(l.row("softmax", {l.concat({scores, sink}, 3)}, SoftmaxAttrs{}), 3, 0, s.total());
}

ValueId Attention::probabilities(ValueId scores, bool guarded) const {
  const ValueId p = softmax(scores);
  if (!a.guard || !guarded) return p;
  const ValueId most = l.row("max_reduce", {scores, l.b.ints({3})}, ExtremeAttrs{});
  const ValueId seen = l.row("gt", {most, number(std::numeric_limits<float>::lowest())});
  return l.row("select", {seen, p, number(0)});
}

Status attention(Lowering& l) {
  const auto& attrs = l.attrs<AttentionAttrs>();
  if (l.given(port::lengths)) return l.error("its lengths are known to a run alone");
  if (attrs.softmax_type && bits(*attrs.softmax_type) < bits(l.type(port::q)))
    return l.error("its softmax rounds to {}", name(*attrs.softmax_type));
  if (l.type(port::v) != l.type(port::q))
    return l.error("its q is {}, its v {}; needed one type", name(l.type(port::q)), name(l.type(port::v)));
  std::vector<Shape> shapes;
  for (size_t i : {port::q, port::k, port::v, port::mask, port::past_key}) {
    shapes.emplace_back();
    if (!l.given(i)) continue;
    NNEX_ASSIGN(shapes.back(), l.shape(i));
  }
  const Shape* past = l.given(port::past_key) ? &shapes[port::past_key] : nullptr;
  const AttentionSizes s = attention_sizes(attrs, shapes[port::q], shapes[port::k], shapes[port::v], past);
  const Attention by{l, attrs, s, l.type(port::q)};
  const ValueId q = by.apart(l.in(port::q), s.q_heads, s.queries, s.depth);
  const ValueId k = by.joined(by.apart(l.in(port::k), s.kv_heads, s.keys, s.depth), port::past_key);
  const ValueId v = by.joined(by.apart(l.in(port::v), s.kv_heads, s.keys, s.value_depth), port::past_value);
  const ValueId scaled = l.row("mul", {q, by.number(s.scale(attrs))});
  ValueId scores = by.unshared(l.matmul(by.shared(scaled, s.depth), k, true), s.total());
  by.keep(ScoresAt::raw, scores);
  if (attrs.softcap > 0) {
    const ValueId cap = by.number(attrs.softcap);
    scores = l.row("mul", {l.row("tanh", {l.row("div", {scores, cap})}), cap});
  }
  by.keep(ScoresAt::capped, scores);
  bool guarded = false;
  scores = by.biased(scores, guarded);
  by.keep(ScoresAt::biased, scores);
  const ValueId p = by.probabilities(scores, guarded);
  by.keep(ScoresAt::softmax, p);
  ValueId y = by.unshared(l.matmul(by.shared(p, s.total()), v), s.value_depth);
  if (s.side_by_side) y = l.reshaped(l.transposed(y, {0, 2, 1, 3}), {s.batch, s.queries, s.q_heads * s.value_depth});
  if (l.wants(port::y)) l.give(port::y, y);
  if (l.wants(port::key)) l.give(port::key, k);
  if (l.wants(port::value)) l.give(port::value, v);
  return {};
}

// Ports: x, cos, sin, position. Angles meet the heads by an axis of 1.
Status rotary_embedding(Lowering& l) {
  const auto& a = l.attrs<RotaryAttrs>();
  NNEX_ASSIGN(const Shape x, l.shape(0));
  const bool side_by_side = x.rank() == 3;
  const int64_t heads = side_by_side ? a.heads : x[1], positions = x[side_by_side ? 1 : 2];
  const int64_t depth = side_by_side ? x[2] / heads : x[3], pairs = (a.rotary_dim ? a.rotary_dim : depth) / 2;
  const Ints angles = side_by_side ? Ints{x[0], positions, 1, pairs} : Ints{x[0], 1, positions, pairs};
  const auto angle = [&](size_t i) {
    return l.reshaped(l.given(3) ? l.row("gather", {l.in(i), l.in(3)}, GatherAttrs{}) : l.in(i), angles);
  };
  const ValueId cos = angle(1), sin = angle(2);
  const ValueId all = side_by_side ? l.reshaped(l.in(0), {x[0], positions, heads, depth}) : l.in(0);
  const auto part = [&](int64_t begin) {
    return a.interleaved ? l.sliced(all, 3, begin, 2 * pairs, 2) : l.sliced(all, 3, begin * pairs, (begin + 1) * pairs);
  };
  const ValueId re = part(0), im = part(1);
  const auto product = [&](ValueId by, ValueId v) { return l.row("mul", {by, v}); };
  ValueId first = l.row("sub", {product(cos, re), product(sin, im)});
  ValueId second = l.row("add", {product(sin, re), product(cos, im)});
  Ints shape = side_by_side ? Ints{x[0], positions, heads, pairs} : Ints{x[0], heads, positions, pairs};
  ValueId turned;
  if (a.interleaved) {
    shape.push_back(1);
    turned = l.concat({l.reshaped(first, shape), l.reshaped(second, shape)}, 4);
    shape.pop_back(), shape.back() *= 2;
    turned = l.reshaped(turned, shape);
  } else {
    turned = l.concat({first, second}, 3);
  }
  if (depth > 2 * pairs) turned = l.concat({turned, l.sliced(all, 3, 2 * pairs, depth)}, 3);
  l.give(0, side_by_side ? l.reshaped(turned, {x[0], x[1], x[2]}) : turned);
  return {};
}

constexpr LowerRow kLowerAttention[] = {
    {"attention", attention},
    {"rotary_embedding", rotary_embedding},
};

}  // namespace

std::span<const LowerRow> lower_attention() { return kLowerAttention; }

}  // namespace nnex::passes
