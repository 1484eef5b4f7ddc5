#include "standards/unwritable.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/joined.h"
#include "graph/infer.h"
#include "graph/symbols.h"

namespace nnex {

Error cannot_say(std::string_view standard, const ir::Graph& graph, const std::vector<Unwritable>& refused) {
  struct Line {
    std::string_view reason;
    std::string places;
    std::set<std::string> told = {};
  };
  std::set<std::string> told;
  std::vector<Line> lines;
  std::map<std::string_view, size_t> line_of;
  for (const Unwritable& r : refused) {
    const auto [at, fresh] = line_of.emplace(r.reason, lines.size());
    if (fresh) lines.push_back({r.reason, {}, {}});
    std::string& places = lines[at->second].places;
    const std::string& place = graph.place_of(r.node);
    told.insert(place.empty() ? fmt::format("{}", r.node.n) : place);  // a node of the file may be several here
    if (!place.empty() && lines[at->second].told.insert(place).second) places += (places.empty() ? ": " : ", ") + place;
  }
  std::string text = fmt::format("{} cannot say {} operation{}:", standard, told.size(), told.size() == 1 ? "" : "s");
  for (const Line& l : lines) text += fmt::format("\n  {}{}", l.reason, l.places);
  return Error(Code::unsupported, std::move(text));
}

Status needs_numbers(std::string_view standard, const ir::Graph& graph) {
  std::string open;
  bool nameless = false;
  for (const ValueId v : graph.inputs()) {
    const Type& type = graph[v].type;
    if (!type.is_tensor() || concrete(type)) continue;
    open += fmt::format("{}input '{}' is {}", open.empty() ? "" : ", ", graph[v].name, type.text());
    if (type.dims)
      nameless |= std::any_of(type.dims->begin(), type.dims->end(), [](const Dim& d) { return d.has_unknown(); });
  }
  if (open.empty()) return {};
  std::string text = fmt::format("{}; {} needs numbers for extents", open, standard);
  if (nameless) text += fmt::format(" ({})", joined(open_symbols(graph), ", "));
  return Error(Code::invalid_argument, std::move(text)).helped_by({"symbols", "", "fixes them"});
}

}  // namespace nnex
