#pragma once
// The lexer's tables, for those who describe the language or give its signs a meaning.

#include "graph/text/lexer.h"

namespace nnex::graph_text {

/// What a keyword is for.
enum class WordUse : uint8_t { declaration, type, function, control, literal };
/// What the keyword at a position of keywords() is for.
WordUse use_of_keyword(size_t i);

/// A sign of the language, and the operations that it calls where a tensor stands beside it ("": none).
struct Sign {
  std::string_view text;
  Tok kind;
  std::string_view unary = {}, binary = {};
};
/// All signs, each behind the longer ones that begin with it.
std::span<const Sign> signs();
/// The operation that a sign calls on tensors; "": none.
std::string_view operation_of(Tok sign, bool unary);

}  // namespace nnex::graph_text
