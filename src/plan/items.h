#pragma once
// Items: whether a node works on every item along axis 0 by itself.

#include <optional>
#include <vector>

#include "base/function_ref.h"
#include "graph/graph.h"

namespace nnex::plan {

/// What a plan knows of values: their types, and the contents of those that nobody computes at a run (null: of others).
struct Known {
  FunctionRef<const Type&(ValueId)> type;
  FunctionRef<const Tensor*(ValueId)> content;
};

/// Of a node whose every output has `n` items along axis 0, each of which follows from the items of the same number of
/// some inputs and from the others as a whole: by input, whether it is read item by item. Nothing of other nodes, and
/// of those whose row does not tell.
std::optional<std::vector<bool>> reads_items(const ir::Graph& graph, const Node& node, int64_t n, const Known& known);

}  // namespace nnex::plan
