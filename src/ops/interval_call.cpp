#include "ops/interval_call.h"

#include <algorithm>
#include <array>

namespace nnex {
namespace {

/// Products of two bounds fit.
using Wide = __int128;

int64_t capped(Wide n) { return static_cast<int64_t>(std::clamp(n, -Wide{kIntervalLimit}, Wide{kIntervalLimit})); }
Interval capped(Wide low, Wide high) { return {capped(low), capped(high)}; }

Interval times(const Interval& a, const Interval& b) {
  const std::array<Wide, 4> p = {Wide{a.low} * b.low, Wide{a.low} * b.high, Wide{a.high} * b.low,
                                 Wide{a.high} * b.high};
  return capped(*std::min_element(p.begin(), p.end()), *std::max_element(p.begin(), p.end()));
}

/// Over divisors of one sign the ends of both ranges give the extremes.
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

/// result(x, y) of a node of two bounded operands.
template <class F>
void pair(IntervalCall& c, F result) {
  const auto x = c.in(0), y = c.in(1);
  if (c.inputs() == 2 && x && y) c.result(result(*x, *y));
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
  for_numbers(t, first, step, count, [&](int64_t x) { sums.add(x); });
  return sums;
}

/// What a product multiplies, less zero points; nothing where that is not known.
std::optional<std::pair<Interval, Interval>> factors(const IntervalCall& c, const DotForm& form) {
  std::optional<Interval> factor[] = {c.in(0), c.in(1)};
  for (size_t i : {size_t{0}, size_t{1}}) {
    if (!factor[i]) return std::nullopt;
    if (!form.has_zeros || !c.has(2 + i)) continue;
    const auto zero = c.in(2 + i);
    if (!zero) return std::nullopt;
    factor[i] = {factor[i]->low - zero->high, factor[i]->high - zero->low};
  }
  if (form.padded) factor[0] = hull(*factor[0], {0, 0});
  constexpr int64_t kMaxFactor = int64_t{1} << 32;  // sums of a column's numbers fit 64 bits
  for (const auto& f : factor)
    if (!f->inside(-kMaxFactor, kMaxFactor)) return std::nullopt;
  return std::pair(*factor[0], *factor[1]);
}

}  // namespace

int Interval::bits() const {
  int p = 1;
  while (p < 62 && magnitude() > (int64_t{1} << (p - 1)) - 1) ++p;
  return p;
}

Interval hull(const Interval& a, const Interval& b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

Interval clamped(const Interval& x, int64_t min, int64_t max) {
  return {std::clamp(x.low, min, max), std::clamp(x.high, min, max)};
}

void keeps_interval(IntervalCall& c) {
  if (const auto x = c.in(0)) c.result(*x);
}

void sum_interval(IntervalCall& c) {
  pair(c, [](Interval x, Interval y) { return capped(Wide{x.low} + y.low, Wide{x.high} + y.high); });
}

void difference_interval(IntervalCall& c) {
  pair(c, [](Interval x, Interval y) { return capped(Wide{x.low} - y.high, Wide{x.high} - y.low); });
}

void product_interval(IntervalCall& c) { pair(c, times); }

void quotient_interval(IntervalCall& c) { pair(c, quotients); }

void maximum_interval(IntervalCall& c) {
  pair(c, [](Interval x, Interval y) { return Interval{std::max(x.low, y.low), std::max(x.high, y.high)}; });
}

void minimum_interval(IntervalCall& c) {
  pair(c, [](Interval x, Interval y) { return Interval{std::min(x.low, y.low), std::min(x.high, y.high)}; });
}

void clamp_interval(IntervalCall& c) {
  const auto x = c.in(0), low = c.in(1), high = c.in(2);
  if (!x || (c.has(1) && !low) || (c.has(2) && !high) || (low && high && low->high > high->low)) return;
  Interval r = *x;
  if (low) r = {std::max(r.low, low->low), std::max(r.high, low->high)};
  if (high) r = {std::min(r.low, high->low), std::min(r.high, high->high)};
  c.result(r);
}

void select_interval(IntervalCall& c) {
  const auto x = c.in(1), y = c.in(2);
  if (x && y) c.result(hull(*x, *y));
}

void reduced_sum_interval(IntervalCall& c) {
  const auto x = c.in(0);
  const auto from = c.shape(0), &to = c.out_shape();
  if (!x || !from || !to || to->count() == 0) return;
  const Wide terms = from->count() / to->count();
  c.result(capped(x->low * terms, x->high * terms), capped(x->magnitude() * terms));
}

void dot_interval(IntervalCall& c, const DotForm& form) {
  const auto w_shape = c.shape(1), x_shape = c.shape(0);
  const auto known = factors(c, form);
  if (!known || !w_shape || !x_shape || w_shape->count() == 0 || x_shape->rank() == 0) return;
  const bool biased = !form.has_zeros && c.has(2);
  if (biased && !c.in(2)) return;
  const Interval add = biased ? *c.in(2) : Interval{0, 0};
  const auto& [x, w] = *known;
  const int64_t columns = (*w_shape)[form.by_rows ? 0 : 1], terms = w_shape->count() / columns;
  const bool shifted = form.has_zeros && c.has(3) && !(c.in(3) == Interval{0, 0});
  const Tensor* t = shifted ? nullptr : c.numbers(1);
  const Wide magnitude = x.magnitude();
  if (!t) {
    const Interval term = times(x, w);
    return c.result(capped(Wide{term.low} * terms + add.low, Wide{term.high} * terms + add.high),
                    capped(magnitude * w.magnitude() * terms + add.magnitude()));
  }
  const Tensor* b = biased ? c.numbers(2) : nullptr;
  if (b && b->count() != columns) b = nullptr;
  std::optional<Interval> all;
  int64_t partial = 0;
  for (int64_t column = 0; column < columns; ++column) {
    const auto [positive, negative] =
        signed_sums(*t, form.by_rows ? column * terms : column, form.by_rows ? 1 : columns, terms);
    const Interval plus = b ? Interval{int_at(*b, column), int_at(*b, column)} : add;
    const Interval one = capped(Wide{positive} * x.low + Wide{negative} * x.high + plus.low,
                                Wide{positive} * x.high + Wide{negative} * x.low + plus.high);
    all = all ? hull(*all, one) : one;
    partial = std::max(partial, capped(magnitude * (positive - negative) + plus.magnitude()));
  }
  c.result(*all, partial);
}

}  // namespace nnex
