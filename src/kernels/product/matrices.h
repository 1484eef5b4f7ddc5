#pragma once
// Where the matrices of a product lie in its operands.

#include "kernels/product/gemm.h"
#include "nnex/shape.h"

namespace nnex::kernels {

/// x [..., m, k] times w [..., k, n], a missing axis of a vector being 1, the axes before broadcast against each other;
/// the product has elements. With `transpose` the operand's last two axes change places. Steps count elements; rows of
/// matrices of x that lie one after the other and meet the same matrix of w are rows of one.
BatchGemm products_of(const Shape& x, const Shape& w, bool transpose_x, bool transpose_w);

}  // namespace nnex::kernels
