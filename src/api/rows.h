#pragma once
// Where the rows of a batch meet, for the engine's own graphs (nnex/edit.h has it for hosts').

#include <string>

#include "graph/graph.h"

namespace nnex {

struct RowsMeeting {
  std::string why;    ///< As nnex/rows.h has it; empty: nowhere.
  bool known = true;  ///< False: only that nothing tells of that node.
};
RowsMeeting where_rows_meet(const ir::Graph& graph, const std::string& symbol);

}  // namespace nnex
