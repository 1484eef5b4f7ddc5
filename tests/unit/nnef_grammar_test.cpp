// The editors' description of the language is what the lexer's tables say.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "graph/text/signs.h"
#include "source.h"
#include "standards/nnef/textmate.h"

namespace nnex {
namespace {

TEST(NnefGrammar, TheFileIsUpToDate) {
  std::ifstream in(test::source_dir() + "/editors/nnef.tmLanguage.json", std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), nnef_format::textmate_grammar()) << "run: nnex format --grammar > editors/nnef.tmLanguage.json";
}

/// The scope of the first pattern, in order, that matches all of a text.
std::string scope_of(const nlohmann::json& grammar, const std::string& text) {
  for (const auto& p : grammar["patterns"]) {
    if (!p.contains("match")) continue;
    std::smatch found;
    const std::regex match(p["match"].get<std::string>());
    if (std::regex_search(text, found, match) && found.position(0) == 0 && found.length(0) > 0) return p["name"];
  }
  return "";
}

TEST(NnefGrammar, EveryTokenHasAScope) {
  const auto grammar = nlohmann::json::parse(nnef_format::textmate_grammar());
  for (std::string_view word : graph_text::keywords()) EXPECT_NE(scope_of(grammar, std::string(word)), "") << word;
  for (const graph_text::Sign& s : graph_text::signs()) {
    if (s.kind == graph_text::Tok::dots) continue;
    EXPECT_NE(scope_of(grammar, std::string(s.text)), "") << s.text;
  }
  EXPECT_EQ(scope_of(grammar, "graph net(x)"), "keyword.other.nnef");
  EXPECT_EQ(scope_of(grammar, "tensor<scalar>"), "storage.type.nnef");
  EXPECT_EQ(scope_of(grammar, "shape_of(x)"), "support.function.builtin.nnef");
  EXPECT_EQ(scope_of(grammar, "yield x"), "keyword.control.nnef");
  EXPECT_EQ(scope_of(grammar, "true"), "constant.language.nnef");
  EXPECT_EQ(scope_of(grammar, "conv(x, w)"), "support.function.nnef");
  EXPECT_EQ(scope_of(grammar, "cast<integer>(x)"), "support.function.nnef");
  EXPECT_EQ(scope_of(grammar, "conv_layer(x)"), "entity.name.function.nnef");
  EXPECT_EQ(scope_of(grammar, "conv_out = x"), "");
  EXPECT_EQ(scope_of(grammar, "1.5e-3"), "constant.numeric.nnef");
  EXPECT_EQ(scope_of(grammar, "# conv(x)"), "comment.line.number-sign.nnef");
}

}  // namespace
}  // namespace nnex
