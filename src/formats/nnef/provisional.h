#pragma once
// The provisional draft of NNEF (December 2017): recognised, and rewritten as a 1.0 document.

#include <string>
#include <string_view>

#include "base/faults.h"

namespace nnex::nnef_format {

/// Whether a text is of the draft: its version statement ends without ';'.
bool is_provisional(std::string_view source);

/// The text as NNEF 1.0, token by token: semicolons, extensions, `extent` and bare `tensor` as 1.0 has them,
/// comprehensions with yield, operations and parameters that were renamed. Comments go. What 1.0 has no word for stays,
/// for the reader to report.
std::string upgraded(std::string_view source, std::string_view file, Faults& faults);

}  // namespace nnex::nnef_format
