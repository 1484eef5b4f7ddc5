#pragma once
// Slices: runs of nodes that work item by item, and how many items at a time keep their activations in the cache.

#include <span>
#include <unordered_set>
#include <vector>

#include "plan/items.h"

namespace nnex::plan {

/// Nodes [first, end) of a list that work item by item on the same number of items.
struct ItemRun {
  size_t first = 0, end = 0;
  int64_t items = 0;
  int64_t size = 0;                    ///< Items of a slice: fewer than `items`.
  int lanes = 1;                       ///< Slices that run side by side; `size` then divides `items`.
  std::vector<ValueId> sliced, whole;  ///< Made before the run, and read item by item or as a whole.
  std::unordered_set<uint32_t> made;   ///< Values that its nodes make.
};

/// Those runs among `nodes`, in their order, that are worth it. A slice is as large as every step's operands and result
/// stay in the cache with it, and no smaller than that they have as many bytes as what every slice reads again: a run
/// ends where the two part. Where there are items for each of `threads`, a thread takes slices of its own; else runs
/// save more bytes of memory than the cache has. `ahead` tells of nodes that no step runs.
std::vector<ItemRun> find_item_runs(const ir::Graph& graph, std::span<const NodeId> nodes,
                                    FunctionRef<bool(NodeId)> ahead, const Known& known, int64_t cache_bytes,
                                    int threads);

}  // namespace nnex::plan
