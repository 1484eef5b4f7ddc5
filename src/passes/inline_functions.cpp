#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "base/failure.h"
#include "passes/passes.h"
#include "tensor/memory_account.h"

namespace nnex::passes {
namespace {

constexpr size_t kMaxNodes = 250'000;

/// The function a call came from, and the call that one came from: an entry of a list, its caller's index, or -1.
struct Origin {
  std::string_view key;  ///< Of graph.functions.
  int caller = -1;
  size_t depth = 1;
};

/// Whether the function is among its own callers. Of long ways back the near end is looked at: a way longer than there
/// are functions goes in a circle anyhow.
bool calls_itself(const std::vector<Origin>& origins, int caller, std::string_view key, size_t functions) {
  constexpr int kNear = 64;
  if (caller >= 0 && origins[static_cast<size_t>(caller)].depth >= functions) return true;
  for (int n = 0; caller >= 0 && n < kNear; ++n, caller = origins[static_cast<size_t>(caller)].caller)
    if (origins[static_cast<size_t>(caller)].key == key) return true;
  return false;
}

}  // namespace

/// Replaces every call of a function of the model by its body, innermost calls last.
/// Errors: invalid_model when a function calls itself or is none of the model's; limit when they make more than 250,000
/// nodes; the body's.
Result<int> inline_functions(ir::Graph& graph) {
  struct Call {
    NodeId node;
    int origin;
  };
  std::vector<Call> calls;  // those of inlined bodies go to the end
  std::vector<Origin> origins;
  const size_t own = graph.node_count(), most = nodes_within_limit(kMaxNodes);
  for (NodeId id : graph.order_with_blocks())
    if (graph[id].op == &call_op()) calls.push_back({id, -1});
  for (size_t i = 0; i < calls.size(); ++i) {
    const auto [id, caller] = calls[i];
    if (!graph[id].custom) return Error(Code::invalid_model, "a call names no function").at(graph.place_of(id));
    const auto& f = *graph[id].custom;
    const auto it = graph.functions.find(fmt::format("{}:{}:{}", f.domain, f.name, f.overload));
    if (it == graph.functions.end())
      return failure(Code::invalid_model, "the model has no function '{}:{}'", f.domain, f.name).at(graph.place_of(id));
    if (calls_itself(origins, caller, it->first, graph.functions.size()))
      return failure(Code::invalid_model, "function '{}' calls itself", it->first).at(graph.place_of(id));
    origins.push_back({it->first, caller, caller < 0 ? 1 : origins[static_cast<size_t>(caller)].depth + 1});
    const auto before = static_cast<uint32_t>(graph.node_count());
    NNEX_TRY(it->second->expand(graph, id));
    for (uint32_t n = before; n < graph.node_count(); ++n)
      if (graph[NodeId{n}].op == &call_op() && !graph[NodeId{n}].erased)
        calls.push_back({NodeId{n}, static_cast<int>(origins.size()) - 1});
    if (graph.node_count() - own > most) return failure(Code::limit, "inlined functions make more than {} nodes", most);
  }
  return static_cast<int>(calls.size());
}

}  // namespace nnex::passes
