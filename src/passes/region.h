#pragma once
// Making `fused` nodes: regions of nodes that one kernel serves.

#include <span>

#include "graph/graph.h"

namespace nnex::passes {

/// Moves nodes of one block, given in their order, into the body of one `fused` node that stands where the last of them
/// stood; only the last one's first output may be read from outside. What they read from outside becomes the node's
/// inputs, each once. Returns the node.
NodeId make_region(ir::Graph& graph, std::span<const NodeId> nodes);

}  // namespace nnex::passes
