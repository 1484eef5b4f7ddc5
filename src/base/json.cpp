#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/failure.h"
#include "base/try.h"

namespace nnex {
namespace {

/// Takes every event; keeps where the first fault is, the parser's words for it, and keys that are given twice.
class FaultFinder : public nlohmann::json_sax<nlohmann::ordered_json> {
 public:
  size_t at = 0;  ///< Bytes read when the fault was seen.
  std::string what;
  std::string twice;  ///< A key that an object has more than once.

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second) twice = name;
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    at = position, what = e.what();
    return false;
  }

 private:
  std::vector<std::set<std::string>> keys_;  ///< Of the open objects.
};

/// The parser's sentence without its class and place, which we say ourselves.
std::string_view reason(std::string_view what) {
  for (std::string_view mark : {" - ", "parse error: ", ": ", "] "}) {
    const size_t found = what.find(mark);
    if (found != std::string_view::npos) return what.substr(found + mark.size());
  }
  return what;
}

/// What other programs write where a number is none that JSON has; empty: it is something else.
std::string_view bare_number(std::string_view text) {
  for (std::string_view word : {"NaN", "Infinity"})
    if (text.starts_with(word)) return word;
  return {};
}

/// Where a text nests too deep or an object has too many keys, and what it is. Faults of its grammar are the parser's.
std::optional<std::pair<size_t, std::string>> beyond(std::string_view text, const JsonLimits& limits) {
  std::vector<size_t> keys;  // of each open list or object: its colons
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      i += c == '\\' ? 1 : 0;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (keys.size() == limits.depth) return std::pair(i, fmt::format("nested deeper than {}", limits.depth));
      keys.push_back(0);
    } else if (c == ':' && !keys.empty()) {
      if (keys.back()++ == limits.keys) return std::pair(i, fmt::format("an object of more than {} keys", limits.keys));
    } else if ((c == '}' || c == ']') && !keys.empty()) {
      keys.pop_back();
    }
  }
  return std::nullopt;
}

Error fault_at(std::string_view whole, std::string_view part, size_t at, std::string_view what) {
  const auto offset = static_cast<size_t>(part.data() - whole.data());
  return failure(Code::unreadable, "{}: {}", text_place(whole, offset + std::min(at, part.size())), what);
}

}  // namespace

std::string text_place(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const size_t last = before.rfind('\n');
  const std::string_view line = last == std::string_view::npos ? before : before.substr(last + 1);
  const auto characters =
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return fmt::format("line {}, column {}", lines + 1, characters + 1);
}

Result<nlohmann::ordered_json> parse_json(std::string_view whole, std::string_view part, const JsonLimits& limits) {
  using Json = nlohmann::ordered_json;
  if (auto fault = beyond(part, limits)) return fault_at(whole, part, fault->first, fault->second);
  FaultFinder finder;
  if (limits.unique && nlohmann::ordered_json::sax_parse(part.begin(), part.end(), &finder) && !finder.twice.empty())
    return failure(Code::unreadable, "key '{}' is given twice in one object", finder.twice);
  Json j = Json::parse(part.begin(), part.end(), nullptr, false);  // with a callback it would be quadratic
  if (!j.is_discarded()) return j;
  finder = {};
  nlohmann::ordered_json::sax_parse(part.begin(), part.end(), &finder);
  const size_t at = finder.at > 0 ? finder.at - 1 : 0;
  if (const auto bare = bare_number(part.substr(std::min(part.size(), at))); !bare.empty())
    return fault_at(whole, part, at, fmt::format("found {}, which JSON lacks; as a word it is \"{}\"", bare, bare));
  return fault_at(whole, part, at, std::string(reason(finder.what)));
}

}  // namespace nnex

template class nlohmann::basic_json<nlohmann::ordered_map>;
template class nlohmann::detail::serializer<nlohmann::ordered_json>;
