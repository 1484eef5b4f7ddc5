#pragma once
// What a pass put in the place of something else, each such place run and compared by itself.

#include <span>
#include <vector>

#include "graph/graph.h"
#include "nnex/edit.h"

namespace nnex {

/// The replacements that a pass made (Graph::record), which turned `before` into `after`: what stood there, what stands
/// there now, and by how much the two differ on the inputs, each made of what the graph before has above it. Inside
/// a block each is made of numbers that are usual; one whose nodes take none of those is left to the outputs. Errors:
/// those of compiling and running either graph.
Result<std::vector<Replaced>> proven_replacements(const ir::Graph& before, const ir::Graph& after,
                                                  std::span<const Replacement> replacements,
                                                  std::span<const Value> inputs, const RunOptions& run);

}  // namespace nnex
