#pragma once
// The canonical layout of NNEF text: one statement a line, comments kept.

#include <string>
#include <string_view>

#include "standards/nnef/evaluate.h"

namespace nnex::nnef_format {

/// The document laid out anew. Its tokens and comments stay, in their order; extensions get a statement each. Laying
/// out twice changes nothing. Faults: those of syntax, all of them; then the text is empty.
std::string format_text(std::string_view source, std::string_view file, Faults& faults,
                        Dialect dialect = Dialect::standard);

}  // namespace nnex::nnef_format
