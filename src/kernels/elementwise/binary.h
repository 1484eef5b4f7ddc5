#pragma once
// The functions of two numbers that kernels apply, stand-alone or as a step of a chain.

#include <cstdint>

namespace nnex {

/// y = f(a, b) on float32, one rounding each (prelu: one multiplication).
enum class BinaryKind : uint8_t {
  add,
  sub,
  mul,
  div,
  min,      ///< NaN wins; of equal operands the second (so it decides the sign of zero)
  max,      ///< likewise
  lesser,   ///< a < b ? a : b
  greater,  ///< a > b ? a : b
  prelu,    ///< a < 0 ? a b : a
  pow,      ///< a^b within 1 ulp; IEEE's pow for zeros, infinities, NaN; NaN for a negative a and b not whole
  count,
};

/// y = a ? b as one byte, 1 or 0; every comparison with NaN but `ne` is 0.
enum class CompareKind : uint8_t { eq, ne, lt, le, gt, ge, count };

/// Which operands of a loop over n elements are single numbers.
enum class Form : uint8_t { vector_vector, vector_scalar, scalar_vector };

}  // namespace nnex
