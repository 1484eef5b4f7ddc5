#pragma once
// The element type that no file, run or caller sees: a formula of symbols, inside shape inference alone.

#include "nnex/dtype.h"

namespace nnex {

/// Tensors whose elements are Dim.
inline constexpr DType kDimType = static_cast<DType>(static_cast<uint8_t>(DType::str) + 1);
/// How many element types there are, none and kDimType among them.
inline constexpr int kDTypes = static_cast<int>(kDimType) + 1;

}  // namespace nnex
