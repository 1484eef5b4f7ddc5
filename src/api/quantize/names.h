#pragma once
// Names for what a rewrite adds to a graph.

#include <fmt/format.h>

#include <set>
#include <string>

#include "graph/graph.h"

namespace nnex {

/// Names that no value of the graph has.
class Names {
 public:
  explicit Names(const ir::Graph& graph) {
    for (uint32_t n = 0; n < graph.value_count(); ++n)
      if (!graph[ValueId{n}].name.empty()) taken_.insert(graph[ValueId{n}].name);
  }
  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 1; !taken_.insert(name).second; ++n) name = fmt::format("{}_{}", wanted, n);
    return name;
  }

 private:
  std::set<std::string> taken_;
};

}  // namespace nnex
