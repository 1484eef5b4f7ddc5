#pragma once
// What is proven of an integer network: the bits of every node, and that no sum overflows.

#include "base/faults.h"
#include "cli.h"
#include "graph/graph.h"

namespace nnex::cli {

/// Whether the model is of CVM's format, or promises bits of its values as one that was made of such a model does.
bool is_integer_model(const Graph& graph);

/// {"safe": every sum and every result fits int32, "nodes": [{"place", "op", "bits_by_rule", "bits_proven", "low",
/// "high", "accumulator_bound" (sums), "overflows", "bounded": false where nobody could bound the row}], "beyond_rule":
/// [{"value", "bits_by_rule", "bits_proven"}] of values that may need more bits than the rules or the file promise,
/// where that begins}. The proof is the intervals' alone, the rules are shown beside it. Needs inferred types of a
/// graph that passes have not changed. `compatible`: the rules are upstream's.
Json certificate(const Graph& graph, bool compatible);
/// What a certificate finds wrong. Overflows and promises that are broken are invalid_model; in compatibility, whose
/// rules are known to break them, promises are notes, as are rows that nobody bounds (of other standards; their
/// integers may wrap).
void add_faults(const Json& certificate, bool compatible, Faults& faults, std::vector<std::string>& notes);

}  // namespace nnex::cli
