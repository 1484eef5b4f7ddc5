#pragma once
// What is proven of an integer network: the bits of every node, and that no sum overflows.

#include "cli.h"
#include "graph/graph.h"

namespace nnex::cli {

/// Whether the model promises bits of its values.
bool is_integer_model(const Graph& graph);

/// {"safe": every sum fits int32, "nodes": [{"place", "op", "bits_by_rule", "bits_proven", "low", "high",
/// "accumulator_bound" (sums), "overflows"}]}. Needs inferred types of a graph that passes have not changed.
Json certificate(const Graph& graph);

}  // namespace nnex::cli
