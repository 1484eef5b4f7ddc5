#pragma once

#include <array>
#include <string_view>

#include "ops/attrs.h"

namespace nnex {

/// Attributes of operators that answer yes or no.
struct AnswerAttrs {
  DType result = DType::boolean;
};

struct IsInfAttrs {
  DType result = DType::boolean;
  bool negative = true;
  bool positive = true;
};

enum class ShiftDirection : uint8_t { left, right };
constexpr std::array<std::string_view, 2> enumerators(ShiftDirection) { return {"left", "right"}; }

struct BitShiftAttrs {
  ShiftDirection direction = ShiftDirection::left;
};

}  // namespace nnex
