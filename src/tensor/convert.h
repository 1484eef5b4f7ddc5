#pragma once
// Conversions between element types, whole arrays at a time; nnex/elements.h has single elements of any type.

#include <span>
#include <string>
#include <vector>

#include "nnex/elements.h"
#include "nnex/tensor.h"
#include "tensor/half.h"

namespace nnex {

/// Float to integer: toward zero (ONNX, WebNN) or down (NNEF).
enum class FloatToInt : uint8_t { truncate, floor };

struct CastOptions {
  Overflow overflow = Overflow::saturate;
  FloatToInt float_to_int = FloatToInt::truncate;
  PowerRounding power = PowerRounding::up;
};

/// The tensor with every element converted to `to`, by the rules of the row `cast` (ONNX Cast-19): float to integer
/// truncates and saturates (NaN gives 0), integer to integer keeps the low bits, to bool is "not zero", narrower floats
/// round to nearest even once, to 4- and 2-bit integers round half even and keep the low bits, text is the shortest
/// decimal that reads back. Errors: fault when a string is no number; unsupported between complex and real types;
/// limit.
Result<Tensor> convert(const Tensor& from, DType to, const CastOptions& options = {});

}  // namespace nnex
