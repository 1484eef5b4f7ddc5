#pragma once
// Exact mode: which nodes give the same bytes on every machine by their arithmetic alone.

#include "graph/graph.h"

namespace nnex {

/// Whether a node may run in exact mode: it neither computes with floats nor draws random numbers. Constant parameters
/// that a row reads by value (factors of a resize) may be floats: they are numbers of the model, not of the run.
/// Needs inferred types. Error: unsupported, with the node's place, naming the operator and its type.
Status check_exact(const ir::Graph& graph, NodeId id);

/// Every node, of blocks too. Error: the first that may not run.
Status check_exact(const ir::Graph& graph);

}  // namespace nnex
