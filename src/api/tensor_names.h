#pragma once
// What a graph's provenance says by the names of its tensors.

#include <map>
#include <set>
#include <string>

#include "graph/graph.h"

namespace nnex {

/// Gives what is known of tensors by their names the new ones: labels of NNEF's variables, lines of its quantisation
/// file, bits of inputs and constants. Names may be swapped.
void rename_provenance(ir::Graph& graph, const std::map<std::string, std::string>& names);

/// The names by which the quantisation file and variables' labels are known.
std::set<std::string> names_in_nnef(const ir::Graph& graph);

}  // namespace nnex
