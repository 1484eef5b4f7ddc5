#include "graph/text/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "graph/text/signs.h"

namespace nnex::graph_text {
namespace {

constexpr std::array<std::string_view, 19> kKeywords = {
    "version",   "extension", "graph", "fragment", "tensor", "integer", "scalar", "logical", "string", "shape_of",
    "length_of", "range_of",  "for",   "in",       "yield",  "if",      "else",   "true",    "false"};
static_assert(static_cast<size_t>(Word::false_) == kKeywords.size());

/// The list of keywords goes use by use; the last keyword of each.
constexpr struct {
  Word last;
  WordUse use;
} kUses[] = {{Word::fragment, WordUse::declaration},
             {Word::string, WordUse::type},
             {Word::range_of, WordUse::function},
             {Word::else_, WordUse::control},
             {Word::false_, WordUse::literal}};

/// The keywords that begin with a character, as bits.
constexpr std::array<uint32_t, 256> by_letter() {
  std::array<uint32_t, 256> out{};
  for (size_t i = 0; i < kKeywords.size(); ++i) out[static_cast<unsigned char>(kKeywords[i][0])] |= 1u << i;
  return out;
}
constexpr auto kByLetter = by_letter();

enum Class : uint8_t { kOther, kSpace, kLetter, kDigit };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> out{};
  for (int c : {' ', '\t', '\v', '\f', '\r', '\n'}) out[static_cast<size_t>(c)] = kSpace;
  for (size_t c = 'a'; c <= 'z'; ++c) out[c] = kLetter;
  for (size_t c = 'A'; c <= 'Z'; ++c) out[c] = kLetter;
  out['_'] = kLetter;
  for (size_t c = '0'; c <= '9'; ++c) out[c] = kDigit;
  return out;
}
constexpr auto kClasses = make_classes();

uint8_t class_of(char c) { return kClasses[static_cast<unsigned char>(c)]; }
bool is_letter(char c) { return class_of(c) == kLetter; }
bool is_digit(char c) { return class_of(c) == kDigit; }
bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

/// Longer ones first.
constexpr Sign kSigns[] = {
    {"...", Tok::dots},
    {"->", Tok::arrow},
    {"<=", Tok::less_equal, "", "le"},
    {">=", Tok::greater_equal, "", "ge"},
    {"==", Tok::equal, "", "eq"},
    {"!=", Tok::unequal, "", "ne"},
    {"&&", Tok::both, "", "and"},
    {"||", Tok::either, "", "or"},
    {"(", Tok::open_round},
    {")", Tok::close_round},
    {"[", Tok::open_square},
    {"]", Tok::close_square},
    {"{", Tok::open_curly},
    {"}", Tok::close_curly},
    {":", Tok::colon},
    {"=", Tok::assign},
    {",", Tok::comma},
    {";", Tok::semicolon},
    {"?", Tok::question},
    {"+", Tok::plus, "copy", "add"},
    {"-", Tok::minus, "neg", "sub"},
    {"*", Tok::star, "", "mul"},
    {"/", Tok::slash, "", "div"},
    {"^", Tok::caret, "", "pow"},
    {"<", Tok::less, "", "lt"},
    {">", Tok::greater, "", "gt"},
    {"!", Tok::bang, "not"},
};

/// Signs of one character that no longer sign begins with; Tok::end for everything else.
constexpr std::array<Tok, 256> make_plain_signs() {
  std::array<Tok, 256> out{};
  for (const Sign& s : kSigns) {
    bool plain = s.text.size() == 1;
    for (const Sign& longer : kSigns) plain &= longer.text.size() == 1 || longer.text[0] != s.text[0];
    if (plain && s.kind != Tok::slash) out[static_cast<unsigned char>(s.text[0])] = s.kind;
  }
  return out;
}
constexpr auto kPlainSigns = make_plain_signs();

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

Word keyword_of(std::string_view s) {
  if (s.size() < 2 || s.size() > 9) return Word::none;
  for (uint32_t some = kByLetter[static_cast<unsigned char>(s[0])]; some != 0; some &= some - 1) {
    const auto i = static_cast<size_t>(__builtin_ctz(some));
    if (kKeywords[i] == s) return static_cast<Word>(i + 1);
  }
  return Word::none;
}

std::span<const std::string_view> keywords() { return kKeywords; }

WordUse use_of_keyword(size_t i) {
  for (const auto& u : kUses)
    if (i < static_cast<size_t>(u.last)) return u.use;
  return WordUse::literal;
}

std::span<const Sign> signs() { return kSigns; }

std::string_view operation_of(Tok sign, bool unary) {
  for (const Sign& s : kSigns)
    if (s.kind == sign) return unary ? s.unary : s.binary;
  return {};
}

bool is_word(std::string_view s) {
  return !s.empty() && is_letter(s[0]) &&
         std::all_of(s.begin(), s.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

Error Lexer::error(Position at, std::string message) const {
  return Error(Code::invalid_model, std::move(message)).at(fmt::format("{}:{}:{}", name_, at.line, at.column));
}

void Lexer::fault(Position at, std::string_view rule, std::string message) {
  faults_.add(error(at, kind_ == TextKind::dump ? std::move(message) : fmt::format("{}: {}", rule, message)));
}

void Lexer::skip_space() {
  const size_t size = source_.size();
  while (at_ < size) {
    const char c = source_[at_];
    if (c == ' ') {
      ++at_;
      continue;
    }
    if (c == '\n') {
      ++at_, ++line_;
      line_start_ = at_, starts_line_ = true;
    } else if (class_of(c) == kSpace) {
      ++at_;
    } else if (c == '#') {
      while (at_ < size && source_[at_] != '\n' && source_[at_] != '\f') ++at_;
    } else {
      return;
    }
  }
}

[[gnu::always_inline]] inline Token Lexer::take(Tok kind, size_t n) {
  Token t{kind, Word::none, starts_line_, here(), source_.substr(at_, n)};
  at_ += n;
  starts_line_ = false;
  return t;
}

Token Lexer::next() {
  while (true) {
    skip_space();
    if (at_ == source_.size()) return take(Tok::end, 0);
    const char c = source_[at_];
    switch (class_of(c)) {
      case kLetter:
        return word();
      case kDigit:
        return number();
      default:
        break;
    }
    if (c == '\'' || c == '"') return string();
    if (Token t; sign(t)) return t;
    if (c == '.' && is_digit(peek(1)) && kind_ != TextKind::dump) return number();
    if (!is_ascii(c) && kind_ != TextKind::dump) return word();
    stray();
  }
}

/// Reports a character that begins nothing, and steps over it.
void Lexer::stray() {
  const char c = source_[at_];
  fault(here(), "L7", fmt::format("{} begins nothing", shown_char(c)));
  ++at_;
  while (at_ < source_.size() && !is_ascii(source_[at_])) ++at_;
}

bool Lexer::sign(Token& out) {
  const char c = source_[at_], d = peek(1);
  if (c == '/' && d == '/' && kind_ != TextKind::dump) {
    fault(here(), "L5", "found '//'; a comment begins with '#'");
    while (at_ < source_.size() && source_[at_] != '\n') ++at_;
    skip_space();
    out = next();
    return true;
  }
  if (const Tok kind = kPlainSigns[static_cast<unsigned char>(c)]; kind != Tok::end) {
    out = take(kind, 1);
    return true;
  }
  if (c == '=') {
    out = d == '=' ? take(Tok::equal, 2) : take(Tok::assign, 1);
    return true;
  }
  for (const Sign& s : kSigns)
    if (s.text[0] == c && source_.substr(at_).starts_with(s.text) && (s.kind != Tok::dots || kind_ == TextKind::dump))
      return out = take(s.kind, s.text.size()), true;
  return false;
}

/// [A-Za-z_][A-Za-z0-9_]*          (NNEF 1.0.5, lexical entities). Bytes that are no ASCII are a fault inside.
Token Lexer::word() {
  const char *const begin = source_.data() + at_, *const end = source_.data() + source_.size();
  const char* p = begin;
  bool foreign = false;
  while (p != end) {
    if (class_of(*p) >= kLetter) {
      ++p;
    } else if (!is_ascii(*p) && kind_ != TextKind::dump) {
      foreign = true, ++p;
    } else {
      break;
    }
  }
  const auto n = static_cast<size_t>(p - begin);
  Token t = take(Tok::word, n);
  if (foreign)
    fault(t.at, "L1", fmt::format("'{}' has characters outside A-Z, a-z, 0-9 and _", t.text));
  else
    t.word = keyword_of(t.text);
  return t;
}

/// digits [ "." digits ] [ ("e" | "E") [ "+" | "-" ] digits ]          (NNEF 1.0.5, lexical entities)
Token Lexer::number() {
  size_t n = 0;
  Tok kind = Tok::integer;
  auto digits = [&] {
    const size_t from = n;
    while (is_digit(peek(n))) ++n;
    return n > from;
  };
  const bool whole = digits();
  if (!whole) fault(here(), "L2", "a number begins with a digit before its point");
  if (peek(n) == '.' && is_digit(peek(n + 1))) {
    ++n, kind = Tok::real;
    digits();
  }
  if (peek(n) == 'e' || peek(n) == 'E') {
    const size_t sign = peek(n + 1) == '+' || peek(n + 1) == '-' ? 1 : 0;
    if (is_digit(peek(n + 1 + sign))) {
      n += 1 + sign, kind = Tok::real;
      digits();
    } else if (!is_letter(peek(n + 1))) {
      fault(here(), "L2", fmt::format("'{}' has no digits in its exponent", source_.substr(at_, n + 1 + sign)));
      Token t = take(Tok::real, n);
      at_ += 1 + sign;
      return t;
    }
  }
  if (!is_letter(peek(n)) && peek(n) != '.') return take(kind, n);
  // A number with something behind it: "1y" is meant as a name, "0x6" and "1." as numbers.
  size_t m = n;
  while (is_letter(peek(m)) || is_digit(peek(m)) || peek(m) == '.') ++m;
  const std::string_view all = source_.substr(at_, m);
  const bool name = is_word(fmt::format("_{}", all)) && !(all.size() > 1 && all[0] == '0' && (all[1] | 32) == 'x');
  if (name && kind_ != TextKind::dump)
    fault(here(), "L1", fmt::format("'{}' begins with a digit; a name begins with a letter or '_'", all));
  else
    fault(here(), "L2", fmt::format("'{}' is no number", kind_ == TextKind::dump ? source_.substr(at_, n + 1) : all));
  Token t = take(name ? Tok::word : kind, name ? m : n);
  at_ += m - t.text.size();
  return t;
}

Token Lexer::string() {
  const char quote = peek();
  size_t n = 1;
  bool odd = false;
  while (at_ + n < source_.size() && source_[at_ + n] != quote) {
    const char c = source_[at_ + n];
    if (c == '\n') break;
    odd |= c < 0x20 || c == 0x7f;
    n += c == '\\' && peek(n + 1) != '\n' ? 2 : 1;
  }
  if (at_ + n >= source_.size() || source_[at_ + n] != quote) {
    fault(here(), "L3", "the string does not end in its line");
    return take(Tok::bad, std::min(n, source_.size() - at_));
  }
  Token t{Tok::string, Word::none, starts_line_, here(), source_.substr(at_ + 1, n - 1)};
  if (odd && kind_ == TextKind::document) fault(t.at, "L3", "the string has characters that are not printable ASCII");
  at_ += n + 1;
  starts_line_ = false;
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
