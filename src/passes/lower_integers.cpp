// CVM's own arithmetic of whole numbers, in the rows that standards have. Shifts are made in int64, where nothing
// overflows.

#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/cvm.h"
#include "ops/join.h"
#include "ops/reduce.h"
#include "passes/lower.h"

namespace nnex::passes {
namespace {

/// x within +-(2^(bits-1) - 1).
ValueId clipped(Lowering& l, ValueId x, DType type, int64_t bits) {
  const auto bound = static_cast<double>((int64_t{1} << (bits - 1)) - 1);
  return l.row("clamp", {x, l.b.number(type, -bound), l.b.number(type, bound)}, ClampAttrs{Crossed::high});
}

Status clip(Lowering& l) {
  l.give(0, clipped(l, l.in(0), DType::i32, l.attrs<CvmClipAttrs>().precision));
  return {};
}

/// floor((x + 2^(s-1)) / 2^s); (x - x mod d) / d rounds down.
Status right_shift(Lowering& l) {
  const CvmShiftAttrs a = l.attrs<CvmShiftAttrs>();
  const ValueId by = l.b.number(DType::i64, static_cast<double>(int64_t{1} << a.shift_bit));
  const ValueId half = l.b.number(DType::i64, static_cast<double>(int64_t{1} << (a.shift_bit - 1)));
  const ValueId x = l.row("add", {l.cast(l.in(0), DType::i64), half});
  const ValueId y = l.row("div", {l.row("sub", {x, l.row("mod", {x, by})}), by});
  l.give(0, l.cast(clipped(l, y, DType::i64, a.precision), DType::i32));
  return {};
}

Status left_shift(Lowering& l) {
  const CvmShiftAttrs a = l.attrs<CvmShiftAttrs>();
  if (a.shift_bit > 31) return l.error("it shifts by {}; 64 bits hold a shift by 31", a.shift_bit);
  const ValueId by = l.b.number(DType::i64, static_cast<double>(int64_t{1} << a.shift_bit));
  const ValueId y = l.row("mul", {l.cast(l.in(0), DType::i64), by});
  l.give(0, l.cast(clipped(l, y, DType::i64, a.precision), DType::i32));
  return {};
}

/// 1, and one more for each power of two from 2 on that the magnitude reaches.
Status digits(Lowering& l) {
  Ints powers;
  for (int k = 1; k <= 31; ++k) powers.push_back(int64_t{1} << k);
  const ValueId size = l.row("unsqueeze", {l.row("abs", {l.cast(l.in(0), DType::i64)}), l.b.ints({-1})});
  const ValueId reached = l.row("ge", {size, l.b.ints(powers)}, AnswerAttrs{});
  const ValueId ones = l.cast(reached, DType::i32);
  ReduceAttrs over;
  over.keepdims = false;
  const ValueId count = l.row("sum_reduce", {ones, l.b.ints({-1})}, over);
  l.give(0, l.row("add", {count, l.b.number(DType::i32, 1)}));
  return {};
}

/// Answers of another type than truth values.
Status greater(Lowering& l) {
  if (l.result_type() == DType::boolean) return l.error("");  // they are no reason
  l.give(0, l.cast(l.row("gt", {l.in(0), l.in(1)}, AnswerAttrs{}), l.result_type()));
  return {};
}

/// A condition of numbers: what is not 0 is true.
Status choice(Lowering& l) {
  if (l.type(0) == DType::boolean) return l.error("");  // it is no reason
  l.give(0, l.row("select", {l.cast(l.in(0), DType::boolean), l.in(1), l.in(2)}));
  return {};
}

/// An axis more behind the one that is repeated, stretched, and joined with it.
Status repeat(Lowering& l) {
  const RepeatAttrs a = l.attrs<RepeatAttrs>();
  NNEX_ASSIGN(const Shape x, l.shape(0));
  NNEX_ASSIGN(const Shape y, l.result_shape());
  const int64_t axis = a.axis < 0 ? a.axis + x.rank() : a.axis;
  Ints apart(x.begin(), x.end()), stretched = apart;
  apart.insert(apart.begin() + axis + 1, 1);
  stretched.insert(stretched.begin() + axis + 1, a.repeats);
  const ValueId wide = l.row("expand", {l.reshaped(l.in(0), apart), l.b.ints(stretched)});
  l.give(0, l.reshaped(wide, Ints(y.begin(), y.end())));
  return {};
}

constexpr LowerRow kLowerIntegers[] = {
    {"gt", greater},
    {"select", choice},
    {"repeat", repeat},
    {"cvm_clip", clip},
    {"cvm_right_shift", right_shift},
    {"cvm_left_shift", left_shift},
    {"cvm_precision", digits},
};

}  // namespace

std::span<const LowerRow> lower_integers() { return kLowerIntegers; }

}  // namespace nnex::passes
