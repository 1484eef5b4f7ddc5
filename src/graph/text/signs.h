#pragma once
// The lexer's tables, for those who describe the language, give its signs a meaning or read its characters.

#include <array>

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
/// Longer ones first.
inline constexpr Sign kSigns[] = {
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
/// All of them, each behind the longer ones that begin with it.
std::span<const Sign> signs();
/// The operation that a sign calls on tensors; "": none.
std::string_view operation_of(Tok sign, bool unary);

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
inline constexpr auto kPlainSigns = make_plain_signs();

/// What a character is. Those that tokens skip come first, those of words last.
enum CharClass : uint8_t { kSpace, kLine, kComment, kOther, kPlainSign, kQuote, kLetter, kDigit };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> out{};
  for (size_t c = 0; c < 256; ++c) out[c] = kPlainSigns[c] != Tok::end ? kPlainSign : kOther;
  for (int c : {' ', '\t', '\v', '\f', '\r'}) out[static_cast<size_t>(c)] = kSpace;
  out['\n'] = kLine, out['#'] = kComment, out['\''] = out['"'] = kQuote, out['_'] = kLetter;
  for (size_t c = 'a'; c <= 'z'; ++c) out[c] = kLetter;
  for (size_t c = 'A'; c <= 'Z'; ++c) out[c] = kLetter;
  for (size_t c = '0'; c <= '9'; ++c) out[c] = kDigit;
  return out;
}
inline constexpr auto kClasses = make_classes();

inline uint8_t class_of(char c) { return kClasses[static_cast<unsigned char>(c)]; }

}  // namespace nnex::graph_text
