#pragma once
// The functions of one number that kernels apply: stand-alone, as a step of a chain, or as the epilogue of a product.

#include <cstdint>
#include <limits>

namespace nnex {

/// y = f(x) on float32. alpha and beta are those of Unary. NaN in gives NaN out, but for relu and clamp with a `nan` of
/// their own and for thresholded_relu; subnormals are kept.
enum class UnaryKind : uint8_t {
  identity,
  neg,
  abs,
  sign,   ///< -1, 0, 1; a zero stays itself
  sqrt,   ///< rounded correctly
  rsqrt,  ///< x^-0.5 as IEEE's pow for zeros and infinities, else 1 / sqrt(x), two roundings
  rcp,    ///< 1 / x, rounded correctly
  square,
  exp,
  log,
  sin,
  cos,
  tanh,
  sigmoid,
  erf,
  gelu_erf,          ///< x/2 (1 + erf(x / sqrt 2))
  gelu_tanh,         ///< x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
  gelu_sigmoid,      ///< x sigmoid(1.702 x)
  silu,              ///< x sigmoid(alpha x)
  relu,              ///< x > 0 ? x : 0
  leaky_relu,        ///< x < 0 ? alpha x : x
  thresholded_relu,  ///< x > alpha ? x : 0
  elu,               ///< x < 0 ? alpha (e^x - 1) : x
  selu,              ///< beta (x < 0 ? alpha (e^x - 1) : x)
  celu,              ///< x < 0 ? alpha (e^(x / alpha) - 1) : x
  softplus,          ///< max(x, 0) + log(1 + e^-|x|)
  softsign,          ///< x / (1 + |x|)
  mish,              ///< x tanh(softplus(x))
  hard_sigmoid,      ///< max(0, min(1, alpha x + beta))
  hard_swish,        ///< x (max(0, min(6, x + 3)) / 6)
  clamp,             ///< min(max(x, alpha), beta); a NaN limit is none
  floor,
  ceil,
  round,        ///< to nearest, ties to even
  affine,       ///< alpha x + beta, two roundings
  scaled_tanh,  ///< alpha tanh(beta x)
  count,
};

/// One such function with its parameters.
struct Unary {
  UnaryKind kind = UnaryKind::identity;
  float alpha = 0;
  float beta = 0;
  float nan = std::numeric_limits<float>::quiet_NaN();  ///< relu and clamp alone: what they make of a NaN.

  bool replaces_nan() const { return nan == nan; }
};

}  // namespace nnex
