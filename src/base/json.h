#pragma once
// Reading JSON of any origin: the one way in, with limits on what a text may make of itself.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "nnex/result.h"

namespace nnex {

struct JsonLimits {
  size_t depth = 64;    ///< Lists and objects in one another: what reads, copies and writes them calls itself.
  size_t keys = 4096;   ///< Of one object: looking for one takes as long as it has keys.
  bool unique = false;  ///< No key twice in one object.
};

/// The text's value. `part` is a piece of `whole`, in which faults are counted.
/// Error: unreadable, "line 1, column 5: unexpected end of input".
Result<nlohmann::ordered_json> parse_json(std::string_view whole, std::string_view part, const JsonLimits& limits = {});
inline Result<nlohmann::ordered_json> parse_json(std::string_view text, const JsonLimits& limits = {}) {
  return parse_json(text, text, limits);
}

/// "line 3, column 7" of byte `at` (from 0) of a text; columns count characters of UTF-8.
std::string text_place(std::string_view text, size_t at);

}  // namespace nnex

// Compiled once, in json.cpp; the programs in apps/ take it from there.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
extern template class nlohmann::detail::serializer<nlohmann::ordered_json>;
