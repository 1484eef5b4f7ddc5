// Functions of numbers that a standard has in another form only.

#include <fmt/format.h>

#include "ops/arithmetic.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "passes/lower.h"
#include "tensor/convert.h"

namespace nnex::passes {
namespace {

/// floor(x), and one more where what is left is more than a half, or is one and the tie goes up. Every step is exact.
Status round(Lowering& l) {
  const Rounding rounding = l.attrs<RoundAttrs>().rounding;
  const DType type = l.type(0);
  const auto number = [&](double v) { return l.b.number(type, v); };
  const bool away = rounding == Rounding::half_away;
  const ValueId x = away ? l.row("abs", {l.in(0)}) : l.in(0);
  const ValueId down = l.row("floor", {x}), rest = l.row("sub", {x, down});
  const auto one_if = [&](std::string_view compare) {
    return l.row("select", {l.row(compare, {rest, number(0.5)}), number(1), number(0)});
  };
  ValueId more;
  if (rounding == Rounding::half_even) {
    const ValueId even = l.row("mul", {l.row("floor", {l.row("mul", {down, number(0.5)})}), number(2)});
    const ValueId odd = l.row("sub", {down, even});
    more = l.row("select", {l.row("eq", {rest, number(0.5)}), odd, one_if("gt")});
  } else {
    more = one_if("ge");
  }
  const ValueId y = l.row("add", {down, more});
  l.give(0, away ? l.row("mul", {l.row("sign", {l.in(0)}), y}) : y);
  return {};
}

/// Where limits cross, the high one wins.
Status clamp(Lowering& l) {
  const auto& a = l.attrs<ClampAttrs>();
  if (a.crossed != Crossed::high) return l.error("it takes {} alone", name(l.type(0)));
  NansAttrs nans;
  nans.nans = a.nans;
  ValueId y = l.in(0);
  if (l.given(1)) y = l.row("max", {y, l.in(1)}, nans);
  if (l.given(2)) y = l.row("min", {y, l.in(2)}, nans);
  l.give(0, y);
  return {};
}

/// An exponent of the base's type.
Status pow(Lowering& l) {
  const DType type = l.type(0);
  if (!is_float(type) || l.type(1) == type) return l.error("its base is {}; needed reals", name(type));
  l.give(0, l.row("pow", {l.in(0), l.cast(l.in(1), type)}));
  return {};
}

/// x, and truths for a mask: no element is dropped without training, or by a ratio of 0.
Status dropout(Lowering& l) {
  const Tensor *ratio = l.constant(1), *training = l.constant(2);
  const bool nothing =
      !l.given(2) || (training && int_at(*training, 0) == 0) || (l.given(1) && ratio && real_at(*ratio, 0) == 0);
  if (!nothing) return l.error("elements are dropped at random");
  if (l.wants(1)) {
    NNEX_ASSIGN(const Shape shape, l.shape(0));
    NNEX_ASSIGN(const Tensor one, convert(Tensor::scalar<float>(1), DType::boolean));
    l.give(1, l.row("expand", {l.b.constant(one), l.b.ints(Ints(shape.begin(), shape.end()))}));
  }
  if (l.wants(0)) l.give(0, l.in(0));
  return {};
}

/// (sum of |x|^p over windows)^(1/p)
Status lp_pool(Lowering& l) {
  PoolAttrs a = l.attrs<PoolAttrs>();
  const double p = a.p;
  const bool whole = p == 1 || p == 2;
  const auto number = [&](double v) { return l.b.number(l.type(0), v); };
  if (a.border == PoolBorder::ignore && a.divisor == Divisor::one) a.border = PoolBorder::constant;
  a.p = PoolAttrs().p;
  ValueId x = p == 2 ? l.row("sqr", {l.in(0)}) : l.row("abs", {l.in(0)});
  if (!whole) x = l.row("pow", {x, number(p)});
  ValueId y = l.row("box", {x}, a);
  if (p == 2) y = l.row("sqrt", {y});
  if (!whole) y = l.row("pow", {y, number(1 / p)});
  l.give(0, y);
  return {};
}

/// Sums up to each element as a product with a triangle of ones.
Status cum_sum(Lowering& l) {
  constexpr int64_t kMaxExtent = 4096;
  const auto& a = l.attrs<CumulativeAttrs>();
  if (!l.constant(1)) return l.error("its axis is computed; needed a number");
  NNEX_ASSIGN(const Shape x, l.shape(0));
  const int64_t given = int_at(*l.constant(1), 0), axis = given < 0 ? given + x.rank() : given, n = x[axis];
  if (n > kMaxExtent) return l.error("it sums along {} elements; at most {} are one product", n, kMaxExtent);
  std::vector<float> ones(static_cast<size_t>(n * n));
  for (int64_t from = 0; from < n; ++from)
    for (int64_t to = 0; to < n; ++to) {
      const bool before = a.reverse ? from > to : from < to;
      ones[static_cast<size_t>(from * n + to)] = before || (from == to && !a.exclusive) ? 1 : 0;
    }
  NNEX_ASSIGN(const Tensor triangle, convert(Tensor::of(Shape{n, n}, ones), l.type(0)));
  Ints axes;
  for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i);
  std::swap(axes[static_cast<size_t>(axis)], axes.back());
  Ints rows;
  for (int64_t i : axes) rows.push_back(x[i]);
  const ValueId last = l.reshaped(l.transposed(l.in(0), axes), {x.count() / n, n});
  l.give(0, l.transposed(l.reshaped(l.matmul(last, l.b.constant(triangle)), rows), axes));
  return {};
}

// ---- Truths

/// x or y, but not both.
ValueId differ(Lowering& l) {
  const ValueId x = l.cast(l.in(0), DType::boolean), y = l.cast(l.in(1), DType::boolean);
  return l.row("or", {l.row("and", {x, l.row("not", {y})}), l.row("and", {l.row("not", {x}), y})});
}

Status give_truths(Lowering& l, ValueId v) {
  l.give(0, l.result_type() == DType::boolean ? v : l.cast(v, l.result_type()));
  return {};
}

Status exclusive_or(Lowering& l) { return give_truths(l, differ(l)); }

Status not_equal(Lowering& l) {
  if (l.type(0) != DType::boolean) return l.error("it compares {}", name(l.type(0)));
  return give_truths(l, differ(l));
}

Status equal(Lowering& l) {
  if (l.type(0) != DType::boolean) return l.error("it compares {}", name(l.type(0)));
  return give_truths(l, l.row("not", {differ(l)}));
}

// ---- Reductions

/// The inputs of a reduction of v over the axes of this one.
std::vector<ValueId> over(Lowering& l, ValueId v) {
  std::vector<ValueId> in = l.node().in;
  in[0] = v;
  return in;
}

/// log(sum of e^(x - m)) + m, of the greatest m.
Status log_sum_exp(Lowering& l) {
  if (!is_float(l.type(0))) return l.error("its x is {}; needed reals", name(l.type(0)));
  NNEX_ASSIGN(const Shape y, l.result_shape());
  ReduceAttrs a = l.attrs<ReduceAttrs>();
  a.keepdims = true;
  ExtremeAttrs of_most;
  of_most.when_empty = a.when_empty, of_most.to_end = a.to_end;
  const ValueId most = l.row("max_reduce", over(l, l.in(0)), of_most);
  const ValueId sum = l.row("sum_reduce", over(l, l.row("exp", {l.row("sub", {l.in(0), most})})), a);
  l.give(0, l.reshaped(l.row("add", {l.row("log", {sum}), most}), Ints(y.begin(), y.end())));
  return {};
}

/// 1 where the first maximum is.
Status hardmax(Lowering& l) {
  const auto& a = l.attrs<SoftmaxAttrs>();
  NNEX_ASSIGN(const Shape x, l.shape(0));
  const int64_t axis = a.axes.empty() || a.axes[0] >= 0 ? (a.axes.empty() ? 0 : a.axes[0]) : a.axes[0] + x.rank();
  if (a.axes.size() != 1 || (a.to_end && axis != x.rank() - 1))
    return l.error("it looks along several axes; needed one");
  ArgReduceAttrs along;
  along.axes = {axis};
  Ints places(static_cast<size_t>(x.rank()), 1), all;
  places[static_cast<size_t>(axis)] = x[axis];
  for (int64_t i = 0; i < x[axis]; ++i) all.push_back(i);
  const auto real = [&](ValueId v) { return l.cast(v, DType::f32); };
  const ValueId first = real(l.row("argmax_reduce", {l.in(0)}, along));
  const ValueId here = l.row("eq", {real(l.b.constant(Tensor::of(Shape(places), all))), first});
  l.give(0, l.row("select", {here, l.b.number(l.type(0), 1), l.b.number(l.type(0), 0)}));
  return {};
}

constexpr LowerRow kLowerNumbers[] = {
    {"xor", exclusive_or}, {"eq", equal},        {"ne", not_equal},    {"reduce_log_sum_exp", log_sum_exp},
    {"hardmax", hardmax},  {"round", round},     {"clamp", clamp},     {"pow", pow},
    {"dropout", dropout},  {"lp_pool", lp_pool}, {"cum_sum", cum_sum},
};

}  // namespace

std::span<const LowerRow> lower_numbers() { return kLowerNumbers; }

}  // namespace nnex::passes
