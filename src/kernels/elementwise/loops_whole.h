#pragma once
// What the loops over whole numbers of any width and over doubles compute.

#include <cstddef>
#include <cstdint>

namespace nnex::kernels {

/// Sums, differences and products wrap. Signed loops have min, max, abs, clamp and, of 16 bits, the halves' steps;
/// unsigned ones everything else that stands before sign, but div; doubles have add to max and sign.
enum class WholeStep : uint8_t {
  add,
  sub,
  mul,
  div,
  min,    ///< a < b or NaN ? a : b
  max,    ///< a > b or NaN ? a : b
  neg,    ///< b is not read
  abs,    ///< nor here
  clamp,  ///< b[0] to b[1] for every element
  bit_and,
  bit_or,
  bit_xor,
  sign,       ///< 1, -1, or a where that is zero or NaN; b is not read
  half_relu,  ///< a are the bits of floats whose infinity has the bits b[0]: what is below zero becomes zero
  half_sign,  ///< of such floats; 1 has the bits b[1]
};

namespace simd {

/// y[i] = step(a[i], b[i * step_b]) for i in [0, n); step_b is 0 or 1, and 0 where b is one number or limits. y may be
/// a or b.
template <class T>
using WholeLoop = void(WholeStep step, const T* a, const T* b, size_t step_b, T* y, size_t n);

}  // namespace simd
}  // namespace nnex::kernels
