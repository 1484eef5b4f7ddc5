#pragma once
// Types that passes wrote.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "graph/infer.h"

namespace nnex::test {

/// What a graph says of its values' types is what inference finds, as far as both know.
inline void expect_true_types(const ir::Graph& graph) {
  ir::Graph found = graph;
  std::vector<ValueId> made;
  for (const NodeId id : graph.order_with_blocks())
    for (const ValueId v : graph[id].out)
      if (v.valid()) made.push_back(v), found.set_type(v, Type());
  Faults faults;
  infer_types(found, faults);
  const auto knows = [](const Type& type) {
    return type.is_tensor() && type.dims &&
           std::none_of(type.dims->begin(), type.dims->end(), [](const Dim& d) { return d.has_unknown(); });
  };
  for (const ValueId v : made) {
    if (!knows(graph[v].type) || !knows(found[v].type)) continue;
    EXPECT_EQ(graph[v].type.text(), found[v].type.text()) << graph[graph[v].producer].op->name;
  }
}

}  // namespace nnex::test
