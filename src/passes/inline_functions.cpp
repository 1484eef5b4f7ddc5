#include <fmt/format.h>

#include "passes/passes.h"

namespace nnex {

/// Replaces every call of a function of the model by its body, innermost calls last.
/// Errors: limit when calls nest deeper than 100 or the graph grows past 10 million nodes; the body's.
Result<int> inline_functions(Graph& graph) {
  constexpr int kDeepest = 100;
  constexpr size_t kMostNodes = 10'000'000;
  int inlined = 0;
  for (int depth = 0;; ++depth) {
    std::vector<NodeId> calls;
    for (NodeId id : graph.order_with_blocks())
      if (graph[id].op == &call_op()) calls.push_back(id);
    if (calls.empty()) return inlined;
    if (depth == kDeepest)
      return Error(Code::limit, fmt::format("functions call each other deeper than {}", kDeepest))
          .at(graph.place_of(calls[0]));
    for (NodeId id : calls) {
      const auto& f = *graph[id].foreign;
      auto it = graph.functions.find(fmt::format("{}:{}:{}", f.domain, f.name, f.overload));
      NNEX_ASSERT(it != graph.functions.end());
      NNEX_TRY(it->second->expand(graph, id));
      ++inlined;
      if (graph.node_count() > kMostNodes)
        return Error(Code::limit, fmt::format("inlined functions make more than {} nodes", kMostNodes));
    }
  }
}

}  // namespace nnex
