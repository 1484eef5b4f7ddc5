#include "kernels/integer/chain.h"

#include <algorithm>
#include <initializer_list>

#include "base/split.h"

namespace nnex::kernels {
namespace {

using simd::IntOperand;

/// The operand from this row and column on.
IntOperand from(IntOperand o, int64_t row, int64_t column) {
  const int64_t elements = row * o.row_stride + (o.one ? 0 : column);
  o.p = static_cast<const std::byte*>(o.p) + elements * bytes_of(o.type);
  return o;
}

}  // namespace

/// The last stage, or a new one where the last has said something that comes after `place`.
simd::IntStage& IntSteps::stage(Place place) {
  if (at_ > place) steps_.push_back({}), others_.emplace_back();
  at_ = place;
  return steps_.back().stage;
}

void IntSteps::clamp(int32_t low, int32_t high) {
  const bool behind = at_ == kFactor || at_ == kShift || at_ == kMax;
  simd::IntStage& s = stage(behind ? kMax : kLow);
  int32_t &min = behind ? s.min : s.low, &max = behind ? s.max : s.high;
  // min(max(min(max(x, least), most), low), high)
  min = std::min(std::max(min, low), high);
  max = std::min(std::max(max, low), high);
}

void IntSteps::multiply(int32_t factor) {
  simd::IntStage& s = stage(kFactor);
  s.factor = static_cast<int32_t>(static_cast<uint32_t>(s.factor) * static_cast<uint32_t>(factor));
}

void IntSteps::shift_right(int32_t bits) {
  if (at_ == kShift) at_ = kDone;
  stage(kShift).shift = bits;
}

void IntSteps::combine(simd::IntStepKind kind, int operand, const IntRange& other) {
  steps_.push_back({kind, operand, {}}), others_.push_back(other), at_ = kDone;
}

IntRange range_of(simd::IntType type) {
  switch (type) {
    case simd::IntType::i8:
      return {INT8_MIN, INT8_MAX};
    case simd::IntType::u8:
      return {0, UINT8_MAX};
    case simd::IntType::i16:
      return {INT16_MIN, INT16_MAX};
    case simd::IntType::i32:
      break;
  }
  return {};
}

namespace {

using simd::IntStage;
using simd::IntStepKind;

/// Anything, where a result wraps.
IntRange wrapped(const IntRange& r) { return r.inside(INT32_MIN, INT32_MAX) ? r : IntRange{}; }

IntRange hull(std::initializer_list<int64_t> numbers) { return {std::min(numbers), std::max(numbers)}; }

IntRange product(const IntRange& a, const IntRange& b) {
  return hull({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
}

bool halves(const IntRange& r) { return r.inside(INT16_MIN, INT16_MAX); }

/// One step on the way: what the element lies in before and after it, and whether int16 is enough for it.
struct Passed {
  IntRange before, after;
  bool enters = false;  ///< The element may be saturated to int16 before it.
  bool narrow = false;  ///< Steps that are entered so, or by an element that fits, stay in int16.
};

/// x within limits; those that limit nothing are taken away.
IntRange limited(const IntRange& x, int32_t& low, int32_t& high) {
  const IntRange y = {std::clamp<int64_t>(x.low, low, std::max(low, high)),
                      std::clamp<int64_t>(x.high, low, std::max(low, high))};
  if (x.low >= low) low = INT32_MIN;
  if (x.high <= high) high = INT32_MAX;
  return y;
}

/// MulFixedPoint15's factor for x * factor, shifted: factor * 2^(15 - shift) where that is a number of 16 bits.
int16_t fixed_factor(const IntStage& s) {
  const int64_t up = int64_t{s.factor} * (s.shift <= 15 ? int64_t{1} << (15 - s.shift) : 1);
  const int64_t by = s.shift <= 15 ? 1 : int64_t{1} << (s.shift - 15);
  return up % by == 0 && up / by >= -INT16_MAX && up / by <= INT16_MAX ? static_cast<int16_t>(up / by) : int16_t{0};
}

int64_t shifted(int64_t n, int32_t bits) { return bits > 0 ? ((n >> (bits - 1)) + 1) >> 1 : n; }

/// Limits before what rises and does not wrap become limits after it, which cost half where int16 follows.
void limit_after(IntStage& s, const IntRange& x) {
  const bool low = s.low != INT32_MIN, high = s.high != INT32_MAX;
  if (s.factor <= 0 || s.shift == 32 || s.low > s.high || (low && s.low > x.high) || (high && s.high < x.low)) return;
  const int64_t half = s.shift > 0 ? int64_t{1} << (s.shift - 1) : 0;
  if (!product(x, {s.factor, s.factor}).inside(INT32_MIN, INT32_MAX - half)) return;
  const auto after = [&](int64_t limit) {
    return std::min(std::max(static_cast<int32_t>(shifted(limit * s.factor, s.shift)), s.min), s.max);
  };
  const int32_t min = low ? after(s.low) : s.min, max = high ? after(s.high) : s.max;
  s.low = INT32_MIN, s.high = INT32_MAX;
  s.min = min, s.max = max;
}

Passed pass(const IntRange& before, IntStage& s) {
  Passed p;
  p.before = before;
  IntRange x = limited(before, s.low, s.high);
  p.enters = halves(x);
  if (!p.enters) limit_after(s, before), x = limited(before, s.low, s.high);
  const IntRange whole = product(x, {s.factor, s.factor});
  const bool wraps = !whole.inside(INT32_MIN, INT32_MAX);
  x = wrapped(whole);
  if (s.shift > 0) {
    s.carries = x.high > INT32_MAX - (int64_t{1} << (s.shift - 1)) || s.shift == 32;
    s.fixed = fixed_factor(s);
    x = {shifted(x.low, s.shift), shifted(x.high, s.shift)};
    p.narrow = !wraps && s.fixed != 0;
  } else {
    p.narrow = s.factor == 1 || halves(whole);
  }
  p.after = limited(x, s.min, s.max);
  p.narrow = p.narrow && p.enters && halves(p.after);  // a limit may lie beyond int16
  return p;
}

Passed pass(const IntRange& x, IntStepKind kind, const IntRange& other) {
  Passed p;
  p.before = x, p.enters = halves(x);
  switch (kind) {
    case IntStepKind::add:
      p.after = {x.low + other.low, x.high + other.high};
      break;
    case IntStepKind::subtract:
      p.after = {x.low - other.high, x.high - other.low};
      break;
    case IntStepKind::subtract_from:
      p.after = {other.low - x.high, other.high - x.low};
      break;
    case IntStepKind::multiply:
      p.after = product(x, other);
      break;
    case IntStepKind::maximum:
      p.after = {std::max(x.low, other.low), std::max(x.high, other.high)};
      break;
    case IntStepKind::minimum:
      p.after = {std::min(x.low, other.low), std::min(x.high, other.high)};
      break;
    case IntStepKind::stage:
      break;
  }
  p.narrow = halves(other) && halves(p.after);
  p.after = wrapped(p.after);
  return p;
}

}  // namespace

void IntSteps::finish(IntRange x, simd::IntType x_type, simd::IntType y_type) {
  std::vector<Passed> passed;
  for (size_t i = 0; i < steps_.size(); ++i) {
    simd::IntStep& s = steps_[i];
    passed.push_back(s.kind == IntStepKind::stage ? pass(x, s.stage) : pass(x, s.kind, others_[i]));
    x = passed.back().after;
  }
  narrow_ = simd::IntBlock::kNever;
  if (y_type == simd::IntType::i32) return;
  // From the end back: int16 goes on being enough, and the first step of those lets it begin.
  if (halves(x)) narrow_ = static_cast<int>(steps_.size());
  for (size_t i = steps_.size(); i-- > 0 && passed[i].narrow;)
    if (passed[i].enters) narrow_ = static_cast<int>(i);
  if (steps_.empty() && x_type == y_type) narrow_ = simd::IntBlock::kNever;
}

void IntChain::part(const simd::Loops& loops, const IntOperand& x, int64_t row, int64_t column, int64_t rows,
                    int64_t columns) const {
  IntOperand moved[kMaxOperands];
  for (size_t i = 0; i < n_operands; ++i) moved[i] = from(operands[i], row, column);
  simd::IntBlock b;
  b.rows = rows, b.columns = columns;
  b.x = x;
  b.steps = steps.data(), b.n_steps = static_cast<int>(steps.size());
  b.operands = moved;
  b.y = y + (row * y_row_stride + column) * bytes_of(y_type);
  b.y_type = y_type, b.y_row_stride = y_row_stride;
  b.narrow = narrow;
  if (narrow == simd::IntBlock::kNever) return loops.chain_i32(b);
  const int64_t done = loops.chain_i16(b);
  if (done == columns) return;
  b.columns -= done;
  b.x = from(b.x, 0, done);
  for (size_t i = 0; i < n_operands; ++i) moved[i] = from(moved[i], 0, done);
  b.y = static_cast<std::byte*>(b.y) + done * bytes_of(y_type);
  loops.chain_i32(b);
}

void IntChain::run(const simd::Loops& loops, const int32_t* sums, int64_t stride, int64_t row, int64_t column,
                   int64_t rows, int64_t columns) const {
  part(loops, {sums, simd::IntType::i32, false, stride}, row, column, rows, columns);
}

void IntChain::run(const simd::Loops& loops, Team& team, const IntOperand& x, int64_t rows, int64_t columns) const {
  constexpr int64_t kFlat = 128;  // columns of rows that are no rows
  const auto flat = [&](const IntOperand& o) { return o.one ? o.row_stride == 0 : o.row_stride == columns; };
  if (flat(x) && y_row_stride == columns && columns != kFlat &&
      std::all_of(operands.begin(), operands.begin() + n_operands, flat)) {
    const int64_t n = rows * columns, whole = n / kFlat;
    const auto lain = [&](IntOperand o, int64_t width) {
      if (!o.one) o.row_stride = width;
      return o;
    };
    IntChain again = *this;
    again.y_row_stride = kFlat;
    for (IntOperand& o : again.operands) o = lain(o, kFlat);
    if (whole > 0) again.run(loops, team, lain(x, kFlat), whole, kFlat);
    const int64_t rest = n - whole * kFlat;
    if (rest > 0) again.part(loops, from(lain(x, kFlat), whole, 0), whole, 0, 1, rest);
    return;
  }
  split(team, rows, rows * columns * 4, 4,
        [&](int64_t begin, int64_t end) { part(loops, from(x, begin, 0), begin, 0, end - begin, columns); });
}

}  // namespace nnex::kernels
