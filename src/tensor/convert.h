#pragma once
// Conversions between element types, whole arrays at a time; and reading and writing single elements of any type.

#include <span>
#include <string>
#include <vector>

#include "nnex/tensor.h"
#include "tensor/half.h"

namespace nnex {

/// Float to integer: toward zero (ONNX, WebNN) or down (NNEF).
enum class FloatToInt : uint8_t { truncate, floor };

struct ConvertOptions {
  Overflow overflow = Overflow::saturate;
  FloatToInt float_to_int = FloatToInt::truncate;
  PowerRounding power = PowerRounding::up;
};

/// The tensor with every element converted to `to`, by the rules of operators.md 4.10: float to integer truncates and
/// saturates (NaN gives 0), integer to integer keeps the low bits, to bool is "not zero", narrower floats round to
/// nearest even once, to 4- and 2-bit integers round half even and keep the low bits, text is the shortest decimal that
/// reads back. Errors: fault when a string is no number; unsupported between complex and real types; limit.
Result<Tensor> convert(const Tensor& from, DType to, const ConvertOptions& options = {});

/// Element i (row-major) of any real, integer or bool tensor. Complex, strings: not allowed.
double real_at(const Tensor& t, int64_t i);
/// Element i of an integer or bool tensor (u64 above 2^63-1 wraps; floats truncate, saturating).
int64_t int_at(const Tensor& t, int64_t i);
/// All elements of a small tensor of integers (or floats, truncated).
std::vector<int64_t> ints_of(const Tensor& t);
std::vector<double> reals_of(const Tensor& t);
/// Writes element i of any real, integer or bool tensor: floats rounded, integers saturated after truncation.
void set_real(Tensor& t, int64_t i, double x);
/// Writes element i; integers keep their low bits.
void set_int(Tensor& t, int64_t i, int64_t x);

/// Element i as text for people: "0.25", "-3", "true", "\"word\"", "(1,2)".
std::string element_text(const Tensor& t, int64_t i);

/// Shortest decimal text that reads back as the same float or double; "nan", "inf", "-inf".
std::string number_text(float x);
std::string number_text(double x);

}  // namespace nnex
