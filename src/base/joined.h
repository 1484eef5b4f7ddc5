#pragma once
// Lists in messages.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>

namespace nnex {

/// The items one after another, the separator between them. What fmt::join is for, without fmt's formatters compiled
/// again in every file that uses it.
template <class Items>
std::string joined(const Items& items, std::string_view separator) {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += separator;
    first = false;
    if constexpr (std::is_convertible_v<decltype(item), std::string_view>)
      text += std::string_view(item);
    else
      text += fmt::format("{}", item);
  }
  return text;
}

}  // namespace nnex
