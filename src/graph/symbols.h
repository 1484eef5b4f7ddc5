#pragma once
// Symbolic extents that a caller knows.

#include <map>
#include <string>

#include "graph/graph.h"

namespace nnex {

/// Symbolic extents become the numbers the caller fixed, by symbol ("N") or by place ("input.axis").
/// Errors: invalid_argument (no such symbol: names those there are; a number below 0).
Status fix_symbols(Graph& graph, const std::map<std::string, int64_t>& symbols);

}  // namespace nnex
