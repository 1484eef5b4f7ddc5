#pragma once
// Numbers on the command line: checks whose messages say what was found and what is needed.

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <string>

namespace nnex::cli {

/// A whole number of at least `least`.
inline CLI::Validator whole_number(int least) {
  const auto check = [least](const std::string& text) {
    int value = 0;
    const char* last = text.data() + text.size();
    const auto [end, fault] = std::from_chars(text.data(), last, value);
    if (fault == std::errc() && end == last && value >= least) return std::string();
    return fmt::format("found '{}'; needed a whole number of at least {}", text, least);
  };
  return CLI::Validator(check, fmt::format(">= {}", least));
}

/// A number above zero.
inline CLI::Validator positive_number() {
  const auto check = [](const std::string& text) {
    double value = 0;
    const char* last = text.data() + text.size();
    const auto [end, fault] = fast_float::from_chars(text.data(), last, value);
    if (fault == std::errc() && end == last && value > 0 && value < 1e300) return std::string();
    return fmt::format("found '{}'; needed a number above 0", text);
  };
  return CLI::Validator(check, "> 0");
}

}  // namespace nnex::cli
