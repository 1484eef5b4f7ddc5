#pragma once
// Operators of a graph that this build cannot run, and names of operators that are not nnex's.

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "nnex/custom.h"

namespace nnex {

struct Missing {
  std::string op;     ///< "com.example.Rotate", "DeformConv"
  std::string place;  ///< The first node that needs it.
  size_t nodes = 0;   ///< How many nodes need it.
  std::string found;  ///< Of a host's operator that serves other versions: "found version 1 of ...".

  /// "DeformConv (3 nodes, first: node 'dc1')"
  std::string text() const;
};

/// "ONNX's ReduceSum is 'sum_reduce'", of rows that a standard calls so, case aside; empty: none does.
std::string standards_name(std::string_view name);

/// Every operator that is outside the table, or that has neither a kernel nor a body. `operators`: those of the host,
/// which the graph was resolved with.
std::vector<Missing> missing_operators(const ir::Graph& graph, const CustomOperators& operators = {});

}  // namespace nnex
