#include "base/failure.h"

#include <iterator>
#include <string>
#include <utility>

namespace nnex {

Error formatted_error(Code code, std::string_view whose, fmt::string_view format, fmt::format_args args) {
  std::string sentence(whose);
  if (!whose.empty()) sentence += ": ";
  fmt::vformat_to(std::back_inserter(sentence), format, args);
  return Error(code, std::move(sentence));
}

}  // namespace nnex
