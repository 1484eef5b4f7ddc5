#include "formats/unwritable.h"

#include <fmt/format.h>

#include <algorithm>

namespace nnex {

Error cannot_say(std::string_view standard, std::string_view remedy, const Graph& graph,
                 const std::vector<Unwritable>& refused) {
  struct Line {
    std::string_view reason;
    std::string places;
  };
  std::vector<Line> lines;
  for (const Unwritable& r : refused) {
    auto line = std::find_if(lines.begin(), lines.end(), [&](const Line& l) { return l.reason == r.reason; });
    if (line == lines.end()) line = lines.insert(line, {r.reason, {}});
    const std::string& place = graph.place_of(r.node);
    if (!place.empty()) line->places += (line->places.empty() ? ": " : ", ") + place;
  }
  std::string text =
      fmt::format("{} cannot say {} operation{}{}:", standard, refused.size(), refused.size() == 1 ? "" : "s", remedy);
  for (const Line& l : lines) text += fmt::format("\n  {}{}", l.reason, l.places);
  return Error(Code::unsupported, std::move(text));
}

}  // namespace nnex
