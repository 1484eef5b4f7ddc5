#pragma once
// Rows that C has no functions for, as rows that it has.

#include <string_view>

#include "graph/graph.h"

namespace nnex::c_format {

/// Products of codes, those between dequantize_linear and quantize_linear too, become conv_integer and matmul_integer,
/// rounded and limited after; where C has no function for these, products of int32 less their zero points. Types are
/// inferred anew where something changed. Errors: those of inference and of folding.
Status legalize(ir::Graph& graph);
/// Whether a conv_integer or matmul_integer reads codes as they are stored.
bool reads_codes(const ir::Graph& graph, const Node& node);
/// Whether it replaces nodes of that row.
bool is_legalized(std::string_view row);

}  // namespace nnex::c_format
