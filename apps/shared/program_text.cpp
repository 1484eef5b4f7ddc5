#include "shared/program_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nnex::cli {
namespace {

std::string replaced(std::string_view text, std::string_view letters, std::string_view before) {
  std::string out;
  for (const char c : text) {
    if (letters.find(c) != letters.npos) out += before;
    out += c;
  }
  return out;
}

/// A word of any shell: within single quotes, which it may hold itself.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text)
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  return out + "'";
}

std::vector<std::string> verb_names(const ProgramText& program) {
  std::vector<std::string> names;
  for (const VerbText& v : program.verbs) names.push_back(v.name);
  return names;
}

/// What a verb's arguments may be, where that is known.
std::vector<std::string> words_of(const VerbText& verb) {
  std::vector<std::string> words;
  for (const OptionText& o : verb.options)
    if (o.argument) words.insert(words.end(), o.choices.begin(), o.choices.end());
  return words;
}

std::string bash(const ProgramText& program) {
  std::string values, options;
  for (const VerbText& v : program.verbs) {
    std::vector<std::string> names;
    for (const OptionText& o : v.options) {
      if (o.argument) continue;
      names.insert(names.end(), o.names.begin(), o.names.end());
      std::vector<std::string> places;
      for (const std::string& n : o.names) places.push_back(fmt::format("'{} {}'", v.name, n));
      if (!o.choices.empty())
        values += fmt::format("    {}) words={} ;;\n", fmt::join(places, " | "),
                              quoted(fmt::format("{}", fmt::join(o.choices, " "))));
    }
    options += fmt::format("    {}) options={} words={} ;;\n", v.name, quoted(fmt::format("{}", fmt::join(names, " "))),
                           quoted(fmt::format("{}", fmt::join(words_of(v), " "))));
  }
  return fmt::format(R"(# bash completion for {0}, made by `{0} completion bash`
_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} options= words=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '{1} --help --version' -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD - 1]}}" in
{2}  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{3}  esac
  if [[ $word = -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _{0} {0}
)",
                     program.name, fmt::join(verb_names(program), " "), values, options);
}

std::string zsh(const ProgramText& program) {
  std::string verbs, options;
  for (const VerbText& v : program.verbs) {
    verbs += fmt::format("    {}\n", quoted(v.name + ":" + replaced(v.help, ":", "\\")));
    options += fmt::format("  {})\n    _arguments", v.name);
    for (const OptionText& o : v.options) {
      if (o.argument) continue;
      std::string value;
      if (!o.choices.empty())
        value = fmt::format(":{}:({})", replaced(o.value, ":", "\\"), fmt::join(o.choices, " "));
      else if (!o.value.empty())
        value = fmt::format(":{}:_files", replaced(o.value, ":[]", "\\"));
      for (const std::string& n : o.names)
        options += " \\\n      " + quoted(fmt::format("*{}[{}]{}", n, replaced(o.help, "[]:\\", "\\"), value));
    }
    const auto words = words_of(v);
    options += words.empty() ? " \\\n      '*:file:_files' ;;\n"
                             : fmt::format(" \\\n      '*:word:({})' ;;\n", fmt::join(words, " "));
  }
  return fmt::format(R"(#compdef {0}
# zsh completion for {0}, made by `{0} completion zsh`
local -a verbs
if (( CURRENT == 2 )); then
  verbs=(
{1}  )
  _describe verb verbs
  return
fi
(( CURRENT-- ))
shift words
case $words[1] in
{2}esac
)",
                     program.name, verbs, options);
}

std::string fish(const ProgramText& program) {
  std::string out = fmt::format("# fish completion for {0}, made by `{0} completion fish`\n", program.name);
  for (const VerbText& v : program.verbs) {
    out +=
        fmt::format("complete -c {} -n __fish_use_subcommand -f -a {} -d {}\n", program.name, v.name, quoted(v.help));
    const std::string here = fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}'", program.name, v.name);
    for (const OptionText& o : v.options) {
      if (o.argument) continue;
      out += here;
      for (const std::string& n : o.names)
        out += n.substr(0, 2) == "--" ? fmt::format(" -l {}", n.substr(2)) : fmt::format(" -s {}", n.substr(1));
      if (!o.choices.empty())
        out += " -x -a " + quoted(fmt::format("{}", fmt::join(o.choices, " ")));
      else if (!o.value.empty())
        out += " -r";
      out += fmt::format(" -d {}\n", quoted(o.help));
    }
    if (const auto words = words_of(v); !words.empty())
      out += here + " -f -a " + quoted(fmt::format("{}", fmt::join(words, " "))) + "\n";
  }
  return out;
}

/// Text for troff: a dash is one, a backslash too; no line begins with a command.
std::string troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out.empty() || (out[0] != '.' && out[0] != '\'') ? out : "\\&" + out;
}

std::string manual_entry(const OptionText& o) {
  std::string names, value;
  for (const std::string& n : o.names) names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", troff(n));
  if (!o.argument && !o.choices.empty())
    value = fmt::format(" {}", fmt::join(o.choices, "|"));
  else if (!o.argument && !o.value.empty())
    value = fmt::format(" \\fI{}\\fR", troff(o.value));
  return fmt::format(".TP\n{}{}\n{}\n", names, value, troff(o.help));
}

}  // namespace

Result<std::string> completion(const ProgramText& program, const std::string& shell) {
  if (shell == "bash") return bash(program);
  if (shell == "zsh") return zsh(program);
  if (shell == "fish") return fish(program);
  return Error(Code::invalid_argument, fmt::format("no shell '{}'; needed bash, zsh or fish", shell));
}

std::string manual(const ProgramText& program, const std::vector<ManualSection>& sections) {
  std::string upper = program.name;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  const size_t colon = program.description.find(": ");
  std::string out = fmt::format(
      ".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n.ad l\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n\\fIVERB\\fR "
      "[\\fIOPTIONS\\fR]\n"
      ".SH VERBS\n",
      upper, program.name, program.version, program.name,
      troff(colon == std::string::npos ? program.description : program.description.substr(colon + 2)), program.name);
  for (const VerbText& v : program.verbs) {
    out += fmt::format(".SS \"{} {}", program.name, v.name);
    for (const OptionText& o : v.options)
      if (o.argument) out += o.required ? " " + o.names[0] : " [" + o.names[0] + "]";
    out += fmt::format("\"\n{}\n", troff(v.help + "."));
    for (const OptionText& o : v.options) out += manual_entry(o);
  }
  out += ".SH EXIT STATUS\n";
  constexpr std::pair<int, std::string_view> kCodes[] = {
      {0, "All is well."},
      {1, "The answer is no: a model with faults, a case that failed, data that make an operator fail."},
      {2, "The command line asks for what makes no sense."},
      {3, "Refused: a file that cannot be read, a limit that was reached."},
      {4, "Legal, but not supported."},
      {70, "A mistake in the program."}};
  for (const auto& [code, meaning] : kCodes) out += fmt::format(".TP\n.B {}\n{}\n", code, meaning);
  for (const ManualSection& section : sections) {
    out += fmt::format(".SH {}\n", section.title);
    for (const auto& [term, text] : section.entries) out += fmt::format(".TP\n.B {}\n{}\n", troff(term), troff(text));
  }
  return out;
}

}  // namespace nnex::cli
