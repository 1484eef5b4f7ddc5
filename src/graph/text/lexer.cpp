#include "graph/text/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/try.h"

namespace nnex::graph_text {
namespace {

constexpr std::array<std::string_view, 19> kKeywords = {
    "version",   "extension", "graph", "fragment", "tensor", "integer", "scalar", "logical", "string", "shape_of",
    "length_of", "range_of",  "for",   "in",       "yield",  "if",      "else",   "true",    "false"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Sign {
  std::string_view text;
  Tok kind;
};
/// Longer ones first.
constexpr Sign kSigns[] = {
    {"...", Tok::dots},     {"->", Tok::arrow},      {"<=", Tok::less_equal}, {">=", Tok::greater_equal},
    {"==", Tok::equal},     {"!=", Tok::unequal},    {"&&", Tok::both},       {"||", Tok::either},
    {"(", Tok::open_round}, {")", Tok::close_round}, {"[", Tok::open_square}, {"]", Tok::close_square},
    {"{", Tok::open_curly}, {"}", Tok::close_curly}, {":", Tok::colon},       {"=", Tok::assign},
    {",", Tok::comma},      {";", Tok::semicolon},   {"?", Tok::question},    {"+", Tok::plus},
    {"-", Tok::minus},      {"*", Tok::star},        {"/", Tok::slash},       {"^", Tok::caret},
    {"<", Tok::less},       {">", Tok::greater},     {"!", Tok::bang},
};

std::string shown_char(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte < 0x7f ? fmt::format("'{}'", c) : fmt::format("byte 0x{:02x}", byte);
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

std::string_view shown(Tok kind) {
  switch (kind) {
    case Tok::end:
      return "the end";
    case Tok::word:
      return "a name";
    case Tok::integer:
      return "an integer";
    case Tok::real:
      return "a number";
    case Tok::string:
      return "a string";
    default:
      for (const Sign& s : kSigns)
        if (s.kind == kind) return s.text;
      return "?";
  }
}

bool is_keyword(std::string_view word) {
  return std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end();
}

bool is_word(std::string_view s) {
  return !s.empty() && is_letter(s[0]) &&
         std::all_of(s.begin(), s.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

Error Lexer::error(Position at, std::string message) const {
  return Error(Code::invalid_model, std::move(message)).at(fmt::format("{}:{}:{}", name_, at.line, at.column));
}

void Lexer::skip(size_t n) {
  for (; n > 0; --n, ++at_) {
    if (source_[at_] == '\n')
      ++position_.line, position_.column = 1;
    else
      ++position_.column;
  }
}

void Lexer::skip_space() {
  while (at_ < source_.size()) {
    const char c = source_[at_];
    if (c == '#') {
      while (at_ < source_.size() && source_[at_] != '\n' && source_[at_] != '\f') skip(1);
    } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
      skip(1);
    } else {
      return;
    }
  }
}

Token Lexer::take(Tok kind, size_t n) {
  Token t{kind, position_, source_.substr(at_, n)};
  skip(n);
  return t;
}

Result<Token> Lexer::next() {
  skip_space();
  if (at_ == source_.size()) return Token{Tok::end, position_, {}};
  const char c = peek();
  if (is_letter(c)) {
    size_t n = 1;
    while (is_letter(peek(n)) || is_digit(peek(n))) ++n;
    return take(Tok::word, n);
  }
  if (is_digit(c)) return number();
  if (c == '\'' || c == '"') return string();
  for (const Sign& s : kSigns)
    if (source_.substr(at_).starts_with(s.text)) return take(s.kind, s.text.size());
  return error(position_, fmt::format("{} begins nothing", shown_char(c)));
}

/// digits [ "." digits ] [ ("e" | "E") [ "+" | "-" ] digits ]          (NNEF 1.0.5, lexical entities)
Result<Token> Lexer::number() {
  size_t n = 0;
  Tok kind = Tok::integer;
  auto digits = [&] {
    const size_t from = n;
    while (is_digit(peek(n))) ++n;
    return n > from;
  };
  digits();
  if (peek(n) == '.' && is_digit(peek(n + 1))) {
    ++n, kind = Tok::real;
    digits();
  }
  if (peek(n) == 'e' || peek(n) == 'E') {
    ++n, kind = Tok::real;
    if (peek(n) == '+' || peek(n) == '-') ++n;
    if (!digits()) return error(position_, fmt::format("'{}' has no digits in its exponent", source_.substr(at_, n)));
  }
  if (is_letter(peek(n)) || peek(n) == '.')
    return error(position_, fmt::format("'{}' is no number", source_.substr(at_, n + 1)));
  return take(kind, n);
}

Result<Token> Lexer::string() {
  const char quote = peek();
  size_t n = 1;
  while (at_ + n < source_.size() && source_[at_ + n] != quote) {
    if (source_[at_ + n] == '\n') break;
    n += source_[at_ + n] == '\\' ? 2 : 1;
  }
  if (at_ + n >= source_.size() || source_[at_ + n] != quote)
    return error(position_, "the string does not end in its line");
  Token t{Tok::string, position_, source_.substr(at_ + 1, n - 1)};
  skip(n + 1);
  return t;
}

bool unescape(std::string_view s, std::string& out) {
  out.clear();
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\') {
      out += s[i];
      continue;
    }
    if (++i == s.size()) return false;
    if (s[i] == '\'' || s[i] == '"' || s[i] == '\\') {
      out += s[i];
      continue;
    }
    if (s[i] != 'x' || i + 2 >= s.size()) return false;
    const int high = hex_digit(s[i + 1]), low = hex_digit(s[i + 2]);
    if (high < 0 || low < 0) return false;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\')
      (out += '\\') += c;
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + "'";
}

}  // namespace nnex::graph_text
