#pragma once
// IntervalCall: what a rule of intervals sees of one node. It says what every element of the results lies in, as
// unbounded integers, from what the elements of the operands are proven to lie in.

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "nnex/shape.h"
#include "ops/table.h"
#include "tensor/convert.h"

namespace nnex {

/// low <= every element <= high.
struct Interval {
  int64_t low = 0, high = 0;

  bool inside(int64_t min, int64_t max) const { return low >= min && high <= max; }
  /// The greatest magnitude.
  int64_t magnitude() const { return high > -low ? high : -low; }
  /// The least p such that every element is in [-(2^(p-1) - 1), 2^(p-1) - 1].
  int bits() const;
  friend bool operator==(const Interval& a, const Interval& b) { return a.low == b.low && a.high == b.high; }
};

inline constexpr Interval kAllInt32 = {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};

Interval hull(const Interval& a, const Interval& b);
/// Every element of x between limits.
Interval clamped(const Interval& x, int64_t min, int64_t max);

/// f(x) for `count` elements of an integer tensor, from element `first` on, `step` apart.
template <class F>
void for_numbers(const Tensor& t, int64_t first, int64_t step, int64_t count, F f) {
  const auto typed = [&](const auto& elements) {
    for (int64_t k = 0; k < count; ++k) f(int64_t{elements[static_cast<size_t>(first + k * step)]});
  };
  if (t.dtype() == DType::i8) return typed(t.as<int8_t>());
  if (t.dtype() == DType::i32 && reinterpret_cast<uintptr_t>(t.data()) % sizeof(int32_t) == 0)
    return typed(t.as<int32_t>());
  for (int64_t k = 0; k < count; ++k) f(int_at(t, first + k * step));
}

/// Bounds of results end here: what lies beyond is only known to be beyond.
inline constexpr int64_t kIntervalLimit = int64_t{1} << 62;

class IntervalCall {
 public:
  struct Operand {
    bool given = false;
    std::optional<Interval> interval;  ///< Nothing: nobody knows.
    std::optional<Shape> shape;        ///< Nothing: only a run knows.
    const Tensor* numbers = nullptr;   ///< The elements, when they are constant; perhaps stored narrower.
  };

  IntervalCall(const OpDef& op, const void* attrs, std::vector<Operand> in, std::optional<Shape> out)
      : op_(op), attrs_(attrs), in_(std::move(in)), out_(std::move(out)) {}

  template <class A>
  const A& attr() const {
    NNEX_ASSERT(op_.attrs.type == &detail::type_tag<A>);
    return *static_cast<const A*>(attrs_);
  }
  size_t inputs() const { return in_.size(); }
  bool has(size_t i) const { return i < in_.size() && in_[i].given; }
  std::optional<Interval> in(size_t i) const { return has(i) ? in_[i].interval : std::nullopt; }
  std::optional<Shape> shape(size_t i) const { return has(i) ? in_[i].shape : std::nullopt; }
  const Tensor* numbers(size_t i) const { return has(i) ? in_[i].numbers : nullptr; }
  const std::optional<Shape>& out_shape() const { return out_; }

  /// Of output 0. Of sums, no partial sum has a greater magnitude than `partial`, in whatever order.
  void result(const Interval& r, int64_t partial = 0) { result_ = r, partial_ = partial; }
  /// Of the outputs behind the first.
  void other_results(const Interval& r) { others_ = r; }

  const std::optional<Interval>& result() const { return result_; }
  int64_t partial() const { return partial_; }
  const std::optional<Interval>& other_results() const { return others_; }

 private:
  const OpDef& op_;
  const void* attrs_;
  std::vector<Operand> in_;
  std::optional<Shape> out_;
  std::optional<Interval> result_, others_;
  int64_t partial_ = 0;
};

/// A row of a family's own form, with a rule of intervals.
constexpr OpRow in_intervals(IntervalFn rule, OpRow row) {
  row.interval = rule;
  return row;
}

// ---- Rules that rows share (ops/interval_call.cpp). A rule that cannot bound a node says nothing.

/// Elements of input 0.
void keeps_interval(IntervalCall& c);
void sum_interval(IntervalCall& c);
void difference_interval(IntervalCall& c);
void product_interval(IntervalCall& c);
/// Truncated quotients; 0 for a divisor of 0.
void quotient_interval(IntervalCall& c);
void maximum_interval(IntervalCall& c);
void minimum_interval(IntervalCall& c);
/// Input 0 between inputs 1 and 2.
void clamp_interval(IntervalCall& c);
/// Elements of inputs 1 and 2.
void select_interval(IntervalCall& c);
/// The sums of as many elements of input 0 as each result has.
void reduced_sum_interval(IntervalCall& c);

/// How a matrix product or a convolution reads its operands.
struct DotForm {
  bool by_rows = true;     ///< Which axis of input 1 counts the columns of the result: the first or the second.
  bool has_zeros = false;  ///< Inputs 2 and 3 are zero points of both factors; else input 2 is a bias.
  bool padded = false;     ///< Zeros take the place of elements of input 0.
};
/// Sums of products: by output column over the numbers of input 1 where they are constant, else by their range.
void dot_interval(IntervalCall& c, const DotForm& form);

}  // namespace nnex
