#pragma once
// Outputs that become inputs of the next run.

#include <vector>

#include "graph/graph.h"
#include "nnex/model.h"

namespace nnex::run {

/// Makes states of pairs of an output and an input (LoadOptions::carry). Types must be inferred. Errors:
/// invalid_argument (no such port, one in two pairs, types that differ, an extent that an ordinary input decides).
Status carry(ir::Graph& graph, const std::vector<Carry>& pairs);

}  // namespace nnex::run
