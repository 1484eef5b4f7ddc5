#pragma once
// Remedies of errors in the words of JavaScript, for both engines.

#include <string>
#include <string_view>

#include "nnex/result.h"

namespace nnex::js {

/// The remedy with its option as options.ts calls it: "nnef.dialect" is nnefDialect, "weight_seed" weightSeed.
inline Remedy in_javascript(Remedy remedy) {
  if (remedy.option == "nnef.dialect") return {"nnefDialect", remedy.value, remedy.effect};
  if (remedy.option == "format") return {"to", remedy.value, remedy.effect};
  if (remedy.option == "overwrite") return {"overwrite", "true", remedy.effect};
  std::string name;
  bool capital = false;
  for (const char c : std::string_view(remedy.option).substr(remedy.option.rfind('.') + 1)) {
    if (c != '_') name += capital && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    capital = c == '_';
  }
  remedy.option = std::move(name);
  return remedy;
}

/// "option nnefDialect = tract".
inline std::string javascript_words(const Remedy& remedy) { return option_words(in_javascript(remedy)); }

}  // namespace nnex::js
