#pragma once
// Nodes as functions of one or two numbers.

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "kernels/elementwise/chain.h"

namespace nnex::fusion {

/// The function of float32 that a node is of its first input, or of its first two: those are `a` and `b` of the step.
/// Of halves: between values of that type, computed in float32.
std::optional<kernels::ChainStep> function_of(const ir::Graph& graph, NodeId id, DType type = DType::f32);

/// The same where it has one input.
std::optional<kernels::Unary> unary_of(const ir::Graph& graph, NodeId id);

/// Nodes that have functions between values of one type, in their order, as steps over these values.
std::vector<kernels::ChainStep> steps_of(const ir::Graph& graph, std::span<const NodeId> nodes,
                                         std::span<const ValueId> values);

}  // namespace nnex::fusion
