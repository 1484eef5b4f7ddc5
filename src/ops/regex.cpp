// Texts against a pattern. The library is optional: NNEX_RE2 says that it is there.

#ifdef NNEX_RE2
#include <re2/re2.h>
#endif

#include <memory>

#include "base/failure.h"
#include "base/letter_case.h"
#include "ops/answer.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/stored.h"
#include "ops/text.h"

namespace nnex {
namespace {

Status infer_tokens(InferCall& c) {
  MaybeDims tokens = c.dims(0);
  if (tokens) tokens->push_back(c.unknown());
  c.result(0, std::move(tokens));
  return {};
}

#ifdef NNEX_RE2

RE2::Options quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  return options;
}

Status infer_regex(InferCall& c) {
  const std::string& pattern = c.attr<RegexFullMatchAttrs>().pattern;
  const RE2 regex(pattern, quiet());
  if (!regex.ok()) return c.error("pattern '{}': {}", pattern, regex.error());
  c.result(0, c.dims(0));
  return {};
}

Status run_regex(Call& c) {
  const RE2 regex(c.attr<RegexFullMatchAttrs>().pattern, quiet());
  if (!regex.ok()) return c.fault("pattern: {}", regex.error());
  const auto x = c.in<std::string>(0);
  return write_answers(c, 0, [&](std::span<uint8_t> y) -> Status {
    for (size_t i = 0; i < y.size(); ++i) y[i] = RE2::FullMatch(x[i], regex);
    return {};
  });
}

// ---- tokenize

RE2::Options longest() {
  RE2::Options options = quiet();
  options.set_longest_match(true);
  return options;
}

using Pieces = std::vector<std::string_view>;

size_t code_points(std::string_view text) {
  size_t n = 0;
  for (; !text.empty(); ++n) text.remove_prefix(first_code_point(text).bytes);
  return n;
}

/// Calls found(begin, length) for the matches of a text, each behind the one before; where found() says so, the search
/// goes on behind the first letter of a match, else behind the match.
template <class Found>
void each_match(const RE2& regex, std::string_view text, Found found) {
  const re2::StringPiece all(text.data(), text.size());
  re2::StringPiece match;
  for (size_t at = 0; at < text.size() && regex.Match(all, at, text.size(), RE2::UNANCHORED, &match, 1);) {
    const auto begin = static_cast<size_t>(match.data() - text.data());
    const bool letter = found(begin, match.size()) || match.empty();
    at = begin + (!letter ? match.size() : begin < text.size() ? first_code_point(text.substr(begin)).bytes : 1);
  }
}

/// What an expression takes from a text, or what stands between its matches.
class Tokenizer {
 public:
  static Result<Tokenizer> make(const TokenizeAttrs& a) {
    Tokenizer t;
    t.least_ = static_cast<size_t>(a.least);
    if (a.pattern.empty() == a.separators.empty())
      return Error(Code::invalid_model, "found both of pattern and separators, or none; needed one of them");
    if (a.least < 1) return failure(Code::invalid_model, "least is {}; needed at least 1", a.least);
    t.by_letter_ = a.separators == Texts{""};
    if (t.by_letter_ && a.least > 1)
      return failure(Code::invalid_model, "least is {}; needed 1 where each letter is a token", a.least);
    t.keeps_matches_ = !a.pattern.empty();
    for (const std::string& pattern : t.by_letter_ ? Texts() : t.keeps_matches_ ? Texts{a.pattern} : a.separators) {
      t.patterns_.push_back(std::make_unique<RE2>(pattern, longest()));
      if (!t.patterns_.back()->ok())
        return failure(Code::invalid_model, "pattern '{}': {}", pattern, t.patterns_.back()->error());
    }
    return t;
  }

  Pieces tokens(std::string_view text) const {
    Pieces out;
    if (by_letter_) {
      for (; !text.empty(); text.remove_prefix(out.back().size()))
        out.push_back(text.substr(0, first_code_point(text).bytes));
      return out;
    }
    if (keeps_matches_) {
      each_match(*patterns_[0], text, [&](size_t begin, size_t n) { return !add(text.substr(begin, n), out); });
      return out;
    }
    out = {text};
    for (const auto& separator : patterns_) {
      Pieces parts;
      for (std::string_view piece : out) {
        size_t end = 0;
        each_match(*separator, piece, [&](size_t begin, size_t n) {
          add(piece.substr(end, begin - end), parts);
          end = begin + n;
          return false;
        });
        add(piece.substr(end), parts);
      }
      out = std::move(parts);
    }
    return out;
  }

 private:
  /// Whether it is long enough.
  bool add(std::string_view token, Pieces& to) const {
    if (code_points(token) < least_) return false;
    to.push_back(token);
    return true;
  }

  std::vector<std::unique_ptr<RE2>> patterns_;
  size_t least_ = 1;
  bool keeps_matches_ = false, by_letter_ = false;
};

Status infer_tokenize(InferCall& c) {
  const Result<Tokenizer> made = Tokenizer::make(c.attr<TokenizeAttrs>());
  if (!made.ok()) return c.error("{}", made.error().message());
  return infer_tokens(c);
}

Status run_tokenize(Call& c) {
  const auto& a = c.attr<TokenizeAttrs>();
  const Result<Tokenizer> tokenizer = Tokenizer::make(a);
  if (!tokenizer.ok()) return c.fault("{}", tokenizer.error().message());
  const auto x = c.in<std::string>(0);
  std::vector<Pieces> all;
  size_t row = 0;
  for (const std::string& text : x) {
    all.push_back(tokenizer->tokens(text));
    row = std::max(row, all.back().size());
  }
  if (row != 0 && a.mark) row += 2;
  Ints extents(c.shape(0).begin(), c.shape(0).end());
  extents.push_back(static_cast<int64_t>(row));
  NNEX_ASSIGN(Tensor * y, c.make(0, DType::str, Shape(extents)));
  std::string* to = y->mutable_as<std::string>().data();
  for (size_t i = 0; row != 0 && i < all.size(); ++i) {
    std::string* const end = to + row;
    if (a.mark) *to++ = "\x02";
    for (std::string_view token : all[i]) *to++ = std::string(token);
    if (a.mark) *to++ = "\x03";
    std::fill(to, end, a.padding);
    to = end;
  }
  return {};
}

#else

Status infer_regex(InferCall& c) {
  c.result(0, c.dims(0));
  return {};
}

Status run_regex(Call&) {
  return Error(Code::unsupported, "regex_full_match: this build has no regular expressions (it was built without re2)");
}

Status infer_tokenize(InferCall& c) { return infer_tokens(c); }

Status run_tokenize(Call&) {
  return Error(Code::unsupported, "tokenize: this build has no regular expressions (it was built without re2)");
}

#endif

constexpr OpRow kRegexOps[] = {
    {.name = "regex_full_match",
     .summary = "Whether the whole of each text matches a pattern.",
     .source = "ONNX RegexFullMatch-20; RE2 syntax",
     .inputs = {{"x", kS}},
     .outputs = {{"y", kB}},
     .attrs = attrs_of<RegexFullMatchAttrs>({field<&RegexFullMatchAttrs::pattern>("pattern", "RE2 syntax.", required)}),
     .infer = infer_regex,
     .reference = any(run_regex),
     .spelled = {{onnx, "RegexFullMatch", {}, 20}},
     .elementwise = true},
    {.name = "tokenize",
     .summary =
         "The words of each text, rows filled up: what a pattern takes from it, or what lies between separators.",
     .source =
         "ONNX Runtime's com.microsoft Tokenizer-1, which converters of scikit-learn's text features write; RE2 syntax",
     .inputs = {{"x", kS}},
     .outputs = {{"y", kS}},
     .attrs = attrs_of<TokenizeAttrs>(
         {field<&TokenizeAttrs::pattern>(
              "pattern", "What is a word, the longest of all that begin at a place; empty: separators say."),
          field<&TokenizeAttrs::separators>("separators",
                                            "Patterns, one after the other; one that is empty: each letter is a word."),
          field<&TokenizeAttrs::mark>("mark",
                                      "Whether each row begins with the text \\x02 and ends its words with \\x03."),
          field<&TokenizeAttrs::padding>("padding", "Fills the rows of fewer words."),
          field<&TokenizeAttrs::least>("least", "Letters below which a word is left out.")}),
     .infer = infer_tokenize,
     .reference = any(run_tokenize),
     .spelled =
         {{onnx,
           "Tokenizer",
           {{"pattern", "tokenexp"}, {"mark", "mark", &int_bool}, {"padding", "pad_value"}, {"least", "mincharnum"}},
           1,
           "com.microsoft"}}},
};
}  // namespace

std::span<const OpDef> regex_ops() { return stored<kRegexOps>(); }

}  // namespace nnex
