#pragma once
// Lexer: NNEF text as tokens (NNEF 1.0.5, lexical rules), and the few tokens that graph dumps add.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/faults.h"
#include "nnex/result.h"

namespace nnex::graph_text {

/// Line and column of a character, counted from 1; columns count bytes.
struct Position {
  uint32_t line = 1, column = 1;
};

/// A character of a text.
struct Cursor {
  const char* at = nullptr;
  const char* line_start = nullptr;  ///< Of its line.
  uint32_t line = 1;
  Position position() const { return {line, static_cast<uint32_t>(at - line_start + 1)}; }
};

/// Where the characters of a text that was rewritten stood in its original: runs by ascending offset.
class PlaceMap {
 public:
  void add(size_t offset, Position original) {
    if (runs_.empty() || runs_.back().offset < offset) runs_.push_back({offset, original});
  }
  /// Moves every run behind text that is put in front.
  void shift(size_t n) {
    for (Run& r : runs_) r.offset += n;
  }
  /// The original place of the character, by the run it is in.
  Position at(size_t offset) const {
    const auto behind = std::upper_bound(runs_.begin(), runs_.end(), offset,
                                         [](size_t value, const Run& r) { return value < r.offset; });
    return behind == runs_.begin() ? Position{} : (behind - 1)->original;
  }

 private:
  struct Run {
    size_t offset;
    Position original;
  };
  std::vector<Run> runs_;
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
  bad,   ///< A string that does not end; its fault is reported.
};

/// Words that are no identifiers.
enum class Word : uint8_t {
  none,
  version,
  extension,
  graph,
  fragment,
  tensor,
  integer,
  scalar,
  logical,
  string,
  shape_of,
  length_of,
  range_of,
  for_,
  in,
  yield,
  if_,
  else_,
  true_,
  false_,
};

/// "';'", "a name", "the end": for messages.
std::string_view shown(Tok kind);

struct Token {
  Tok kind = Tok::end;
  Word word = Word::none;    ///< Of words: which keyword.
  bool starts_line = false;  ///< Nothing but space stands before it in its line.
  Position at;
  std::string_view text;  ///< As it stands in the source; of strings what is between the quotes.
};

Word keyword_of(std::string_view word);
/// Words that are no identifiers.
inline bool is_keyword(std::string_view word) { return keyword_of(word) != Word::none; }
/// All keywords, and all signs: for descriptions of the language.
std::span<const std::string_view> keywords();
/// [A-Za-z_][A-Za-z0-9_]*, keywords too.
bool is_word(std::string_view s);

/// Which text: NNEF documents, whose faults carry the numbers of their rules, or what this project prints.
enum class TextKind : uint8_t {
  dump,      ///< Graph dumps, bodies of operators, cases: all extensions and the additions of parser.h.
  document,  ///< NNEF 1.0.5.
  tract,     ///< As sonos/tract writes: names as i"x.0" or "x.0", extensions of any words.
};

/// Cuts source text into tokens, one a call. The source must outlive the tokens.
class Lexer {
 public:
  /// `name` is the file's, for messages.
  Lexer(std::string_view source, std::string_view name, Faults& faults, TextKind kind)
      : source_(source),
        name_(name),
        faults_(faults),
        kind_(kind),
        at_(source.data()),
        end_(source.data() + source.size()),
        line_start_(source.data()) {}

  /// Faults are reported and mended: what follows is the nearest token that could be meant. Behind the thousandth the
  /// text ends.
  void next(Token& out);
  Token next() {
    Token t;
    next(t);
    return t;
  }
  /// invalid_model at "name:line:column".
  Error error(Position at, std::string message) const;
  void fault(Position at, std::string_view rule, std::string message, const std::vector<Remedy>& remedies = {});
  TextKind kind() const { return kind_; }
  /// From here on places are those of the text that this one was made of; the map must outlive the lexer.
  void use(const PlaceMap* places) { places_ = places; }
  /// Goes on at another character, which does not begin its line.
  void seek(const Cursor& to) {
    at_ = to.at, line_start_ = to.line_start, line_ = to.line;
    starts_line_ = false;
  }

 private:
  char peek(size_t ahead = 0) const { return ahead < left() ? at_[ahead] : '\0'; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  Position here() const {
    if (places_) return places_->at(static_cast<size_t>(at_ - source_.data()));
    return {line_, static_cast<uint32_t>(at_ - line_start_ + 1)};
  }
  void skip_space();
  void take(Token& out, Tok kind, const char* end);
  void word(Token& out);
  void non_ascii_word(Token& out);
  bool is_quoted_name() const;
  void quoted_name(Token& out);
  void string(Token& out);
  void number(Token& out);
  void long_number(Token& out);
  bool sign(Token& out);
  void slashes();
  void stray();

  static constexpr size_t kMaxFaults = 1000;  ///< With so many a text ends: it is none of this language.

  std::string_view source_, name_;
  Faults& faults_;
  size_t count_ = 0;  ///< Of faults.
  TextKind kind_;
  bool starts_line_ = true;
  uint32_t line_ = 1;
  const char *at_, *end_;  ///< Of what is in no token yet.
  const char* line_start_;
  const PlaceMap* places_ = nullptr;
};

/// "_12": the name a dump gives to a value that has none.
bool stands_for_no_name(std::string_view name);
/// What a string token means: \', \", \\ and, in dumps, \xNN for bytes that are not printable. False for other escapes.
bool unescape(std::string_view between_quotes, std::string& out);
/// The text as a string literal in single quotes; bytes that are no UTF-8 or cannot be seen are escaped.
std::string quoted(std::string_view text);

}  // namespace nnex::graph_text
