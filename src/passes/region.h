#pragma once
// Making `fused` nodes: regions of nodes that one kernel serves.

#include <optional>
#include <string_view>

#include "graph/graph.h"

namespace nnex::passes {

/// Moves nodes of one block, given in their order, into the body of one `fused` node that stands where the last of them
/// stood; only the last one's first output may be read from outside. What they read from outside becomes the node's
/// inputs, each once. Returns the node.
NodeId make_region(ir::Graph& graph, std::span<const NodeId> nodes);

/// The node that alone reads v, in the block of v's producer; an invalid id when there are more readers or none.
NodeId only_reader(const ir::Graph& graph, ValueId v);

/// The node that makes v when it is this operator; null otherwise.
const Node* made_by(const ir::Graph& graph, ValueId v, std::string_view op);
/// The one number of a real constant.
std::optional<double> real_constant(const ir::Graph& graph, ValueId v);

/// Float32 with known rank.
bool is_f32(const ir::Graph& graph, ValueId v);
/// Whether both have the same extents, numbers or formulas.
bool same_extents(const ir::Graph& graph, ValueId a, ValueId b);

}  // namespace nnex::passes
