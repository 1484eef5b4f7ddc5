// nnex help, completion: what is described, for people and shells.

#include "cli.h"

namespace nnex::cli {
namespace {

int shown(const Result<std::string>& text) {
  if (!text.ok()) return report(text.error());
  say("{}", *text);
  return kOk;
}

}  // namespace

void add_completion(CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  line.verb("completion", "Print what makes a shell complete nnex's verbs and options",
            [&line, shell] { return shown(completion(line.text(), *shell)); })
      .option("shell", *shell, "bash, zsh or fish: put the text where the shell looks for completions")
      .required()
      .one_of({"bash", "zsh", "fish"});
}

void add_help(CommandLine& line) {
  struct Asked {
    std::string verb;
    bool man = false;
  };
  auto asked = std::make_shared<Asked>();
  Verb verb = line.verb("help", "Show what a verb takes",
                        [&line, asked] { return shown(asked->man ? manual(line.text()) : line.help(asked->verb)); });
  verb.option("verb", asked->verb, "The verb; absent: all of them, a line each");
  verb.flag("--man", asked->man, "Print the manual page instead, of all verbs, in the language of man");
}

}  // namespace nnex::cli
