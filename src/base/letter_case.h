#pragma once
// Upper and lower case of UTF-8 text, the same on every machine: no locale has a say.

#include <string>
#include <string_view>

namespace nnex {

/// Every letter by its simple mapping (one letter to one letter; Unicode 14.0). Bytes that are no UTF-8 stay.
std::string lower_case_text(std::string_view text);
std::string upper_case_text(std::string_view text);

/// The code point at the front of `text` and the bytes it takes; a byte that starts none counts as itself, 1 byte,
/// with a code point above 0x10FFFF.
struct CodePoint {
  char32_t value = 0;
  size_t bytes = 0;
};
CodePoint first_code_point(std::string_view text);

}  // namespace nnex
