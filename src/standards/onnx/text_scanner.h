#pragma once
// Characters, words and literals of ONNX's textual syntax, and where in the text a reader stands.

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/try.h"

namespace nnex::onnx_format {

class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : text_(text) {}

  /// The next character behind spaces and comments; 0 at the end.
  char peek();
  bool take(char c);
  Status need(char c) { return take(c) ? Status() : needed(fmt::format("'{}'", c)); }
  /// "=>", of which the graph's inputs and outputs stand on both sides.
  Status need_arrow();
  bool at_end() { return peek() == 0 && at_ == text_.size(); }

  /// An identifier; empty where none begins.
  std::string_view word();
  std::string_view peek_word();
  Result<std::string> identifier(std::string_view what);
  /// An identifier, or any text in quotes; nothing where neither begins.
  Result<std::optional<std::string>> name_if_any();
  Result<std::string> name(std::string_view what);
  /// A text in quotes; a backslash stands before a quote or a backslash.
  Result<std::string> text(std::string_view what);

  /// The characters of a number, and whether it is one of float: it has a point, an exponent, or is inf or nan.
  struct Number {
    std::string_view text;
    bool real = false;
  };
  Result<Number> number();
  bool is_next_real_word() { return is_real_word(peek_word()); }

  /// Of any of the types that a number may have; a fault where it is out of range.
  template <class T>
  Result<T> as(const Number& n) {
    T value{};
    const char *const begin = n.text.data(), *const end = begin + n.text.size();
    if constexpr (std::is_floating_point_v<T>) {
      const auto [stop, wrong] = fast_float::from_chars(begin, end, value);
      // Beyond the range it is infinity or zero, as of other readers of numbers.
      if (stop != end || (wrong != std::errc() && wrong != std::errc::result_out_of_range))
        return fault(fmt::format("{}, which is no number", n.text));
    } else {
      if (n.real) return fault(fmt::format("{}; needed a whole number", n.text));
      const auto [stop, wrong] = std::from_chars(begin, end, value);
      if (wrong != std::errc() || stop != end) return fault(fmt::format("{}, which is out of range", n.text));
    }
    return value;
  }
  template <class T>
  Result<T> number_as() {
    NNEX_ASSIGN(const Number n, number());
    return as<T>(n);
  }

  /// Items between brackets with commas; there may be none.
  template <class F>
  Status list(char open, char close, F item) {
    NNEX_TRY(need(open));
    if (take(close)) return {};
    do NNEX_TRY(item());
    while (take(','));
    return need(close);
  }

  Error needed(std::string_view what);
  Error fault(std::string_view found);

 private:
  static bool is_real_word(std::string_view w);
  /// Whether there were digits, which it passes.
  bool digits();

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace nnex::onnx_format
