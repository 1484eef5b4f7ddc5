#pragma once
// Parts of a network that repeat one after the other: the layers of a transformer, the blocks of a residual network.

#include <vector>

#include "graph/graph.h"

namespace nnex::drawing {

/// Nodes [first, first + period * copies) of a block's order: each copy does the same with what the one before gives.
struct Repeat {
  size_t first = 0, period = 0, copies = 0;
  size_t end() const { return first + period * copies; }
};

/// Those worth folding, in order; none overlaps another. Copies have the same operators, attributes, types (weights
/// differ) and wires; what they read of others is the same value in all, and only the last is read from outside.
std::vector<Repeat> repeats_of(const ir::Graph& graph, const std::vector<NodeId>& order);

}  // namespace nnex::drawing
