#pragma once
// Lexer: NNEF text as tokens (NNEF 1.0.5, lexical rules), and the few tokens that graph dumps add.

#include <cstdint>
#include <string>
#include <string_view>

#include "nnex/result.h"

namespace nnex::graph_text {

/// Line and column of a character, counted from 1; columns count bytes.
struct Position {
  uint32_t line = 1, column = 1;
};

enum class Tok : uint8_t {
  end,
  word,  ///< Identifiers and keywords.
  integer,
  real,  ///< With a point or an exponent.
  string,
  open_round,
  close_round,
  open_square,
  close_square,
  open_curly,
  close_curly,
  colon,
  assign,
  comma,
  semicolon,
  arrow,
  question,
  plus,
  minus,
  star,
  slash,
  caret,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  unequal,
  both,    ///< &&
  either,  ///< ||
  bang,
  dots,  ///< "...": content that a dump leaves out.
};

/// "';'", "a name", "the end": for messages.
std::string_view shown(Tok kind);

struct Token {
  Tok kind = Tok::end;
  Position at;
  std::string_view text;  ///< As it stands in the source; of strings what is between the quotes.
};

/// Words that are no identifiers.
bool is_keyword(std::string_view word);
/// [A-Za-z_][A-Za-z0-9_]*, keywords too.
bool is_word(std::string_view s);

/// Cuts source text into tokens, one a call. The source must outlive the tokens.
class Lexer {
 public:
  /// `name` is the file's, for messages.
  Lexer(std::string_view source, std::string_view name) : source_(source), name_(name) {}

  /// Errors: a character that starts no token, a string that does not end, each with its place.
  Result<Token> next();
  /// invalid_model at "name:line:column".
  Error error(Position at, std::string message) const;

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  void skip(size_t n);
  void skip_space();
  Token take(Tok kind, size_t n);
  Result<Token> string();
  Result<Token> number();

  std::string_view source_, name_;
  size_t at_ = 0;
  Position position_;
};

/// What a string token means: \', \", \\ and, in dumps, \xNN for bytes that are not printable. False for other escapes.
bool unescape(std::string_view between_quotes, std::string& out);
/// The text as a string literal in single quotes.
std::string quoted(std::string_view text);

}  // namespace nnex::graph_text
