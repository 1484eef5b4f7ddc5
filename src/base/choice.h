#pragma once
// Whether a number that was cast to an enumeration is one of its words.

#include <type_traits>

#include "base/failure.h"
#include "nnex/result.h"

namespace nnex {

/// Of enumerations that count from 0 to `last`. Error: invalid_argument, found and needed.
template <class E>
Status check_choice(const char* option, E chosen, E last) {
  const auto number = static_cast<std::underlying_type_t<E>>(chosen);
  if (number <= static_cast<std::underlying_type_t<E>>(last)) return {};
  return failure(Code::invalid_argument, "option '{}': found {}; needed one of its {} choices", option, number,
                 static_cast<std::underlying_type_t<E>>(last) + 1);
}

}  // namespace nnex
