#include <fmt/format.h>

#include <unordered_map>

#include "passes/passes.h"

namespace nnex {
namespace {

constexpr size_t kMostNodes = 250'000;

/// The function a call came from, and the call that one came from: an entry of a list, its caller's index, or -1.
struct Origin {
  std::string key;
  int caller = -1;
};

bool within(const std::vector<Origin>& origins, int at, const std::string& key) {
  for (; at >= 0; at = origins[static_cast<size_t>(at)].caller)
    if (origins[static_cast<size_t>(at)].key == key) return true;
  return false;
}

}  // namespace

/// Replaces every call of a function of the model by its body, innermost calls last.
/// Errors: invalid_model when a function calls itself; limit when they make more than 250,000 nodes; the body's.
Result<int> inline_functions(Graph& graph) {
  int inlined = 0;
  std::vector<Origin> origins;
  std::unordered_map<uint32_t, int> origin_of;  // calls that stand in an inlined body
  const size_t own = graph.node_count();
  while (true) {
    std::vector<NodeId> calls;
    for (NodeId id : graph.order_with_blocks())
      if (graph[id].op == &call_op()) calls.push_back(id);
    if (calls.empty()) return inlined;
    for (NodeId id : calls) {
      const auto& f = *graph[id].foreign;
      std::string key = fmt::format("{}:{}:{}", f.domain, f.name, f.overload);
      auto it = graph.functions.find(key);
      NNEX_ASSERT(it != graph.functions.end());
      auto from = origin_of.find(id.n);
      const int caller = from == origin_of.end() ? -1 : from->second;
      if (within(origins, caller, key))
        return Error(Code::invalid_model, fmt::format("function '{}' calls itself", key)).at(graph.place_of(id));
      origins.push_back({std::move(key), caller});
      const auto before = static_cast<uint32_t>(graph.node_count());
      NNEX_TRY(it->second->expand(graph, id));
      for (uint32_t n = before; n < graph.node_count(); ++n)
        if (graph[NodeId{n}].op == &call_op()) origin_of[n] = static_cast<int>(origins.size()) - 1;
      ++inlined;
      if (graph.node_count() - own > kMostNodes)
        return Error(Code::limit, fmt::format("inlined functions make more than {} nodes", kMostNodes));
    }
  }
}

}  // namespace nnex
