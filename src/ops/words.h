#pragma once
// Codecs that only exchange words: an enumerator's name in a format for ours, and back.

#include <string>
#include <string_view>

#include "ops/table.h"

namespace nnex {

struct Word {
  std::string_view theirs, ours;
};

/// The first row that has the word; a word that no row has stays as it is. Error: v is no word.
template <size_t n>
Result<AttrValue> reword(const AttrValue& v, const Word (&words)[n], bool reading) {
  auto* s = std::get_if<std::string>(&v);
  if (!s) return Error(Code::invalid_model, "found " + text(v) + "; needed a word");
  for (const Word& w : words)
    if (*s == (reading ? w.theirs : w.ours)) return AttrValue(std::string(reading ? w.ours : w.theirs));
  return AttrValue(*s);
}

template <const auto& words>
constexpr Codec word_codec(std::string_view name) {
  return {name, [](const AttrValue& v) { return reword(v, words, true); },
          [](const AttrValue& v) { return reword(v, words, false); }};
}

}  // namespace nnex
