#pragma once
// The verifier: what every graph keeps between passes. For tests and debug builds: it costs as much as inference.

#include "base/faults.h"
#include "graph/graph.h"

namespace nnex {

/// Whether two types can be those of one value: what both know is equal. Extents count as known when they are numbers.
bool agree(const Type& a, const Type& b);

/// Whether the blocks of a node take as many values as it gives them, run or not. Error: invalid_model.
Status check_blocks(const ir::Graph& graph, const Node& node);

/// Checks that
///   - blocks have one owner each, and their lists of nodes are whole in both directions;
///   - every value has one producer, or is a parameter or a constant, and its producer, parameter and uses lists say
///   what the
///     nodes and blocks say;
///   - a node reads what stands before it in its block or the blocks around it;
///   - inputs, outputs, blocks and attributes are those of the node's row;
///   - types that values have agree with inference, and those of constants with their content.
/// Faults: internal (this program's fault), with the node's place; those of inference.
void verify(const ir::Graph& graph, Faults& faults);
/// The first fault, if any; `what` says what was done last: "fold_affine".
Status verify(const ir::Graph& graph, std::string_view what);

}  // namespace nnex
