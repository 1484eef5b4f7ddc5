#pragma once
// Rows that C has no functions for, as rows that it has.

#include "graph/graph.h"

namespace nnex::c_format {

/// Products of codes become products of int32 less their zero points, rounded and limited after where the row says so.
/// Types are inferred anew where something changed. Errors: those of inference and of folding.
Status legalize(ir::Graph& graph);

}  // namespace nnex::c_format
