#include "kernels/int_chain.h"

#include <algorithm>

#include "kernels/simd/int_loops.h"
#include "kernels/split.h"

namespace nnex {
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
  if (at_ > place) steps_.push_back({});
  at_ = place;
  return steps_.back().stage;
}

void IntSteps::clamp(int32_t low, int32_t high) {
  const bool behind = at_ == kFactor || at_ == kShift || at_ == kMost;
  simd::IntStage& s = stage(behind ? kMost : kLow);
  int32_t &least = behind ? s.least : s.low, &most = behind ? s.most : s.high;
  // min(max(min(max(x, least), most), low), high)
  least = std::min(std::max(least, low), high);
  most = std::min(std::max(most, low), high);
}

void IntSteps::multiply(int32_t factor) {
  simd::IntStage& s = stage(kFactor);
  s.factor = static_cast<int32_t>(static_cast<uint32_t>(s.factor) * static_cast<uint32_t>(factor));
}

void IntSteps::shift_right(int32_t bits) {
  if (at_ == kShift) at_ = kDone;
  stage(kShift).shift = bits;
}

void IntChain::part(const simd::Loops& loops, const IntOperand& x, int64_t row, int64_t column, int64_t rows,
                    int64_t columns) const {
  IntOperand moved[kMostOperands];
  for (size_t i = 0; i < n_operands; ++i) moved[i] = from(operands[i], row, column);
  simd::IntBlock b;
  b.rows = rows, b.columns = columns;
  b.x = x;
  b.steps = steps.data(), b.n_steps = static_cast<int>(steps.size());
  b.operands = moved;
  b.y = y + (row * y_row_stride + column) * bytes_of(y_type);
  b.y_type = y_type, b.y_row_stride = y_row_stride;
  simd::int_loops(loops.isa).chain_i32(b);
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

}  // namespace nnex
