// Tensors of text. Text is UTF-8; bytes that are not pass through.

#include "ops/text.h"

#include <algorithm>
#include <set>

#include "base/letter_case.h"
#include "ops/broadcast_walk.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

// ---- string_concat

Status run_concat(Call& c) {
  const auto x = c.in<std::string>(0), y = c.in<std::string>(1);
  const auto z = c.out<std::string>(0);
  BroadcastWalk<2>(c.out(0).shape(), {&c.shape(0), &c.shape(1)})
      .rows([&](int64_t at, const auto& from, int64_t n, const auto& step) {
        for (int64_t i = 0; i < n; ++i)
          z[static_cast<size_t>(at + i)] =
              x[static_cast<size_t>(from[0] + i * step[0])] + y[static_cast<size_t>(from[1] + i * step[1])];
      });
  return {};
}

// ---- string_split

Status infer_split(InferCall& c) {
  const auto& a = c.attr<StringSplitAttrs>();
  if (a.limit && *a.limit < 0) return c.error("limit is {}; needed 0 or more", *a.limit);
  c.result(1, c.dims(0));
  MaybeDims parts = c.dims(0);
  if (parts) parts->push_back(c.unknown());
  c.result(0, std::move(parts));
  return {};
}

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/// `text` without the white space at its front.
std::string_view trimmed(std::string_view text) {
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    if (!is_space(c.value)) break;
    text.remove_prefix(c.bytes);
  }
  return text;
}

/// Words between runs of white space; what follows the last allowed split is one part, its end as it was.
std::vector<std::string_view> words_of(std::string_view text, int64_t limit) {
  std::vector<std::string_view> out;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    size_t end = 0;
    if (static_cast<int64_t>(out.size()) == limit) {
      end = text.size();
    } else {
      while (end < text.size()) {
        const CodePoint c = first_code_point(text.substr(end));
        if (is_space(c.value)) break;
        end += c.bytes;
      }
    }
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

std::vector<std::string_view> parts_of(std::string_view text, std::string_view delimiter, int64_t limit) {
  if (delimiter.empty()) return words_of(text, limit);
  std::vector<std::string_view> out;
  while (static_cast<int64_t>(out.size()) < limit) {
    const size_t at = text.find(delimiter);
    if (at == text.npos) break;
    out.push_back(text.substr(0, at));
    text.remove_prefix(at + delimiter.size());
  }
  out.push_back(text);
  return out;
}

Status run_split(Call& c) {
  const auto& a = c.attr<StringSplitAttrs>();
  const auto x = c.in<std::string>(0);
  std::vector<std::vector<std::string_view>> all;
  size_t max = 0;
  for (const std::string& text : x) {
    all.push_back(parts_of(text, a.delimiter, a.limit.value_or(INT64_MAX)));
    max = std::max(max, all.back().size());
  }
  if (c.wants(0)) {
    Ints extents(c.shape(0).begin(), c.shape(0).end());
    extents.push_back(static_cast<int64_t>(max));
    NNEX_ASSIGN(Tensor * y, c.make(0, DType::str, Shape(extents)));
    const auto out = y->mutable_as<std::string>();
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t k = 0; k < max; ++k) out[i * max + k] = k < all[i].size() ? std::string(all[i][k]) : std::string();
  }
  if (c.wants(1)) {
    NNEX_ASSIGN(Tensor * n, c.make(1, DType::i64, c.shape(0)));
    for (size_t i = 0; i < all.size(); ++i) n->mutable_as<int64_t>()[i] = static_cast<int64_t>(all[i].size());
  }
  return {};
}

// ---- string_normalizer

/// "", "C", "en_US", "en-US", "de_DE.UTF-8", "sr_RS@latin": a name's letters; nothing else depends on it.
bool is_locale(std::string_view name) {
  const auto letter = [](char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z'); };
  if (name.empty()) return true;
  return letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char ch) {
           return letter(ch) || (ch >= '0' && ch <= '9') || std::string_view("_-.@").find(ch) != std::string_view::npos;
         });
}

Status infer_normalizer(InferCall& c) {
  const auto& a = c.attr<StringNormalizerAttrs>();
  if (!is_locale(a.locale)) return c.error("locale is '{}'; needed a name such as 'en_US'", a.locale);
  if (!c.dims(0)) {
    c.result(0, MaybeDims{});
    return {};
  }
  const Dims& d = *c.dims(0);
  const bool one_row = d.size() == 2 && (!d[0].is_number() || d[0].value() == 1);
  if (d.size() != 1 && !one_row) return c.error("x is {}; needed [C] or [1, C]", text(d));
  Dims out = d;
  if (!a.stopwords.empty() || !d.back().is_number() || d.back().value() == 0) out.back() = c.unknown();
  if (d.size() == 2) out[0] = Dim(1);
  c.result(0, std::move(out));
  return {};
}

Status run_normalizer(Call& c) {
  const auto& a = c.attr<StringNormalizerAttrs>();
  const Shape& shape = c.shape(0);
  if (shape.rank() != 1 && (shape.rank() != 2 || shape[0] != 1))
    return c.fault("x is {}; needed [C] or [1, C]", shape.text());
  const auto folded = [&](const std::string& s) { return a.case_sensitive ? s : lower_case_text(s); };
  std::set<std::string> stop;
  for (const std::string& s : a.stopwords) stop.insert(folded(s));
  Texts kept;
  for (const std::string& s : c.in<std::string>(0)) {
    if (!stop.empty() && stop.count(folded(s))) continue;
    kept.push_back(a.letters == LetterCase::lower   ? lower_case_text(s)
                   : a.letters == LetterCase::upper ? upper_case_text(s)
                                                    : s);
  }
  if (kept.empty()) kept.emplace_back();
  const auto n = static_cast<int64_t>(kept.size());
  NNEX_ASSIGN(Tensor * y, c.make(0, DType::str, shape.rank() == 2 ? Shape{1, n} : Shape{n}));
  std::move(kept.begin(), kept.end(), y->mutable_as<std::string>().begin());
  return {};
}

constexpr OpRow kTextOps[] = {
    {.name = "string_concat",
     .summary = "Each text of x with that of y behind it.",
     .source = "ONNX StringConcat-20",
     .inputs = {{"x", kS}, {"y", kS}},
     .outputs = {{"z", kS}},
     .infer = broadcast_shape,
     .reference = any(run_concat),
     .spelled = {{onnx, "StringConcat", {}, 20}},
     .elementwise = true},
    {.name = "string_split",
     .summary = "The parts of each text between delimiters, rows filled up with empty texts, and how many they are.",
     .source = "ONNX StringSplit-20",
     .inputs = {{"x", kS}},
     .outputs = {{"y", kS, Arity::optional}, {"n", kI64, Arity::optional}},
     .attrs = attrs_of<StringSplitAttrs>(
         {field<&StringSplitAttrs::delimiter>("delimiter", "Empty: runs of white space, none at the ends."),
          field<&StringSplitAttrs::limit>("limit", "Most splits of a text, from its front; absent: all.")}),
     .infer = infer_split,
     .reference = any(run_split),
     .spelled = {{onnx, "StringSplit", {{"limit", "maxsplit"}}, 20}}},
    {.name = "string_normalizer",
     .summary = "The texts that are no stop words, in lower or upper case; one empty text where none is left.",
     .source = "ONNX StringNormalizer-10; Unicode simple case mappings",
     .inputs = {{"x", kS}},
     .outputs = {{"y", kS}},
     .attrs = attrs_of<StringNormalizerAttrs>(
         {field<&StringNormalizerAttrs::letters>("case", "What becomes of letters."),
          field<&StringNormalizerAttrs::case_sensitive>("case_sensitive", "Stop words count in their own case alone."),
          field<&StringNormalizerAttrs::locale>("locale", "Checked to be a name; cases are the same everywhere."),
          field<&StringNormalizerAttrs::stopwords>("stopwords", "Texts left out.")}),
     .infer = infer_normalizer,
     .reference = any(run_normalizer),
     .spelled = {{onnx,
                  "StringNormalizer",
                  {{"case", "case_change_action", &lower_case}, {"case_sensitive", "is_case_sensitive", &int_bool}},
                  10}}},
};
}  // namespace

std::span<const OpDef> text_ops() { return stored<kTextOps>(); }

}  // namespace nnex
