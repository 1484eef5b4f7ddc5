#pragma once
// Which function of kernels/elementwise/unary.h or binary.h an operator is.

#include <optional>

#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"
#include "kernels/kernel.h"

namespace nnex::kernels {

/// The float32 function of one number that the operator is with these attributes and (constant) further inputs;
/// nothing when it is none.
std::optional<Unary> unary_of(const OpDef& op, const void* attrs, std::span<const Operand> in);

/// The float32 function of two numbers that the operator is with these attributes.
std::optional<BinaryKind> binary_of(const OpDef& op, const void* attrs);

}  // namespace nnex::kernels
