#include "standards/unwritable.h"

#include <fmt/format.h>

#include <map>

namespace nnex {

Error cannot_say(std::string_view standard, const ir::Graph& graph, const std::vector<Unwritable>& refused) {
  struct Line {
    std::string_view reason;
    std::string places;
  };
  std::vector<Line> lines;
  std::map<std::string_view, size_t> line_of;
  for (const Unwritable& r : refused) {
    const auto [at, fresh] = line_of.emplace(r.reason, lines.size());
    if (fresh) lines.push_back({r.reason, {}});
    std::string& places = lines[at->second].places;
    const std::string& place = graph.place_of(r.node);
    if (!place.empty()) places += (places.empty() ? ": " : ", ") + place;
  }
  std::string text =
      fmt::format("{} cannot say {} operation{}:", standard, refused.size(), refused.size() == 1 ? "" : "s");
  for (const Line& l : lines) text += fmt::format("\n  {}{}", l.reason, l.places);
  return Error(Code::unsupported, std::move(text));
}

}  // namespace nnex
