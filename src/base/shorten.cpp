#include "base/shorten.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace nnex {
namespace {

constexpr size_t kShort = 200;  // messages up to here are never looked into
constexpr size_t kMaxItems = 16, kShownItems = 8;
constexpr size_t kMaxLine = 2000, kLineStart = 1200, kLineEnd = 400;

/// A list that is too long: the comma behind its last shown item, its closing bracket, and how many items it has.
struct LongList {
  size_t comma, close, items;
};

/// In the order of their commas. Brackets that match nothing are letters like any other.
std::vector<LongList> long_lists(std::string_view s) {
  struct Open {
    size_t commas = 0, last_shown = 0;
  };
  std::vector<Open> open;
  std::vector<LongList> found;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '[' || s[i] == '(' || s[i] == '{') {
      open.emplace_back();
    } else if (s[i] == ',' && !open.empty()) {
      if (++open.back().commas == kShownItems) open.back().last_shown = i;
    } else if ((s[i] == ']' || s[i] == ')' || s[i] == '}') && !open.empty()) {
      if (open.back().commas >= kMaxItems) found.push_back({open.back().last_shown, i, open.back().commas + 1});
      open.pop_back();
    }
  }
  std::sort(found.begin(), found.end(), [](const LongList& a, const LongList& b) { return a.comma < b.comma; });
  return found;
}

std::string short_lists(std::string_view s) {
  std::string out;
  size_t at = 0;
  for (const LongList& list : long_lists(s)) {
    if (list.comma < at) continue;  // inside of one that was cut
    out += s.substr(at, list.comma - at);
    out += ", ... (" + std::to_string(list.items) + " in all)";
    at = list.close;
  }
  out += s.substr(at);
  return out;
}

/// The place at or before `at` where a character of UTF-8 begins.
size_t boundary(std::string_view s, size_t at) {
  for (int i = 0; i < 3 && at > 0 && (static_cast<unsigned char>(s[at]) & 0xC0) == 0x80; ++i) --at;
  return at;
}

std::string short_line(std::string_view line) {
  if (line.size() <= kMaxLine) return std::string(line);
  const size_t from = boundary(line, kLineStart), to = boundary(line, line.size() - kLineEnd);
  std::string out(line.substr(0, from));
  out += " ... (" + std::to_string(to - from) + " bytes left out) ... ";
  out += line.substr(to);
  return out;
}

}  // namespace

std::string shortened(std::string message) {
  if (message.size() <= kShort) return message;
  const std::string lists = short_lists(message);
  std::string out;
  for (std::string_view rest = lists;;) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    out += short_line(rest.substr(0, end));
    if (end == rest.size()) return out;
    out += '\n';
    rest.remove_prefix(end + 1);
  }
}

}  // namespace nnex
