#include "standards/nnef/textmate.h"

#include <fmt/format.h>

#include <vector>

#include "base/joined.h"
#include "base/json.h"
#include "graph/text/signs.h"
#include "standards/nnef/signatures.h"

namespace nnex::nnef_format {
namespace {

using Json = nlohmann::ordered_json;
using graph_text::Tok;
using graph_text::WordUse;

/// Any of the words, and nothing longer.
std::string any_word(const std::vector<std::string_view>& words) {
  return fmt::format("\\b(?:{})\\b", joined(words, "|"));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_')) out += '\\';
    out += c;
  }
  return out;
}

Json keywords(WordUse use, const char* scope) {
  std::vector<std::string_view> words;
  const auto all = graph_text::keywords();
  for (size_t i = 0; i < all.size(); ++i)
    if (graph_text::use_of_keyword(i) == use) words.push_back(all[i]);
  return {{"name", scope}, {"match", any_word(words)}};
}

/// Calls of the standard's operations, then of anything else.
Json calls() {
  std::vector<std::string_view> names;
  for (const Declaration& d : standard_operations()) names.push_back(d.name);
  const std::string behind = "(?=\\s*(?:<[a-z?]*>\\s*)?\\()";
  return Json::array({{{"name", "support.function.nnef"}, {"match", any_word(names) + behind}},
                      {{"name", "entity.name.function.nnef"}, {"match", "\\b[A-Za-z_][A-Za-z0-9_]*" + behind}}});
}

Json strings() {
  Json out = Json::array();
  for (const char* quote : {"'", "\""})
    out.push_back({{"name", fmt::format("string.quoted.{}.nnef", *quote == '\'' ? "single" : "double")},
                   {"begin", quote},
                   {"end", quote},
                   {"patterns", Json::array({{{"name", "constant.character.escape.nnef"},
                                              {"match", fmt::format("\\\\[\\\\{}]", quote)}}})}});
  return out;
}

/// Signs that compute, and signs that hold a text together.
Json signs(bool operators) {
  std::vector<std::string> texts;
  for (const graph_text::Sign& s : graph_text::signs()) {
    const bool computes = !s.unary.empty() || !s.binary.empty() || s.kind == Tok::assign || s.kind == Tok::arrow;
    if (s.kind != Tok::dots && computes == operators) texts.push_back(escaped(s.text));
  }
  return {{"name", operators ? "keyword.operator.nnef" : "punctuation.nnef"}, {"match", joined(texts, "|")}};
}

}  // namespace

std::string textmate_grammar() {
  Json patterns = Json::array();
  patterns.push_back({{"name", "comment.line.number-sign.nnef"}, {"match", "#.*$"}});
  for (Json& s : strings()) patterns.push_back(std::move(s));
  patterns.push_back({{"name", "constant.numeric.nnef"}, {"match", "\\b[0-9]+(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\\b"}});
  patterns.push_back(keywords(WordUse::declaration, "keyword.other.nnef"));
  patterns.push_back(keywords(WordUse::type, "storage.type.nnef"));
  patterns.push_back(keywords(WordUse::function, "support.function.builtin.nnef"));
  patterns.push_back(keywords(WordUse::control, "keyword.control.nnef"));
  patterns.push_back(keywords(WordUse::literal, "constant.language.nnef"));
  for (Json& c : calls()) patterns.push_back(std::move(c));
  patterns.push_back(signs(true));
  patterns.push_back(signs(false));
  const Json grammar = {{"name", "NNEF"},
                        {"scopeName", "source.nnef"},
                        {"fileTypes", {"nnef", "quant"}},
                        {"patterns", std::move(patterns)}};
  return grammar.dump(2) + "\n";
}

}  // namespace nnex::nnef_format
