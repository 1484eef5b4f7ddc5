#pragma once
// Sentences of ONNX that say a row of an integer network become the row again.

#include "graph/graph.h"

namespace nnex::cvm_format {

/// Shifts that were said in i64, limits of +-(2^(p-1) - 1), convolutions and pools of bytes: the reverse of what
/// onnx_format::legalize_for_onnx does to integer networks. Values must have their types. Errors: those of inference.
Status legalize_integers(ir::Graph& graph);

}  // namespace nnex::cvm_format
