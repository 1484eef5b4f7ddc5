#pragma once
// A description of NNEF's language for editors.

#include <string>

namespace nnex::nnef_format {

/// A TextMate grammar (JSON) made of the lexer's tables and the standard's operations. editors/nnef.tmLanguage.json is
/// this text.
std::string textmate_grammar();

}  // namespace nnex::nnef_format
