#pragma once
// Making `fused` nodes: regions of nodes that one kernel serves.

#include <set>
#include <vector>

#include "graph/graph.h"
#include "kernels/fused.h"

namespace nnex::fusion {

/// Nodes of one block that become one; only the last one's first output may be read from outside.
struct Region {
  Region(const ir::Graph& graph, NodeId last, const std::set<NodeId>& all);

  /// Which of the inputs v is; -1: none of them.
  int input(ValueId v) const;
  kernels::FusedOp operation(const Node& node) const;

  std::vector<NodeId> nodes;    ///< In their order.
  std::vector<ValueId> inputs;  ///< What they read from outside, each once.
};

/// A pattern in a graph: its nodes, and what kernels are told of them.
struct Found {
  Region region;
  kernels::Fused form;
};

/// Moves found nodes into the body of one `fused` node that stands where the last of them stood.
void fuse(ir::Graph& graph, Found found);

/// Whether a node lies in the body of a `fused` node.
bool in_region(const ir::Graph& graph, NodeId id);

}  // namespace nnex::fusion
