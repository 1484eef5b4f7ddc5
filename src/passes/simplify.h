#pragma once
// Rules of the pass simplify, a file a theme. Each looks at one node, whose single output has elements of float32, and
// answers whether it put something else in its place.

#include <optional>
#include <utility>

#include "graph/graph.h"

namespace nnex::passes::simplification {

/// pow with a number that a simpler row stands for.
bool power(ir::Graph& graph, NodeId id);
/// Activations written as products: silu, gelu, hard_swish.
bool activation_of_product(ir::Graph& graph, NodeId id);
/// gelu written as a sum.
bool activation_of_sum(ir::Graph& graph, NodeId id);
/// Pools over whole planes.
bool pool(ir::Graph& graph, NodeId id);
/// batch_normalization of constant numbers.
bool batch_normalization(ir::Graph& graph, NodeId id);

/// The other operand of a node of two when one is a number: (value, number).
std::optional<std::pair<ValueId, double>> with_number(const ir::Graph& graph, const Node& n);
/// y takes the place, the type and the name of the node's output.
bool become(ir::Graph& graph, NodeId id, ValueId y);

}  // namespace nnex::passes::simplification
