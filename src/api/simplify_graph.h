#pragma once
// Fewer nodes, each replacement proven by runs.

#include <span>
#include <vector>

#include "graph/graph.h"
#include "nnex/edit.h"

namespace nnex {

/// A pass that simplify() asks until nothing changes.
struct Simplifier {
  const char* name;
  Result<int> (*run)(ir::Graph&);
  bool folds = false;  ///< It computes what is known, and no more.
};

/// Those of simplify(), or of fold() alone, in order.
std::vector<Simplifier> simplifiers(bool folds);

/// simplify() by other passes. Errors: as there.
Result<SimplifyReport> simplify_by(Graph& graph, std::span<const Simplifier> passes, const RunOptions& run = {},
                                   const std::vector<Value>& inputs = {});

}  // namespace nnex
