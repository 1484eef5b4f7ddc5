#pragma once
// Element-wise chains of whole numbers over tensors, and behind products: the same numbers on every instruction set.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "kernels/integer/loops_chain_i32.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// Numbers that lie in [low, high].
struct IntRange {
  int64_t low = INT32_MIN, high = INT32_MAX;

  bool inside(int64_t min, int64_t max) const { return low >= min && high <= max; }
};
IntRange range_of(simd::IntType type);

/// Steps of a chain as they are said, one after another; what one stage can hold becomes one stage.
class IntSteps {
 public:
  void clamp(int32_t low, int32_t high);
  void multiply(int32_t factor);
  /// ((x >> (bits - 1)) + 1) >> 1 of unbounded integers; bits in 1..32.
  void shift_right(int32_t bits);
  /// `other`: what the operand's elements lie in.
  void combine(simd::IntStepKind kind, int operand, const IntRange& other = {});
  /// The steps for elements in `x`, of type x_type, and results of type y_type: limits that limit nothing go, and
  /// narrow() says from where on int16 is enough.
  void finish(IntRange x, simd::IntType x_type, simd::IntType y_type);
  const std::vector<simd::IntStep>& steps() const { return steps_; }
  int narrow() const { return narrow_; }
  /// Tells what finish() made to whoever writes or reads it.
  void members(auto&& tell) { tell(steps_, narrow_); }
  void members(auto&& tell) const { tell(steps_, narrow_); }

 private:
  enum Place { kLow, kFactor, kShift, kMax, kDone };
  simd::IntStage& stage(Place place);
  std::vector<simd::IntStep> steps_;
  std::vector<IntRange> others_;  ///< Of each step's operand.
  Place at_ = kDone;              ///< What the last stage said last.
  int narrow_ = simd::IntBlock::kNever;
};

/// Element (row, column) of a sum or of x through `steps`, to y. Operands and y lie by the same rows and columns.
struct IntChain {
  static constexpr size_t kMaxOperands = 8;

  std::span<const simd::IntStep> steps;
  std::array<simd::IntOperand, kMaxOperands> operands = {};
  size_t n_operands = 0;
  std::byte* y = nullptr;
  simd::IntType y_type = simd::IntType::i32;
  int64_t y_row_stride = 0;
  int narrow = simd::IntBlock::kNever;  ///< Of the steps, once they are finished for these types.

  /// The part of `rows` x `columns` of which `sums` is the first element, at this row and column of the whole.
  void run(const simd::Loops& loops, const int32_t* sums, int64_t stride, int64_t row, int64_t column, int64_t rows,
           int64_t columns) const;
  /// All of x. Operands that overlap y lie exactly there.
  void run(const simd::Loops& loops, Team& team, const simd::IntOperand& x, int64_t rows, int64_t columns) const;

 private:
  void part(const simd::Loops& loops, const simd::IntOperand& x, int64_t row, int64_t column, int64_t rows,
            int64_t columns) const;
};

}  // namespace nnex::kernels
