#pragma once
// Errors whose sentences are formatted.

#include <fmt/format.h>

#include <string_view>

#include "nnex/result.h"

namespace nnex {

Error formatted_error(Code code, std::string_view whose, fmt::string_view format, fmt::format_args args);

/// failure(Code::limit, "{} elements; at most {}", found, most): the Error of that sentence.
template <class... A>
Error failure(Code code, fmt::format_string<A...> format, A&&... args) {
  return formatted_error(code, {}, format, fmt::make_format_args(args...));
}

/// failure_of(Code::fault, "pad", "axis {}", a): "pad: axis 3".
template <class... A>
Error failure_of(Code code, std::string_view whose, fmt::format_string<A...> format, A&&... args) {
  return formatted_error(code, whose, format, fmt::make_format_args(args...));
}

}  // namespace nnex
