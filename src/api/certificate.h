#pragma once
// What is proven of an integer network: the bits of every node, and that no sum overflows.

#include "base/faults.h"
#include "graph/graph.h"
#include "nnex/check.h"

namespace nnex {

/// Whether the model is of CVM's format, or promises bits of its values as one that was made of such a model does.
bool is_integer_model(const ir::Graph& graph);

/// The proof is the intervals' alone, the rules are shown beside it. Needs inferred types of a graph that passes have
/// not changed. `compatible`: the rules are upstream's.
Certificate certify(const ir::Graph& graph, bool compatible);

/// What a certificate finds wrong. Overflows and promises that are broken are invalid_model; in compatibility, whose
/// rules are known to break them, promises are notes, as are rows that nobody bounds (of other standards; their
/// integers may wrap).
void add_faults(const Certificate& certificate, bool compatible, Faults& faults, std::vector<std::string>& notes);

}  // namespace nnex
