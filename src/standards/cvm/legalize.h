#pragma once
// A graph in rows that CVM can say.

#include "graph/graph.h"

namespace nnex::cvm_format {

/// Changes a graph that computes with int32 alone, though formats without that type may carry it as int64, so that
/// CVM's operators say it: made plain, what such a graph was read for is int32 again, and sentences of other standards
/// are rows of CVM (legalize_integers). Errors: those of inference.
Status legalize(ir::Graph& graph);

}  // namespace nnex::cvm_format
