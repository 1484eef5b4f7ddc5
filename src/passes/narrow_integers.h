#pragma once

#include "graph/graph.h"

namespace nnex::passes {

/// Networks of int32 on bytes and int16 where their values are proven to fit (narrow_integers.cpp).
Result<int> narrow_integers(ir::Graph& graph);

}  // namespace nnex::passes
