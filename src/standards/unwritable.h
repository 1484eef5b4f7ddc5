#pragma once
// What a standard has no words for.

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace nnex {

/// A node that cannot be written, and why: "mod: NNEF has no such operation".
struct Unwritable {
  NodeId node;
  std::string reason;
};

/// The error that names all of them: a line for each reason, in the order of their first nodes, with the places of the
/// nodes it holds for.
Error cannot_say(std::string_view standard, const ir::Graph& graph, const std::vector<Unwritable>& refused);

/// Whether all extents of the inputs are numbers, as a standard needs them. Error: invalid_argument, with every input
/// that has others, and what a caller calls them where they have no name: "input 'x' is f32[N,2]; NNEF needs numbers
/// for extents".
Status needs_numbers(std::string_view standard, const ir::Graph& graph);

}  // namespace nnex
