#pragma once
// The passes, in order: one file each, one line each here.

#include "graph/graph.h"

namespace nnex {

/// What every graph needs before it can be planned: functions inlined, types inferred, bodies of rows without kernels
/// expanded. Errors: invalid_model with every place where inference fails (the first is the Error's message).
Status prepare(Graph& graph);

/// Folds, simplifies and fuses. Results stay within the tolerance each pass states.
Status optimize(Graph& graph);

}  // namespace nnex
