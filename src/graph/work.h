#pragma once
// How much a node computes, from extents and attributes alone.

#include "base/function_ref.h"
#include "graph/graph.h"

namespace nnex {

/// Multiply-adds of a convolution, matrix product, recurrent layer, attention or einsum: one for each product that goes
/// into a sum. 0 for other operators and where a rank is unknown. The blocks of a node are not counted.
Dim multiply_adds(const ir::Graph& graph, const Node& node);

/// The same with extents that others know.
Dim multiply_adds(const ir::Graph& graph, const Node& node, FunctionRef<const Type&(ValueId)> type_of);

/// Those of the whole graph, blocks as often as they run: of an If the branch with more, a loop's body times its steps.
/// Steps that only a run knows are a symbol named by the node ("steps(Loop 'decode')").
Dim multiply_adds(const ir::Graph& graph);

/// At least the steps of a node whose work may be far more than what it reads and writes (windows, products, sums over
/// many indices); 0 for the others, and where extents are unknown. A few bytes of a file can ask for years of it.
double steps_bound(const Node& node, FunctionRef<const Type&(ValueId)> type_of);

}  // namespace nnex
