#pragma once
// The library's options as this command line's flags.

#include <string>
#include <string_view>

#include "nnex/result.h"

namespace nnex::cli {

/// The option of a remedy as its flag: "--dialect tract" for "nnef.dialect" = "tract". For Error::text and Fault::text.
inline std::string flag_words(const Remedy& remedy) {
  static constexpr struct {
    std::string_view option, flag;
  } kFlags[] = {{"archive_limit", "--archive-limit"},
                {"archive_ratio", "--archive-ratio"},
                {"cast", "--cast"},
                {"custom", "--custom"},
                {"external_folder", "a path in place of a pipe"},
                {"format", "--to"},
                {"inputs", "--input"},
                {"memory_limit", "--memory-limit"},
                {"nnef.dialect", "--dialect"},
                {"nnef.expand_compounds", "--expand-compounds"},
                {"nnef.keep_fragments", "--keep-fragments"},
                {"overwrite", "--force"},
                {"proof", "--no-verify"},
                {"shapes", "--set-shape"},
                {"symbols", "--set SYMBOL=N"},
                {"weight_seed", "--seed-weights N"}};
  if (remedy.option == "symbols" && !remedy.value.empty()) return "--set " + remedy.value;
  for (const auto& [option, flag] : kFlags)
    if (remedy.option == option) {
      if (remedy.value == "false") return "without " + std::string(flag) + " nnex";
      const bool takes_word = option == "format" || option == "nnef.dialect";
      return std::string(flag) + (takes_word ? " " + remedy.value : "");
    }
  return option_words(remedy);
}

}  // namespace nnex::cli
