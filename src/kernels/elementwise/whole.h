#pragma once
// Element-wise operators on whole numbers of any width, on doubles, and remainders of floats: the reference's bytes.

#include <cstdint>

#include "base/threads.h"
#include "kernels/nest.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// Functions of two elements. Sums, differences, products and quotients wrap; a quotient or a remainder by zero is 0.
enum class WholeBinary : uint8_t {
  add,
  sub,
  mul,
  div,        ///< truncated
  floor_mod,  ///< has the sign of the divisor
  trunc_mod,  ///< has the sign of the dividend
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,   ///< by a negative amount or by 64 and more: 0
  shift_right,  ///< then: 0, or -1 where the number is negative
};

/// y = kind(a, b), for T signed or unsigned of 8 to 64 bits, and for double without bits and remainders. nest has
/// operands a, b; y may be one of them that has its extents.
template <class T>
void whole_broadcast(const simd::Loops& loops, Team& team, WholeBinary kind, const Nest& nest, const T* a, const T* b,
                     T* y);

/// y = the remainder of a / b with the sign of b (floor) or of a, the reference's bytes. nest has operands a, b; y may
/// be one of them that has its extents.
void mod_broadcast(Team& team, bool floor, const Nest& nest, const float* a, const float* b, float* y);

enum class WholeUnary : uint8_t { neg, abs, sign, square, relu, bit_not };

/// y[i] = kind(x[i]) for i in [0, n), of the same types; x and y may be the same buffer.
template <class T>
void whole_map(const simd::Loops& loops, Team& team, WholeUnary kind, const T* x, T* y, int64_t n);

/// y[i] = neg, abs, sign or relu of x[i], whose bits are those of float16 or bfloat16; a NaN stays itself.
void half_map(const simd::Loops& loops, Team& team, WholeUnary kind, bool brain, const uint16_t* x, uint16_t* y,
              int64_t n);

/// y[i] = x[i], or the limit that it passes; `low_wins`: where low > high everything is low, else high.
template <class T>
void whole_clamp(const simd::Loops& loops, Team& team, T low, T high, bool low_wins, const T* x, T* y, int64_t n);

}  // namespace nnex::kernels
