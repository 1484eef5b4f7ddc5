#pragma once
// Calls of operations by name: conversion of the arguments, the specification's checks in its order, nodes.

#include <span>
#include <string_view>

#include "webnn/idl.h"
#include "webnn/step.h"

namespace nnex::ml {

/// Calls operation `operation` of a builder as JavaScript would. Errors: TypeError for an unknown operation or bad
/// arguments (web IDL first), InvalidStateError when the builder has built or its context is lost, then TypeError in
/// the order: foreign operands, data types, ranks, the operation's own rules, limits of the outputs.
Result<std::vector<Operand>> call(BuilderState& builder, std::string_view operation, std::span<const idl::Value> args);

/// The arguments converted to the types of the interface.
Result<Arguments> convert_arguments(const Method& method, std::span<const idl::Value> args);

/// The same call once the arguments are converted: what typed methods use.
Result<std::vector<Operand>> call(BuilderState& builder, const Arguments& args);

/// What the context supports: everything that is allowed.
const OpSupportLimits& op_support_limits();

}  // namespace nnex::ml
