#include "graph/missing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "graph/custom.h"

namespace nnex {

std::string Missing::text() const {
  const bool known = !place.empty();
  const std::string more = found.empty() ? "" : ": " + found;
  if (nodes == 1) return (known ? fmt::format("{} ({})", op, place) : op) + more;
  return fmt::format("{} ({} nodes{}{}){}", op, nodes, known ? ", first: " : "", place, more);
}

namespace {

/// What is to say of a custom operator that the host has for other versions of its domain; empty: it has none.
std::string other_versions(const CustomNode& node, const CustomOperators& operators, const Metadata& meta) {
  std::string needed;
  for (const auto& op : operators.all()) {
    if (op->domain != node.domain || op->name != node.name) continue;
    needed += needed.empty() ? "" : " or ";
    if (op->since == op->until)
      needed += fmt::format("{}", op->since);
    else if (op->until == INT64_MAX)
      needed += fmt::format("{} and later", op->since);
    else
      needed += fmt::format("{} to {}", op->since, op->until);
  }
  const auto version = meta.opsets.find(node.domain);
  if (needed.empty() || version == meta.opsets.end()) return {};
  return fmt::format("found version {} of '{}'; its host serves {}", version->second, node.domain, needed);
}

}  // namespace

std::string standards_name(std::string_view name) {
  constexpr std::string_view kStandards[] = {"NNEF", "ONNX", "WebNN", "CVM"};
  const auto equal = [&](std::string_view other) {
    return std::equal(name.begin(), name.end(), other.begin(), other.end(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  };
  for (const OpDef* op : all_ops())
    for (const Spelling& s : op->spelled)
      if (equal(s.name))
        return fmt::format("{}'s {} is '{}'", kStandards[static_cast<size_t>(s.format)], s.name, op->name);
  return {};
}

std::vector<Missing> missing_operators(const ir::Graph& graph, const CustomOperators& operators) {
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
    if (m.nodes++ > 0) continue;
    m.op = name, m.place = graph.place_of(id);
    if (node.custom) m.found = other_versions(*node.custom, operators, graph.meta);
  }
  std::vector<Missing> out;
  for (auto& [name, m] : found) out.push_back(std::move(m));
  return out;
}

}  // namespace nnex
