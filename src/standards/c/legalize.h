#pragma once
// Rows that C has no functions for, as rows that it has.

#include <string_view>

#include "graph/graph.h"

namespace nnex::c_format {

/// Products of codes become products of int32 less their zero points, rounded and limited after where the row says so.
/// Types are inferred anew where something changed. Errors: those of inference and of folding.
Status legalize(ir::Graph& graph);
/// Whether it replaces nodes of that row.
bool is_legalized(std::string_view row);

}  // namespace nnex::c_format
