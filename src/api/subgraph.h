#pragma once
// Parts of a graph as graphs.

#include <functional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace nnex {

/// Some nodes of a network as a network of their own.
struct Subgraph {
  ir::Graph graph;
  std::vector<ValueId> inputs;  ///< Which values of the whole its inputs are, in order.
};

/// Copies nodes of the main block, in the order given, with their blocks; constants share their bytes. What the nodes
/// read and do not make becomes an input, of the type that `type_of_input` gives (empty: the one it has); those of
/// `inputs` are inputs in any case, and come first. `outputs` are its results, each made by one of the nodes.
Subgraph subgraph(const ir::Graph& from, std::span<const NodeId> nodes, std::span<const ValueId> inputs,
                  std::span<const ValueId> outputs, const std::function<Type(ValueId)>& type_of_input = {});

}  // namespace nnex
