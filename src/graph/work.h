#pragma once
// How much a node computes, from extents and attributes alone.

#include "base/function_ref.h"
#include "graph/graph.h"

namespace nnex {

/// Multiply-adds of a convolution or matrix product: elements of the output times those each one sums. 0 for other
/// operators and where a rank is unknown.
Dim multiply_adds(const Graph& graph, const Node& node);

/// At least the steps of a node whose work may be far more than what it reads and writes (windows, products, sums over
/// many indices); 0 for the others, and where extents are unknown. A few bytes of a file can ask for years of it.
double steps_bound(const Node& node, FunctionRef<const Type&(ValueId)> type_of);

}  // namespace nnex
