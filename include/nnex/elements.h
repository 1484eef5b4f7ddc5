#pragma once
/// Elements of tensors of any type: read, written, converted, printed, hashed; and tensors taken apart and put
/// together.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/tensor.h"

#pragma GCC visibility push(default)
namespace nnex {

/// Element i (row-major, 0 <= i < count()) of any real, integer or bool tensor. Complex, strings: not allowed.
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

/// Element i as text for people: "0.25", "-3", "true", "\"word\"", "(1,2)"; "" where the tensor has no such element, or
/// no memory.
std::string element_text(const Tensor& t, int64_t i);
/// Shortest decimal text that reads back as the same float or double; "nan", "inf", "-inf".
std::string number_text(float x);
std::string number_text(double x);

/// The tensor with every element converted: float to integer truncates and saturates (NaN gives 0), integer to integer
/// keeps the low bits, to bool is "not zero", narrower floats round to nearest even once, to 4- and 2-bit integers
/// round half even and keep the low bits, text is the shortest decimal that reads back. Errors: fault when a string is
/// no number; unsupported between complex and real types; invalid_argument for a tensor without memory; limit.
Result<Tensor> cast(const Tensor& from, DType to);

/// The slice of t at `index` of `axis`, without that axis (0 <= axis < rank, 0 <= index < its extent). Errors:
/// invalid_argument (axis or index outside, a tensor without memory), unsupported (types narrower than a byte), limit.
Result<Tensor> slice_at(const Tensor& t, int64_t axis, int64_t index);
/// Tensors of one shape and type along a new axis (negative counts from the last of the result). Errors:
/// invalid_argument (no tensor, one without memory), unsupported (types narrower than a byte), fault (shapes or types
/// differ; an axis outside), limit.
Result<Tensor> stack(std::span<const Tensor> parts, int64_t axis);

/// SHA-256 (FIPS 180-4) of the bytes, as 64 hexadecimal letters.
std::string sha256(std::string_view bytes);
/// The same of a tensor's elements as they lie in memory, little endian, row by row; of texts each one's bytes behind
/// their number, which has 8 bytes, little endian. Tensors without memory have none: "".
std::string sha256(const Tensor& t);

}  // namespace nnex
#pragma GCC visibility pop
