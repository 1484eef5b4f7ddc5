#pragma once
// Where a text is no JSON, in words for people.

#include <string>
#include <string_view>

namespace nnex {

/// "line 3, column 7" of byte `at` (from 0) of a text; columns count characters of UTF-8.
std::string text_place(std::string_view text, size_t at);

/// What stands in the way of reading `part` as JSON, and where in `whole`, of which it is a piece: "line 1, column 5:
/// unexpected end of input". For a text that no reader took; says so where it is JSON after all.
std::string json_fault(std::string_view whole, std::string_view part);

}  // namespace nnex
