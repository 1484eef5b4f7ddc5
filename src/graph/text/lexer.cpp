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

/// The keywords that begin with a character, and those of a length, as bits.
constexpr std::array<uint32_t, 256> by_letter() {
  std::array<uint32_t, 256> out{};
  for (size_t i = 0; i < kKeywords.size(); ++i) out[static_cast<unsigned char>(kKeywords[i][0])] |= 1u << i;
  return out;
}
constexpr std::array<uint32_t, 10> by_length() {
  std::array<uint32_t, 10> out{};
  for (size_t i = 0; i < kKeywords.size(); ++i) out[kKeywords[i].size()] |= 1u << i;
  return out;
}
constexpr auto kByLetter = by_letter();
constexpr auto kByLength = by_length();

bool is_letter(char c) { return class_of(c) == kLetter; }
bool is_digit(char c) { return class_of(c) == kDigit; }
bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

bool begins_sign(char c) {
  return std::any_of(std::begin(kSigns), std::end(kSigns), [&](const Sign& s) { return s.text[0] == c; });
}

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
  if (s.empty() || s.size() >= kByLength.size()) return Word::none;
  for (uint32_t some = kByLetter[static_cast<unsigned char>(s[0])] & kByLength[s.size()]; some != 0; some &= some - 1) {
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

void Lexer::fault(Position at, std::string_view rule, std::string message, const std::vector<Remedy>& remedies) {
  ++count_;
  faults_.add(error(at, kind_ == TextKind::dump ? std::move(message) : fmt::format("{}: {}", rule, message))
                  .helped_by(remedies));
}

inline void Lexer::skip_space() {
  const char* p = at_;
  for (; p != end_; ++p) {
    const uint8_t c = class_of(*p);
    if (c == kSpace) continue;
    if (c > kComment) break;
    if (c == kLine) {
      ++line_;
      line_start_ = p + 1, starts_line_ = true;
      continue;
    }
    while (p + 1 != end_ && p[1] != '\n' && p[1] != '\f') ++p;
  }
  at_ = p;
}

/// The characters up to `end` are a token.
[[gnu::always_inline]] inline void Lexer::take(Token& out, Tok kind, const char* end) {
  out.kind = kind, out.word = Word::none, out.starts_line = starts_line_;
  out.at = here();
  out.text = {at_, static_cast<size_t>(end - at_)};
  at_ = end;
  starts_line_ = false;
}

void Lexer::next(Token& out) {
  while (true) {
    skip_space();
    if (at_ == end_ || count_ >= kMaxFaults) return take(out, Tok::end, at_);
    const char c = *at_;
    switch (class_of(c)) {
      case kLetter:
        return is_quoted_name() ? quoted_name(out) : word(out);
      case kDigit:
        return number(out);
      case kPlainSign:
        return take(out, kPlainSigns[static_cast<unsigned char>(c)], at_ + 1);
      case kQuote:
        return string(out);
      default:
        break;
    }
    if (kind_ != TextKind::dump) {
      if (c == '/' && peek(1) == '/') {
        slashes();
        continue;
      }
      if (c == '.' && is_digit(peek(1))) return long_number(out);
      if (!is_ascii(c)) return non_ascii_word(out);
    }
    if (sign(out)) return;
    stray();
  }
}

/// Reports characters that begin nothing, once, and steps over them.
void Lexer::stray() {
  const bool domain = kind_ == TextKind::dump && *at_ == '.';  // com.example:Rotate
  fault(here(), "L7",
        fmt::format("{} begins nothing{}", shown_char(*at_),
                    domain ? "; an operator of a domain is written custom 'com.example:Name:'(...)" : ""));
  ++at_;
  while (at_ != end_ && (!is_ascii(*at_) || (class_of(*at_) == kOther && !begins_sign(*at_)))) ++at_;
}

/// Reports what is meant as a comment, and steps over it.
void Lexer::slashes() {
  fault(here(), "L5", "found '//'; a comment begins with '#'");
  while (at_ != end_ && *at_ != '\n') ++at_;
}

/// A sign that another one begins with, or that is longer than one character.
bool Lexer::sign(Token& out) {
  if (*at_ == '=' && peek(1) != '=') return take(out, Tok::assign, at_ + 1), true;
  const std::string_view rest(at_, left());
  for (const Sign& s : kSigns)
    if (rest.starts_with(s.text) && (s.kind != Tok::dots || kind_ == TextKind::dump))
      return take(out, s.kind, at_ + s.text.size()), true;
  return false;
}

/// [A-Za-z_][A-Za-z0-9_]*          (NNEF 1.0.5, lexical entities)
inline void Lexer::word(Token& out) {
  const char* p = at_ + 1;
  while (p != end_ && class_of(*p) >= kLetter) ++p;
  if (p != end_ && !is_ascii(*p) && kind_ != TextKind::dump) return non_ascii_word(out);
  take(out, Tok::word, p);
  out.word = keyword_of(out.text);
}

/// Whether i"..." stands here, by which tract writes names of any characters.
inline bool Lexer::is_quoted_name() const { return kind_ == TextKind::tract && *at_ == 'i' && peek(1) == '"'; }

/// What is between the quotes is a word.
void Lexer::quoted_name(Token& out) {
  const Position begin = here();
  ++at_;
  string(out);
  out.at = begin;
  if (out.kind == Tok::string) out.kind = Tok::word;
}

/// A word with bytes that are no ASCII, which are a fault in it.
void Lexer::non_ascii_word(Token& out) {
  const char* p = at_;
  while (p != end_ && (class_of(*p) >= kLetter || !is_ascii(*p))) ++p;
  take(out, Tok::word, p);
  fault(out.at, "L1", fmt::format("'{}' has characters outside A-Z, a-z, 0-9 and _", out.text));
}

/// digits [ "." digits ] [ ("e" | "E") [ "+" | "-" ] digits ]          (NNEF 1.0.5, lexical entities)
inline void Lexer::number(Token& out) {
  const char* p = at_ + 1;
  while (p != end_ && class_of(*p) == kDigit) ++p;
  if (p != end_ && (class_of(*p) == kLetter || *p == '.')) return long_number(out);
  take(out, Tok::integer, p);
}

/// A number that is more than digits.
void Lexer::long_number(Token& out) {
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
      fault(here(), "L2", fmt::format("'{}' has no digits in its exponent", std::string_view(at_, n + 1 + sign)));
      take(out, Tok::real, at_ + n);
      at_ += 1 + sign;
      return;
    }
  }
  if (!is_letter(peek(n)) && peek(n) != '.') return take(out, kind, at_ + n);
  // A number with something behind it: "1y" is meant as a name, "0x6" and "1." as numbers.
  size_t m = n;
  while (is_letter(peek(m)) || is_digit(peek(m)) || peek(m) == '.') ++m;
  const std::string_view all(at_, m);
  const bool name = is_word(fmt::format("_{}", all)) && !(all.size() > 1 && all[0] == '0' && (all[1] | 32) == 'x');
  if (name && kind_ != TextKind::dump)
    fault(here(), "L1", fmt::format("'{}' begins with a digit; a name begins with a letter or '_'", all));
  else
    fault(here(), "L2",
          fmt::format("'{}' is no number; needed one as 1, 1.0 or 1.0e-3",
                      kind_ == TextKind::dump ? std::string_view(at_, n + 1) : all));
  const char* const end = at_ + m;
  take(out, name ? Tok::word : kind, name ? end : at_ + n);
  at_ = end;
}

void Lexer::string(Token& out) {
  const char quote = *at_;
  const char* p = at_ + 1;
  bool odd = false;
  while (p != end_ && *p != quote && *p != '\n') {
    const auto c = static_cast<unsigned char>(*p);
    odd |= c < 0x20 || c >= 0x7f;
    p += c == '\\' && p + 1 != end_ && p[1] != '\n' ? 2 : 1;
  }
  if (p == end_ || *p != quote) {
    fault(here(), "L3", "the string does not end in its line");
    return take(out, Tok::bad, p);
  }
  take(out, Tok::string, p + 1);
  out.text = out.text.substr(1, out.text.size() - 2);
  if (odd && kind_ == TextKind::document) fault(out.at, "L3", "the string has characters that are not printable ASCII");
}

bool stands_for_no_name(std::string_view name) {
  return name.size() > 1 && name[0] == '_' &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
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

namespace {

/// Bytes of the character of UTF-8 that a text begins with; 0: it begins with none.
size_t character(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (size == 0 || size > s.size()) return 0;
  for (size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // What fewer bytes could say, halves of UTF-16, and what lies beyond Unicode.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f)) return 0;
  if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) return 0;
  return size;
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (size_t i = 0, size = 0; i < text.size(); i += size) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    size = std::max(character(text.substr(i)), size_t{1});
    if (c == '\'' || c == '\\')
      (out += '\\') += c;
    else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && size == 1))
      out += fmt::format("\\x{:02x}", byte);
    else
      out += text.substr(i, size);
  }
  return out + "'";
}

}  // namespace nnex::graph_text
