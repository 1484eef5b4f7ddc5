#pragma once
// The functions of two numbers that kernels apply, stand-alone or as a step of a chain.

#include <cstdint>

namespace nnex::kernels {

/// y = f(a, b) on float32.
enum class BinaryKind : uint8_t {
#define NNEX_BINARY(kind, row) kind,
#define NNEX_BINARY_ATTRS(kind, row) kind,
#define NNEX_BINARY_INNER(kind) kind,
#include "kernels/elementwise/binary.def"
  count,
};

/// y = a ? b as one byte, 1 or 0; every comparison with NaN but `ne` is 0.
enum class CompareKind : uint8_t { eq, ne, lt, le, gt, ge, count };

/// Which operands of a loop over n elements are single numbers.
enum class Form : uint8_t { vector_vector, vector_scalar, scalar_vector };

}  // namespace nnex::kernels
