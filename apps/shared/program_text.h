#pragma once
// A command line as data, and what is made of it: completions for shells, the manual page.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nnex/result.h"

namespace nnex::cli {

struct OptionText {
  std::vector<std::string> names;  ///< "-q", "--quiet"; of an argument its name alone.
  bool argument = false;           ///< It has no dash: its place tells what it is.
  bool required = false;
  std::string value;                 ///< What its value is called: "FILE"; empty: a flag.
  std::vector<std::string> choices;  ///< The only words it takes, where they are known.
  std::string help;
};

struct VerbText {
  std::string name, help;
  std::vector<OptionText> options;
};

struct ProgramText {
  std::string name, description, version;
  std::vector<VerbText> verbs;
};

/// The completions of a shell: bash, zsh, fish. Error: invalid_argument (another shell).
Result<std::string> completion(const ProgramText& program, const std::string& shell);

/// A section of the manual page: terms, and what is to be said of each.
struct ManualSection {
  std::string_view title;
  std::vector<std::pair<std::string_view, std::string_view>> entries;
};

/// The manual page, in the language of man(7); the sections stand at its end.
std::string manual(const ProgramText& program, const std::vector<ManualSection>& sections = {});

}  // namespace nnex::cli
