#pragma once
// Runs on random inputs, to prove that a graph computes what it did.

#include <random>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "nnex/model.h"

namespace nnex {

/// Random inputs of a network: reals in [-1, 1), integers 0 or 1; extents that are no numbers become `unknown`. Errors:
/// unsupported, an input that is no tensor of numbers.
Result<std::vector<Value>> random_inputs(const ir::Graph& graph, uint64_t seed, int64_t unknown);

/// The outputs of a copy of the graph, run as it stands: no pass. Errors: those of compiling and running.
Result<std::vector<Value>> plain_run(const ir::Graph& graph, const std::vector<Value>& inputs, const RunOptions& run);

struct RandomRun {
  std::vector<Value> inputs, outputs;
};

/// A run on random inputs. Extents that are no numbers are 2, or 1 where the graph does not run with 2. Errors: as
/// above.
Result<RandomRun> random_run(const ir::Graph& graph, const RunOptions& run);

}  // namespace nnex
