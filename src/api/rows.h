#pragma once
// Where the rows of a batch meet, for the engine's own graphs (nnex/edit.h has it for hosts').

#include <string>

#include "graph/graph.h"

namespace nnex {

std::string where_rows_meet(const ir::Graph& graph, const std::string& symbol);

}  // namespace nnex
