#pragma once
// Flat text read without tokens. Most statements of most documents are one call with names and literals: this reads
// them, each character once. It knows no faults; where it is unsure it says so, and the statement is the parser's.

#include "graph/text/signs.h"

namespace nnex::graph_text {

/// A number as it stands in the text, with its sign.
struct Number {
  enum class Kind : uint8_t { none, integer, real };
  Kind kind = Kind::none;
  union {
    int64_t integer = 0;
    double real;
  };
};

/// Functions give false (or kind none) where something else stands there; it does not matter how far they went then.
class FlatReader {
 public:
  FlatReader(const Cursor& from, const char* end) : now_(from), end_(end) {}

  const Cursor& cursor() const { return now_; }
  void go_back(const Cursor& to) { now_ = to; }
  /// The next character; at the end a zero, which begins nothing.
  char peek() const { return now_.at != end_ ? *now_.at : '\0'; }

  /// Steps over spaces, lines and comments.
  void space() {
    if (class_of(peek()) <= kComment) skip();
  }
  /// Steps over a sign of one character.
  bool take(char sign) {
    space();
    if (peek() != sign) return false;
    ++now_.at;
    return true;
  }
  /// [A-Za-z_][A-Za-z0-9_]*, keywords too.
  bool word(std::string_view& out) {
    if (class_of(peek()) != kLetter) return false;
    const char* const begin = now_.at;
    do ++now_.at;
    while (class_of(peek()) >= kLetter);
    out = {begin, static_cast<size_t>(now_.at - begin)};
    return true;
  }
  /// A string of printable ASCII without escapes.
  bool string(std::string_view& out) {
    const char quote = *now_.at++;
    const char* const begin = now_.at;
    while (true) {
      const char c = peek();
      if (c < ' ' || c > '~' || c == '\\') return false;
      if (c == quote) break;
      ++now_.at;
    }
    out = {begin, static_cast<size_t>(now_.at - begin)};
    ++now_.at;
    return true;
  }
  /// ["-"] digits, of at most 18 digits, or a number with a point or an exponent.
  Number number() {
    const bool minus = peek() == '-';
    if (minus) ++now_.at;
    const char* const begin = now_.at;
    Number out;
    uint64_t magnitude = 0;
    for (; class_of(peek()) == kDigit; ++now_.at) magnitude = magnitude * 10 + static_cast<uint64_t>(*now_.at - '0');
    constexpr ptrdiff_t kSafeDigits = 18;
    if (now_.at == begin || now_.at - begin > kSafeDigits) return out;
    if (class_of(peek()) == kLetter || peek() == '.') return real(begin, minus);
    out.kind = Number::Kind::integer, out.integer = static_cast<int64_t>(minus ? 0 - magnitude : magnitude);
    return out;
  }

 private:
  void skip();
  Number real(const char* begin, bool minus);

  Cursor now_;
  const char* end_;
};

}  // namespace nnex::graph_text
