#pragma once
// An einsum equation over shapes, as nested loops.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "nnex/result.h"
#include "nnex/shape.h"

namespace nnex {

/// One index of the sum: its extent, and how far each operand moves when it grows by one (0: the index is not the
/// operand's, or the operand is stretched along it).
struct EinsumLoop {
  int64_t extent = 1;
  std::vector<int64_t> step;
};

/// The loops of an equation over shapes: those of the result first, in its order, then those summed over.
struct EinsumLoops {
  std::vector<EinsumLoop> result, summed;
};

/// The same by axes: which index of the equation each axis counts, an ellipsis spelled out.
struct EinsumIndices {
  std::vector<std::vector<size_t>> operands;
  std::vector<size_t> result;
  std::vector<int64_t> extent;  ///< Of each index.
};

/// Of operands of these shapes, which the equation fits (inference said so). Errors: those of the equation.
Result<EinsumIndices> einsum_indices(std::string_view equation, std::span<const Shape> operands);

/// Of dense operands of these shapes, which the equation fits (inference said so). Errors: those of the equation.
Result<EinsumLoops> einsum_loops(std::string_view equation, std::span<const Shape> operands);

}  // namespace nnex
