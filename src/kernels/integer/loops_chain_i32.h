#pragma once
// Element-wise chains of whole numbers: everything in int32, wrapping, whatever the elements are stored as.

#include <cstdint>

namespace nnex::kernels::simd {

/// How elements lie in memory.
enum class IntType : uint8_t { i8, u8, i16, i32 };
constexpr int bytes_of(IntType t) { return t == IntType::i32 ? 4 : t == IntType::i16 ? 2 : 1; }

/// Element (row, column) is at p + row * row_stride + (one ? 0 : column); strides count elements.
struct IntOperand {
  const void* p = nullptr;
  IntType type = IntType::i32;
  bool one = false;
  int64_t row_stride = 0;
};

/// x = min(max(x, low), high); x *= factor; where shift > 0, x = ((x >> (shift - 1)) + 1) >> 1 as of unbounded integers
/// (shift at most 32); x = min(max(x, least), most).
struct IntStage {
  int32_t low = INT32_MIN, high = INT32_MAX;
  int32_t factor = 1;
  int32_t shift = 0;
  int32_t min = INT32_MIN, max = INT32_MAX;
  bool carries = true;  ///< x + 2^(shift - 1) may not fit int32.
  int16_t fixed = 0;    ///< On int16 (IntBlock::narrow): factor * 2^(15 - shift), where shift > 0.
};

enum class IntStepKind : uint8_t { stage, add, subtract, subtract_from, multiply, maximum, minimum };

/// What happens next to the element: a stage, or element ∘ operand (subtract_from: operand - element).
struct IntStep {
  IntStepKind kind = IntStepKind::stage;
  int operand = 0;
  IntStage stage = {};
};

/// y[row][column] = steps(x[row][column]) for rows x columns elements, of which the low bits are kept. y may lie where
/// an operand of the same type and strides lies.
struct IntBlock {
  int64_t rows = 0, columns = 0;
  IntOperand x;
  const IntStep* steps = nullptr;
  int n_steps = 0;
  const IntOperand* operands = nullptr;
  void* y = nullptr;
  IntType y_type = IntType::i32;
  int64_t y_row_stride = 0;
  /// The first step that int16 is enough for, and for all that follow: the element before it, saturated to int16, gives
  /// the same numbers, be it before or after the last limits of a stage before it. kNever: none, or y is int32.
  int narrow = kNever;
  static constexpr int kNever = INT32_MAX;
};

}  // namespace nnex::kernels::simd
