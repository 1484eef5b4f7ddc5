#pragma once
// Operators of whole numbers as steps of an IntChain: shared by the kernels and by the pass that makes their regions.

#include <optional>
#include <span>
#include <string_view>

#include "kernels/integer/chain.h"
#include "kernels/kernel.h"

namespace nnex::kernels {

/// The step of an operator with two tensors.
std::optional<simd::IntStepKind> int_binary(std::string_view op);

/// Appends an operator with one tensor, in[0], to the steps: the row's own arithmetic on int32. False: none that a
/// chain can say exactly, or its limits are not constant; nothing was appended.
bool int_unary(const OpDef& op, const void* attrs, std::span<const Operand> in, IntSteps& steps);

/// Appends element ∘ number (subtract: element - number); false where that needs an operand.
bool int_with_number(simd::IntStepKind kind, int64_t number, IntSteps& steps);

}  // namespace nnex::kernels
