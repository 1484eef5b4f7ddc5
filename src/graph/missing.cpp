#include "graph/missing.h"

#include <fmt/format.h>

#include <map>

#include "graph/custom.h"

namespace nnex {

std::string Missing::text() const {
  const bool known = !place.empty();
  if (nodes == 1) return known ? fmt::format("{} ({})", op, place) : op;
  return fmt::format("{} ({} nodes{}{})", op, nodes, known ? ", first: " : "", place);
}

std::vector<Missing> missing_operators(const ir::Graph& graph) {
  std::map<std::string, Missing> found;
  for (NodeId id : graph.order_with_blocks()) {
    const Node& node = graph[id];
    if (node.op->reference || !node.op->body.empty() || !node.op->blocks.empty() || node.op == &call_op() ||
        has_host(node) || node.op->name == "gradient")
      continue;
    std::string name(node.op->name);
    if (node.custom)
      name = node.custom->domain.empty() ? node.custom->name : node.custom->domain + "." + node.custom->name;
    Missing& m = found[name];
    if (m.nodes++ == 0) m.op = name, m.place = graph.place_of(id);
  }
  std::vector<Missing> out;
  for (auto& [name, m] : found) out.push_back(std::move(m));
  return out;
}

}  // namespace nnex
