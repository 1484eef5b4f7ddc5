#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "ops/attrs.h"

namespace nnex {

struct StringSplitAttrs {
  std::string delimiter;
  std::optional<int64_t> limit;
};

enum class LetterCase : uint8_t { none, lower, upper };
constexpr std::array<std::string_view, 3> enumerators(LetterCase) { return {"none", "lower", "upper"}; }

struct StringNormalizerAttrs {
  LetterCase letters = LetterCase::none;
  bool case_sensitive = false;
  std::string locale;
  Texts stopwords;
};

struct RegexFullMatchAttrs {
  std::string pattern;
};

struct TokenizeAttrs {
  std::string pattern;
  Texts separators;
  bool mark = false;
  std::string padding;
  int64_t least = 1;
};

}  // namespace nnex
