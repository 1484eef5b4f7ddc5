#include "standards/c/write_text.h"

#include <algorithm>
#include <cmath>

#include "nnex/elements.h"
#include "ops/strided.h"

namespace nnex::c_format {
namespace {

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || is_capital(c); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

// ---- Loops

Nest::Nest(const Shape& extents, std::vector<Access> operands, std::string index) : index_(std::move(index)) {
  for (const Access& a : operands) operands_.push_back({a.name, {}, a.offset});
  for (int64_t axis = 0; axis < extents.rank(); ++axis) {
    if (extents[axis] == 1) continue;
    const auto at = static_cast<size_t>(axis);
    bool joined = !extents_.empty();
    for (size_t k = 0; joined && k < operands.size(); ++k)
      joined = operands_[k].steps.back() == operands[k].steps[at] * extents[axis];
    if (!joined) extents_.push_back(1);
    extents_.back() *= extents[axis];
    for (size_t k = 0; k < operands.size(); ++k) {
      if (!joined) operands_[k].steps.push_back(0);
      operands_[k].steps.back() = operands[k].steps[at];
    }
  }
}

void Nest::places(Text& out, const std::function<void(const std::vector<std::string>&)>& body) const {
  std::vector<std::string> at;
  for (const Access& a : operands_) {
    std::string place = a.offset ? std::to_string(a.offset) : "";
    for (size_t i = 0; i < extents_.size(); ++i) {
      if (a.steps[i] == 0) continue;
      place += place.empty() ? (a.steps[i] < 0 ? "-" : "") : a.steps[i] < 0 ? " - " : " + ";
      place += fmt::format("{}{}", index_, i);
      if (const int64_t step = std::abs(a.steps[i]); step != 1) place += fmt::format(" * {}", step);
    }
    at.push_back(place.empty() ? "0" : place);
  }
  for (size_t i = 0; i < extents_.size(); ++i)
    out.open("for (long {0}{1} = 0; {0}{1} < {2}; ++{0}{1})", index_, i, extents_[i]);
  body(at);
  for (size_t i = 0; i < extents_.size(); ++i) out.close();
}

void Nest::write(Text& out, const std::function<void(const std::vector<std::string>&)>& body) const {
  places(out, [&](std::vector<std::string> at) {
    for (size_t k = 0; k < at.size(); ++k) at[k] = fmt::format("{}[{}]", operands_[k].name, at[k]);
    body(at);
  });
}

Ints broadcast_steps(const Shape& from, const Shape& to) {
  Ints steps(static_cast<size_t>(to.rank()), 0);
  const Ints dense = row_major_strides(from);
  for (int64_t i = 0; i < from.rank(); ++i)
    if (from[i] != 1) steps[static_cast<size_t>(to.rank() - from.rank() + i)] = dense[static_cast<size_t>(i)];
  return steps;
}

// ---- Types and numbers

std::string_view c_type(DType type) {
  switch (type) {
    case DType::f64:
      return "double";
    case DType::f32:
      return "float";
    case DType::i64:
      return "int64_t";
    case DType::i32:
      return "int32_t";
    case DType::i16:
      return "int16_t";
    case DType::i8:
      return "int8_t";
    case DType::u64:
      return "uint64_t";
    case DType::u32:
      return "uint32_t";
    case DType::u16:
      return "uint16_t";
    case DType::u8:
    case DType::boolean:
      return "uint8_t";
    default:
      return {};
  }
}

std::string_view suffix(DType type) { return type == DType::boolean ? "u8" : name(type); }

int64_t width(DType type) { return bits(type) / 8; }

namespace {

/// A finite number in the hexadecimal notation of C, whose point is one in every locale.
std::string hexadecimal(double x) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);  // in [0.5, 1)
  const auto bits = static_cast<uint64_t>(std::ldexp(fraction, 53)) & ((uint64_t{1} << 52) - 1);
  std::string digits = fmt::format("{:013x}", bits);
  digits.erase(digits.find_last_not_of('0') + 1);
  return fmt::format("{}0x1{}{}p{:+}", x < 0 ? "-" : "", digits.empty() ? "" : ".", digits, exponent - 1);
}

}  // namespace

std::string literal(double x, DType type) {
  const std::string_view end = type == DType::f32 ? "f" : "";
  const double value = type == DType::f32 ? static_cast<double>(static_cast<float>(x)) : x;
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value < 0 ? "-INFINITY" : "INFINITY";
  if (value == std::trunc(value) && std::fabs(value) < 65536) return fmt::format("{:.1f}{}", value, end);
  return fmt::format("{}{}", hexadecimal(value), end);
}

std::string literal(const Tensor& t, int64_t i) {
  if (is_float(t.dtype())) return literal(real_at(t, i), t.dtype());
  const int64_t x = int_at(t, i);
  switch (t.dtype()) {
    case DType::i64:
      return x == INT64_MIN ? "INT64_MIN" : fmt::format("INT64_C({})", x);
    case DType::u64:
      return fmt::format("UINT64_C({})", static_cast<uint64_t>(x));
    case DType::i32:
      return x == INT32_MIN ? "INT32_MIN" : fmt::format("{}", x);
    case DType::u32:
      return fmt::format("{}u", static_cast<uint32_t>(x));
    default:
      return fmt::format("{}", x);
  }
}

std::string square_text(std::string_view number, DType type) {
  return fmt::format("({0})({1} * {1})", c_type(type), number);
}

std::string math(std::string_view function, DType type) {
  return fmt::format("{}{}", function, type == DType::f32 ? "f" : "");
}

// ---- Names

namespace {

/// Words of C99 to C23 and of C++, and names that the headers and the written functions have; not those that
/// is_like_macro() knows.
constexpr std::string_view kWords[] = {"alignas",
                                       "alignof",
                                       "and",
                                       "and_eq",
                                       "arena",
                                       "asm",
                                       "auto",
                                       "bitand",
                                       "bitor",
                                       "bool",
                                       "break",
                                       "case",
                                       "catch",
                                       "char",
                                       "char16_t",
                                       "char32_t",
                                       "char8_t",
                                       "class",
                                       "co_await",
                                       "co_return",
                                       "co_yield",
                                       "compl",
                                       "complex",
                                       "concept",
                                       "const",
                                       "const_cast",
                                       "consteval",
                                       "constexpr",
                                       "constinit",
                                       "continue",
                                       "decltype",
                                       "default",
                                       "delete",
                                       "do",
                                       "double",
                                       "double_t",
                                       "dynamic_cast",
                                       "else",
                                       "enum",
                                       "errno",
                                       "explicit",
                                       "export",
                                       "extern",
                                       "false",
                                       "far",
                                       "float",
                                       "float_t",
                                       "for",
                                       "friend",
                                       "goto",
                                       "I",
                                       "i386",
                                       "if",
                                       "imaginary",
                                       "inline",
                                       "inputs",
                                       "int",
                                       "lanes",
                                       "linux",
                                       "long",
                                       "main",
                                       "math_errhandling",
                                       "max_align_t",
                                       "mutable",
                                       "namespace",
                                       "near",
                                       "new",
                                       "noexcept",
                                       "noreturn",
                                       "not",
                                       "not_eq",
                                       "nullptr",
                                       "operator",
                                       "or",
                                       "or_eq",
                                       "outputs",
                                       "private",
                                       "protected",
                                       "ptrdiff_t",
                                       "public",
                                       "register",
                                       "reinterpret_cast",
                                       "requires",
                                       "restrict",
                                       "return",
                                       "short",
                                       "signed",
                                       "signgam",
                                       "size_t",
                                       "sizeof",
                                       "static",
                                       "static_assert",
                                       "static_cast",
                                       "struct",
                                       "switch",
                                       "template",
                                       "this",
                                       "thread_local",
                                       "throw",
                                       "true",
                                       "try",
                                       "typedef",
                                       "typeid",
                                       "typename",
                                       "typeof",
                                       "typeof_unqual",
                                       "union",
                                       "unix",
                                       "unsigned",
                                       "using",
                                       "vec",
                                       "virtual",
                                       "void",
                                       "volatile",
                                       "wchar_t",
                                       "while",
                                       "xor",
                                       "xor_eq"};

/// Whether headers may have a macro of that name: they begin in capitals (SIZE_MAX, M_PIl), and so do those of what is
/// written.
bool is_like_macro(std::string_view word) {
  std::string letters;
  for (const char c : word)
    if (is_letter(c)) letters += c;
  return letters.size() > 1 && is_capital(letters[0]) && is_capital(letters[1]);
}

}  // namespace

std::string word_of(std::string_view wanted, std::string_view otherwise) {
  constexpr size_t kMax = 48;  // C99 lets compilers tell names by their first 63 letters
  std::string word;
  for (const char c : wanted) {
    if (word.size() == kMax) break;
    if (is_letter(c) || is_digit(c))
      word += c;
    else if (!word.empty() && word.back() != '_')
      word += '_';
  }
  while (!word.empty() && word.back() == '_') word.pop_back();
  if (word.empty()) word = otherwise;
  return is_letter(word[0]) ? word : fmt::format("{}_{}", otherwise, word);
}

std::string identifier(std::string_view wanted, std::string_view otherwise, std::set<std::string>& taken) {
  std::string word = word_of(wanted, otherwise);
  if (is_like_macro(word) || std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) word += '_';
  std::string name = word;
  for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}_{}", word, n);
  return name;
}

std::string upper(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

std::string comment_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) >= 127) {
      out += out.empty() || out.back() != '_' ? "_" : "";
      continue;
    }
    if (c == '\\' || (!out.empty() && ((out.back() == '*' && c == '/') || (out.back() == '/' && c == '*'))))
      out += ' ';
    else if (c == '?' && !out.empty() && out.back() == '?')
      out += ' ';
    if (c != '\\') out += c;
  }
  return out;
}

}  // namespace nnex::c_format
