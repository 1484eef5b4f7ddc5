#pragma once
// The functions of one number that kernels apply: stand-alone, as a step of a chain, or as the epilogue of a product.

#include <cstdint>
#include <limits>

namespace nnex::kernels {

/// y = f(x) on float32. alpha and beta are those of Unary. NaN in gives NaN out, but for relu and clamp with a `nan` of
/// their own and for thresholded_relu; subnormals are kept.
enum class UnaryKind : uint8_t {
#define NNEX_UNARY(kind, cost, row) kind,
#define NNEX_UNARY_ATTRS(kind, cost, row) kind,
#define NNEX_UNARY_INNER(kind, cost) kind,
#include "kernels/elementwise/unary.def"
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

}  // namespace nnex::kernels
