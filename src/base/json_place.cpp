#include "base/json_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace nnex {
namespace {

/// Takes every event; keeps where the first fault is, and the parser's words for it.
class FaultFinder : public nlohmann::json_sax<nlohmann::json> {
 public:
  size_t at = 0;  ///< Bytes read when the fault was seen.
  std::string what;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    at = position, what = e.what();
    return false;
  }
};

/// The parser's sentence without its class and place, which we say ourselves.
std::string_view reason(std::string_view what) {
  for (std::string_view mark : {" - ", "parse error: ", ": "}) {
    const size_t found = what.find(mark);
    if (found != std::string_view::npos) return what.substr(found + mark.size());
  }
  return what;
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

std::string json_fault(std::string_view whole, std::string_view part) {
  FaultFinder finder;
  if (nlohmann::json::sax_parse(part.begin(), part.end(), &finder)) return "the text is JSON";
  const auto offset = static_cast<size_t>(part.data() - whole.data());
  const size_t at = offset + std::min(finder.at > 0 ? finder.at - 1 : 0, part.size());
  return fmt::format("{}: {}", text_place(whole, at), reason(finder.what));
}

}  // namespace nnex
