#pragma once
// Verbs and their options: a thin layer over CLI11, which one file includes. Help, completion and the manual page are
// made of what is described here.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nnex/result.h"
#include "shared/program_text.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace nnex::cli {

/// Exit codes (docs/command-line.md).
enum Exit : int { kOk = 0, kNegative = 1, kUsage = 2, kRefused = 3, kUnsupported = 4, kBug = 70 };

/// Prints an error for people and gives its exit code.
int report(const Error& error);
/// That exit code alone.
int exit_code(const Error& error);

/// One option or argument. What is asked of its value is told in the message that refuses another one. Null: of a verb
/// that is not asked for.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option& required();
  /// What its value is called in help: "FILE".
  Option& type(const std::string& name);
  /// The only words it takes.
  Option& one_of(std::vector<std::string> words);
  /// A whole number of at least so much.
  Option& whole(int min);
  /// A whole number of at most 64 bits.
  Option& seed();
  /// A number above 0.
  Option& above_zero();
  /// Numbers, several in one word: "0.5,0.5,0.5".
  Option& commas();
  /// One value each time that it is given, however many words follow.
  Option& one_each();

 private:
  CLI::Option* option_;
};

/// One verb, or the whole of a program that has none. Null: it is not asked for, and its options go nowhere.
class Verb {
 public:
  /// An option that has an effect under a condition alone.
  struct Condition {
    std::string name;
    std::function<bool()> effective;
    std::string otherwise;
  };
  using Conditions = std::shared_ptr<std::vector<Condition>>;

  Verb(CLI::App* app, Conditions conditions) : app_(app), conditions_(std::move(conditions)) {}

  /// `names`: "--json", "-q,--quiet"; a name without a dash is an argument. The value's home must outlive the parse.
  Option option(const std::string& names, std::string& into, const std::string& help);
  Option option(const std::string& names, std::vector<std::string>& into, const std::string& help);
  Option option(const std::string& names, int& into, const std::string& help);
  Option option(const std::string& names, int64_t& into, const std::string& help);
  Option option(const std::string& names, double& into, const std::string& help);
  Option option(const std::string& names, std::vector<double>& into, const std::string& help);
  Option option(const std::string& names, std::optional<uint64_t>& into, const std::string& help);
  void flag(const std::string& names, bool& into, const std::string& help);
  /// The option (or argument) of this name is refused, where it is given and this is false once all have their values;
  /// `otherwise`: why, as "no effect without --decode".
  void only_where(const std::string& name, std::function<bool()> effective, const std::string& otherwise);
  /// What is added to this copy from here on stands under a title of its own in help, behind the verb's own options.
  void group(const std::string& title);

 private:
  template <class T>
  Option add(const std::string& names, T& into, const std::string& help);

  CLI::App* app_;
  Conditions conditions_;
  std::string group_;
};

/// A program's command line.
class CommandLine {
 public:
  /// Where one of its verbs is asked for, the options of the others stay away: describing them all takes longer than a
  /// small network's run.
  CommandLine(const std::string& name, const std::string& description, std::string asked = {});
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// A verb that runs `action`, whose result is the exit code, once its options have their values.
  Verb verb(const std::string& name, const std::string& help, std::function<int()> action);
  /// The whole program as one verb.
  Verb whole(std::function<int()> action);

  /// Parses and runs; the exit code. What cannot be read is said in two lines, with what was probably meant.
  int run(int argc, const char* const* argv);
  /// The help of a verb, or of all of them, a line each, for an empty name. Error: invalid_argument (no such verb).
  Result<std::string> help(const std::string& verb) const;
  /// All that is described.
  ProgramText text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nnex::cli
