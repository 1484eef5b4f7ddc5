#pragma once
// What a reduction computes, and the order in which it adds.

#include <cstdint>

namespace nnex::kernels {

/// Values are folded 16 at a time: partial j takes the elements at j, j + 16, ... in order, and one tree joins the
/// partials (j with j + 8, then 4, 2, 1), so every instruction set gives the same bytes. Over columns each column is
/// one chain, cut every 128 rows; so is, in reductions of tensors of four-byte elements, a row of at most 16.
enum class ReduceKind : uint8_t {
  sum,          ///< 0 for nothing
  mean,         ///< sum / count; NaN for nothing
  product,      ///< 1 for nothing
  max,          ///< NaN wins; -inf for nothing
  min,          ///< NaN wins; inf for nothing
  sum_squares,  ///< 0 for nothing
  sum_abs,      ///< 0 for nothing
  l2,           ///< sqrt(sum_squares)
  count,
};

}  // namespace nnex::kernels
