// Types and tensors as graph dumps write them.

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/failure.h"
#include "graph/text/rules.h"
#include "tensor/convert.h"

namespace nnex::graph_text {

// ---- Tokens; errors are handed up here, to the rules that report them

Error Parser::needed(std::string_view what) const {
  std::string found = now_->kind == Tok::end ? "the end" : fmt::format("'{}'", now_->text.substr(0, 40));
  if (now_->kind == Tok::string) found = "a string";
  return error(now_->at, fmt::format("found {}; needed {}", found, what));
}

Result<Token> Parser::advance() { return step(); }

Result<Token> Parser::take(Tok kind, std::string_view what) {
  if (at(kind)) return step();
  const bool sign = kind > Tok::string;
  return needed(!what.empty() ? std::string(what) : sign ? fmt::format("'{}'", shown(kind)) : std::string(shown(kind)));
}

Status Parser::expect(Tok kind, std::string_view what) {
  NNEX_TRY(take(kind, what));
  return {};
}

Result<std::string> Parser::string_content() {
  NNEX_ASSIGN(Token t, take(Tok::string));
  std::string out;
  if (!unescape(t.text, out)) return error(t.at, "the string has an escape other than \\', \\\", \\\\ and \\xNN");
  return out;
}

Status Parser::not_deeper() const {
  if (nesting_ < limits_.nesting) return {};
  return failure(Code::limit, "nested deeper than {}", limits_.nesting).at(error(now_->at, {}).where());
}

// ---- Types

Result<int64_t> Parser::whole(const Token& t) const {
  int64_t x = 0;
  auto [end, fault] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), x);
  if (fault != std::errc()) return error(t.at, fmt::format("{} does not fit in 64 bits", t.text.substr(0, 40)));
  return x;
}

/// <dim> ::= ["-"] <product> (("+" | "-") <product>)*
Result<Dim> Parser::dim() {
  bool minus = at(Tok::minus);
  if (minus) NNEX_TRY(advance());
  NNEX_ASSIGN(Dim sum, dim_product());
  if (minus) sum = Dim(0) - sum;
  while (at(Tok::plus) || at(Tok::minus)) {
    minus = at(Tok::minus);
    NNEX_TRY(advance());
    NNEX_ASSIGN(Dim more, dim_product());
    sum = minus ? sum - more : sum + more;
  }
  return sum;
}

/// <product> ::= <factor> ("*" <factor>)*        <factor> ::= integer | symbol | string: a symbol of any characters
Result<Dim> Parser::dim_product() {
  constexpr int kMaxFactors = 64;
  Dim product = 1;
  for (int factors = 0;; ++factors) {
    if (factors == kMaxFactors) return error(now_->at, fmt::format("an extent of more than {} factors", kMaxFactors));
    if (at(Tok::integer)) {
      NNEX_ASSIGN(int64_t n, whole(*now_));
      NNEX_TRY(advance());
      product = product * Dim(n);
    } else if (at(Tok::string)) {
      NNEX_ASSIGN(std::string name, string_content());
      if (name.empty()) return needed("a symbol's name");
      product = product * Dim::symbol(name);
    } else {
      NNEX_ASSIGN(Token name, take(Tok::word, "an extent"));
      product = product * Dim::symbol(name.text);
    }
    if (!at(Tok::star)) return product;
    NNEX_TRY(advance());
  }
}

/// <dims> ::= "[" [ <dim> ("," <dim>)* | "?" ] "]"
Result<MaybeDims> Parser::dims() {
  NNEX_TRY(expect(Tok::open_square));
  if (at(Tok::question)) {
    NNEX_TRY(advance());
    NNEX_TRY(expect(Tok::close_square));
    return MaybeDims{};
  }
  Dims out;
  while (!at(Tok::close_square)) {
    if (!out.empty()) NNEX_TRY(expect(Tok::comma));
    NNEX_ASSIGN(Dim d, dim());
    if (d.number() && *d.number() < 0) return error(now_->at, fmt::format("extent {} is negative", d.text()));
    out.push_back(std::move(d));
  }
  NNEX_TRY(advance());
  return MaybeDims(std::move(out));
}

/// <type> ::= ["sparse"] <dtype> <dims> | "sequence" "(" <type> ")" | "optional" "(" <type> ")"
///          | "map" "(" <dtype> "," <type> ")" | "unknown"
Result<Type> Parser::type() {
  NNEX_TRY(not_deeper());
  Depth depth(nesting_);
  NNEX_ASSIGN(Token t, take(Tok::word, "a type as f32[N,3]"));
  if (t.text == "unknown") return Type{};
  auto dtype = [&](const Token& word) -> Result<DType> {
    if (auto d = dtype_named(word.text); d && *d != kDimType) return *d;
    if (word.text == "none") return DType::none;
    return error(word.at, fmt::format("'{}' is no element type", word.text));
  };
  if (t.text == "sequence" || t.text == "optional" || t.text == "map") {
    NNEX_TRY(expect(Tok::open_round));
    DType key = DType::none;
    if (t.text == "map") {
      NNEX_ASSIGN(Token word, take(Tok::word, "an element type"));
      NNEX_ASSIGN(key, dtype(word));
      NNEX_TRY(expect(Tok::comma));
    }
    NNEX_ASSIGN(Type of, type());
    NNEX_TRY(expect(Tok::close_round));
    if (t.text == "map") return Type::map(key, std::move(of));
    return t.text == "sequence" ? Type::sequence(std::move(of)) : Type::optional(std::move(of));
  }
  const bool sparse = t.text == "sparse";
  if (sparse) {
    NNEX_ASSIGN(t, take(Tok::word, "an element type"));
  }
  NNEX_ASSIGN(DType d, dtype(t));
  NNEX_ASSIGN(MaybeDims extents, dims());
  if (sparse) return Type{Kind::sparse, d, std::move(extents), nullptr};
  return Type::tensor(d, std::move(extents));
}

/// <tensor> ::= <dtype> "[" [integer ("," integer)*] "]" "(" ( <element> ("," <element>)* | [string of hex digits] )
/// ")"
bool Parser::tensor(Token word, Expr& out) {
  auto t = tensor_literal(word);
  if (!t.ok()) return add(std::move(t).error());
  out = Expr{};
  out.kind = Expr::Kind::tensor, out.at = word.at;
  out.tensor = arena_->own(std::move(t).value());
  return made(out, stack_.size());
}

Result<Tensor> Parser::tensor_literal(Token word) {
  const DType dtype = *dtype_named(word.text);
  if (dtype == kDimType) return error(word.at, "a tensor of formulas is never written");
  NNEX_ASSIGN(MaybeDims extents, dims());
  auto shape = extents ? shape_of(*extents) : std::nullopt;
  if (!shape) return error(word.at, "a tensor's extents are numbers");
  const auto count = shape->checked_count();
  // Every element takes a byte of the text at least: no number in a file reserves memory by itself.
  const int64_t per_element = static_cast<int64_t>(sizeof(std::string));
  if (!count || *count > limits_.elements || *count / per_element > static_cast<int64_t>(source_.size()))
    return error(word.at, fmt::format("{} elements; the text is too short for them", count ? *count : -1));
  NNEX_TRY(expect(Tok::open_round));
  if (at(Tok::dots)) return error(now_->at, "the tensor's elements were left out of this text");
  const bool bytes = at(Tok::string) && dtype != DType::str;
  if (!bytes && *count > static_cast<int64_t>(source_.size()))
    return error(word.at, fmt::format("{} elements; the text is too short for them", *count));
  NNEX_ASSIGN(Tensor t, Tensor::make(dtype, *shape));
  if (t.bytes() > 0 && !is_object(dtype)) std::memset(t.mutable_data(), 0, static_cast<size_t>(t.bytes()));
  if (bytes)
    NNEX_TRY(tensor_bytes(t));
  else
    NNEX_TRY(tensor_items(t));
  NNEX_TRY(expect(Tok::close_round));
  return t;
}

Status Parser::tensor_items(Tensor& t) {
  for (int64_t i = 0; i < t.count(); ++i) {
    if (i > 0) NNEX_TRY(expect(Tok::comma));
    NNEX_TRY(tensor_item(t, i));
  }
  if (at(Tok::comma)) return error(now_->at, fmt::format("more elements than {}", t.count()));
  return {};
}

namespace {

/// Writes an integer as the type has it; false when it does not fit.
bool put_integer(Tensor& t, int64_t i, bool minus, uint64_t magnitude) {
  const DType d = t.dtype();
  const int width = bits(d);
  const uint64_t max = is_signed_int(d) ? (uint64_t{1} << (width - 1)) - (minus ? 0 : 1)
                       : width == 64    ? ~uint64_t{0}
                                        : (uint64_t{1} << width) - 1;
  if (magnitude > max || (minus && is_unsigned_int(d) && magnitude != 0)) return false;
  set_int(t, i, static_cast<int64_t>(minus ? 0 - magnitude : magnitude));
  return true;
}

}  // namespace

Status Parser::tensor_item(Tensor& t, int64_t i) {
  const DType d = t.dtype();
  if (d == DType::str) {
    NNEX_ASSIGN(t.mutable_as<std::string>()[static_cast<size_t>(i)], string_content());
    return {};
  }
  const Position where = now_->at;
  if (d == DType::boolean) {
    if (!at_plain("true") && !at_plain("false")) return needed("true or false");
    NNEX_ASSIGN(Token word, advance());
    set_int(t, i, word.text == "true");
    return {};
  }
  auto real = [&]() -> Result<double> {
    bool minus = at(Tok::minus);
    if (minus) NNEX_TRY(advance());
    if (!at(Tok::integer) && !at(Tok::real) && !at_plain("nan") && !at_plain("inf")) return needed("a number");
    NNEX_ASSIGN(Token n, advance());
    double x = std::numeric_limits<double>::quiet_NaN();
    if (n.text == "inf")
      x = std::numeric_limits<double>::infinity();
    else if (n.text != "nan")
      fast_float::from_chars(n.text.data(), n.text.data() + n.text.size(), x);
    return minus ? -x : x;
  };
  if (is_complex(d)) {
    NNEX_TRY(expect(Tok::open_round));
    NNEX_ASSIGN(double re, real());
    NNEX_TRY(expect(Tok::comma));
    NNEX_ASSIGN(double im, real());
    NNEX_TRY(expect(Tok::close_round));
    const double wide[2] = {re, im};
    const float narrow[2] = {static_cast<float>(re), static_cast<float>(im)};
    if (d == DType::c128)
      std::memcpy(t.mutable_data() + 16 * i, wide, 16);
    else
      std::memcpy(t.mutable_data() + 8 * i, narrow, 8);
    return {};
  }
  if (is_int(d)) {
    const bool minus = at(Tok::minus);
    if (minus) NNEX_TRY(advance());
    NNEX_ASSIGN(Token n, take(Tok::integer));
    uint64_t magnitude = 0;
    auto [end, fault] = std::from_chars(n.text.data(), n.text.data() + n.text.size(), magnitude);
    if (fault != std::errc() || !put_integer(t, i, minus, magnitude))
      return error(where, fmt::format("{}{} does not fit in {}", minus ? "-" : "", n.text.substr(0, 40), name(d)));
    return {};
  }
  NNEX_ASSIGN(double x, real());
  set_real(t, i, x);
  return {};
}

Status Parser::tensor_bytes(Tensor& t) {
  const Position where = now_->at;
  NNEX_ASSIGN(std::string hex, string_content());
  if (hex.size() != static_cast<size_t>(t.bytes()) * 2)
    return error(where, fmt::format("{} hex digits; {} bytes need {}", hex.size(), t.bytes(), 2 * t.bytes()));
  for (size_t i = 0; i < hex.size(); i += 2) {
    unsigned byte = 0;
    auto [end, fault] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    if (fault != std::errc() || end != hex.data() + i + 2)
      return error(where, "the string has characters that are no hex digits");
    t.mutable_data()[i / 2] = static_cast<std::byte>(byte);
  }
  return {};
}

}  // namespace nnex::graph_text
