// Texts: cuts, cases, patterns and n-grams that no stored vector decides.

#include <gtest/gtest.h>

#include "base/letter_case.h"
#include "op_run.h"

namespace nnex {
namespace {

using test::run_op;
using test::shown;

Tensor texts(const std::vector<std::string>& v) { return Tensor::of(Shape{static_cast<int64_t>(v.size())}, v); }
Tensor longs(const std::vector<int64_t>& v) { return Tensor::of(Shape{static_cast<int64_t>(v.size())}, v); }

TEST(LetterCase, IsUnicodesAndNoMachines) {
  EXPECT_EQ(lower_case_text("ÀÉÎ Straße ΑΣ ДЖ Ĳ 𐐀"), "àéî straße ασ дж ĳ 𐐨");  // no context: Σ is σ everywhere
  EXPECT_EQ(upper_case_text("àéî straße ως дж 𐐨 i ı"), "ÀÉÎ STRAßE ΩΣ ДЖ 𐐀 I I");
  EXPECT_EQ(lower_case_text("İ Ÿ ẞ Ω"), "i ÿ ß ω");
  EXPECT_EQ(upper_case_text("ǆ ᾳ"), "Ǆ ᾼ");
  const std::string broken = "A\xFF\xC3\x28Z\xE2\x82";
  EXPECT_EQ(lower_case_text(broken), "a\xFF\xC3\x28z\xE2\x82");
  EXPECT_EQ(upper_case_text(""), "");
}

TEST(LetterCase, CodePoints) {
  EXPECT_EQ(first_code_point("€x").value, 0x20ACU);
  EXPECT_EQ(first_code_point("€x").bytes, 3U);
  for (const char* bad : {"\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8", "\xE2\x82"}) {
    EXPECT_GT(first_code_point(bad).value, 0x10FFFFU);
    EXPECT_EQ(first_code_point(bad).bytes, 1U);
  }
}

TEST(StringSplit, Cuts) {
  const auto split = [](const std::string& x, const AttrMap& a, size_t o = 0) {
    return shown(run_op("string_split", {texts({x})}, a, 2), o);
  };
  EXPECT_EQ(split("  a \t b  ", {}), "str[1,2] \"a\" \"b\"");
  EXPECT_EQ(split(" a b  c ", {{"limit", int64_t{1}}}), "str[1,2] \"a\" \"b  c \"");
  EXPECT_EQ(split(" a b ", {{"limit", int64_t{0}}}), "str[1,1] \"a b \"");
  EXPECT_EQ(split("a\u2003b", {}), "str[1,2] \"a\" \"b\"");
  EXPECT_EQ(split("", {}), "str[1,0]");
  EXPECT_EQ(split("", {}, 1), "i64[1] 0");
  EXPECT_EQ(split("", {{"delimiter", ","}}), "str[1,1] \"\"");
  EXPECT_EQ(split(",a,,b,", {{"delimiter", ","}}), "str[1,5] \"\" \"a\" \"\" \"b\" \"\"");
  EXPECT_EQ(split("a--b---c", {{"delimiter", "--"}}), "str[1,3] \"a\" \"b\" \"-c\"");
  EXPECT_EQ(split("a,b,c", {{"delimiter", ","}, {"limit", int64_t{1}}}), "str[1,2] \"a\" \"b,c\"");
  EXPECT_EQ(shown(run_op("string_split", {texts({"a", "b c"})}, {}, 2)), "str[2,2] \"a\" \"\" \"b\" \"c\"");
}

TEST(StringNormalizer, StopWordsAndCases) {
  const Tensor x = texts({"Monday", "monday", "MÄRZ"});
  EXPECT_EQ(shown(run_op("string_normalizer", {x}, {{"stopwords", Texts{"monday"}}})), "str[1] \"MÄRZ\"");
  EXPECT_EQ(shown(run_op("string_normalizer", {x}, {{"stopwords", Texts{"monday"}}, {"case_sensitive", true}})),
            "str[2] \"Monday\" \"MÄRZ\"");
  EXPECT_EQ(shown(run_op("string_normalizer", {x}, {{"stopwords", Texts{"monday"}}, {"case", "lower"}})),
            "str[1] \"märz\"");
  EXPECT_EQ(shown(run_op("string_normalizer", {x}, {{"stopwords", Texts{"MONDAY", "märz"}}})), "str[1] \"\"");
  EXPECT_EQ(
      shown(run_op("string_normalizer", {x.reshaped(Shape{1, 3})}, {{"case", "upper"}, {"locale", "de_DE.UTF-8"}})),
      "str[1,3] \"MONDAY\" \"MONDAY\" \"MÄRZ\"");
  EXPECT_EQ(shown(run_op("string_normalizer", {x.reshaped(Shape{3, 1})})),
            "string_normalizer: x is [3,1]; needed [C] or [1, C]");
  EXPECT_EQ(shown(run_op("string_normalizer", {x.reshaped(Shape{3, 1})}, {}, 1, true)),
            "string_normalizer: x is [3,1]; needed [C] or [1, C]");
  EXPECT_EQ(shown(run_op("string_normalizer", {x}, {{"locale", "$(x)"}})),
            "string_normalizer: locale is '$(x)'; needed a name such as 'en_US'");
}

TEST(StringConcat, Broadcasts) {
  EXPECT_EQ(shown(run_op("string_concat", {texts({"a", "b"}).reshaped(Shape{2, 1}), texts({"x", "y"})})),
            "str[2,2] \"ax\" \"ay\" \"bx\" \"by\"");
}

TEST(Regex, WholeTexts) {
  const auto match = [](const std::string& pattern) {
    return shown(run_op("regex_full_match", {texts({"abc", "ab", "", "ä"})}, {{"pattern", pattern}}));
  };
  const std::string first = match("ab.?");
  if (first.find("built without re2") != std::string::npos) GTEST_SKIP() << first;
  EXPECT_EQ(first, "bool[4] true true false false");
  EXPECT_EQ(match("."), "bool[4] false false false true");
  EXPECT_EQ(match(""), "bool[4] false false true false");
  EXPECT_EQ(match("(?i)AB|"), "bool[4] false true true false");
  EXPECT_EQ(match("(ab").substr(0, 25), "regex_full_match: pattern");
  // No pattern takes exponential time or unbounded memory.
  EXPECT_EQ(shown(run_op("regex_full_match", {texts({std::string(5000, 'a')})}, {{"pattern", "(a*)*(a*)*b"}})),
            "bool[1] false");
  EXPECT_EQ(match("((a{100}){100}){100}").substr(0, 25), "regex_full_match: pattern");
}

TEST(TfIdf, ModesWeightsAndSkips) {
  // 1-grams 2, 3; 2-grams (5 6), (2 3).
  const AttrMap a = {{"min_gram", int64_t{1}},
                     {"max_gram", int64_t{2}},
                     {"max_skip", int64_t{0}},
                     {"mode", "tf"},
                     {"pool", longs({2, 3, 5, 6, 2, 3})},
                     {"gram_starts", Ints{0, 2}},
                     {"gram_columns", Ints{0, 1, 2, 3}},
                     {"weights", Reals{10, 20, 30, 40}}};
  const auto with = [&](const AttrMap& more) {
    AttrMap all = a;
    for (const auto& [name, value] : more)
      for (auto& [at, old] : all)
        if (at == name) old = value;
    return all;
  };
  const Tensor x = longs({2, 2, 3, 5, 9, 6});
  EXPECT_EQ(shown(run_op("tf_idf_vectorizer", {x}, a)), "f32[4] 2 1 0 1");
  EXPECT_EQ(shown(run_op("tf_idf_vectorizer", {x}, with({{"mode", "idf"}}))), "f32[4] 10 20 0 40");
  EXPECT_EQ(shown(run_op("tf_idf_vectorizer", {x}, with({{"mode", "tfidf"}}))), "f32[4] 20 20 0 40");
  // One word apart as well: (5 6) over 9, (2 3) over 2; single words count once.
  EXPECT_EQ(shown(run_op("tf_idf_vectorizer", {x}, with({{"max_skip", int64_t{1}}}))), "f32[4] 2 1 1 2");
  EXPECT_EQ(shown(run_op("tf_idf_vectorizer", {x}, with({{"max_skip", int64_t{1} << 62}, {"min_gram", int64_t{2}}}))),
            "f32[4] 0 0 1 2");
  EXPECT_EQ(shown(run_op("tf_idf_vectorizer", {x.reshaped(Shape{2, 3})}, a)), "f32[2,4] 2 1 0 1 0 0 0 0");
  EXPECT_EQ(shown(run_op("tf_idf_vectorizer", {texts({"a"})}, a)), "tf_idf_vectorizer: x is str; the pool is i64");
  EXPECT_EQ(shown(run_op("tf_idf_vectorizer", {x}, with({{"gram_starts", Ints{0, 3}}}))),
            "tf_idf_vectorizer: words 3 to 6 of 6 in the pool are no 2-grams");
  EXPECT_EQ(shown(run_op("tf_idf_vectorizer", {x}, with({{"gram_columns", Ints{0, 1, 2}}}))),
            "tf_idf_vectorizer: 4 n-grams in the pool; 3 gram_columns");
  EXPECT_EQ(shown(run_op("tf_idf_vectorizer", {x}, with({{"gram_columns", Ints{0, 1, 2, -1}}}))),
            "tf_idf_vectorizer: an n-gram counts in column -1");
}

}  // namespace
}  // namespace nnex
