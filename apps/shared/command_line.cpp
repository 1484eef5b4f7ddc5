#include "shared/command_line.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <limits>
#include <new>
#include <stdexcept>
#include <system_error>
#include <type_traits>

#include "nnex/environment.h"
#include "nnex/suggest.h"
#include "nnex/version.h"
#include "shared/flags.h"
#include "shared/say.h"

namespace nnex::cli {
namespace {

/// A check whose message says what was found and what is needed.
template <class Fits>
CLI::Validator number_check(const std::string& needed, const std::string& shown, Fits fits) {
  return CLI::Validator(
      [needed, fits](const std::string& text) {
        return fits(text) ? std::string() : fmt::format("found '{}'; needed {}", text, needed);
      },
      shown);
}

constexpr double kMaxReal = 1e300;

/// Of the option's own type: others are out of its range.
template <class T>
CLI::Validator whole_check(T min) {
  return number_check(fmt::format("a whole number of at least {}, at most {}", min, std::numeric_limits<T>::max()),
                      fmt::format(">= {}", min), [min](const std::string& text) {
                        T value = 0;
                        const char* last = text.data() + text.size();
                        const auto [end, fault] = std::from_chars(text.data(), last, value);
                        return fault == std::errc() && end == last && value >= min;
                      });
}

std::vector<std::string_view> verbs_of(const CLI::App& app) {
  std::vector<std::string_view> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

/// Which verbs there are, and which one was meant.
Error unknown_verb(const CLI::App& app, std::string_view found) {
  const auto verbs = verbs_of(app);
  return Error(Code::invalid_argument, fmt::format("no verb '{}'{}; the verbs are: {}", found,
                                                   did_you_mean(found, verbs), fmt::join(verbs, " ")));
}

/// The first word that looks like an option and is none of the verb's.
std::string unknown_option(const CLI::App& verb) {
  for (const std::string& word : verb.remaining())
    if (word.size() > 1 && word[0] == '-') return word.substr(0, word.find('='));
  return {};
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

/// What is wrong, in one line.
std::string reason(const CLI::App& verb, const CLI::ParseError& error) {
  const std::string found = unknown_option(verb);
  if (found.empty()) return error.what();
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options())
    for (std::string& name : names_of(*option)) names.push_back(std::move(name));
  const std::vector<std::string_view> known(names.begin(), names.end());
  return fmt::format("no option '{}'{}", found, did_you_mean(found, known));
}

int refuse_words(const CLI::App& app, const CLI::ParseError& error, int argc, const char* const* argv) {
  const auto chosen = app.get_subcommands();
  const bool has_verbs = !verbs_of(app).empty();
  if (has_verbs && chosen.empty() && argc > 1 && argv[1][0] != '-') return report(unknown_verb(app, argv[1]));
  const CLI::App& verb = chosen.empty() ? app : *chosen.front();
  say(stderr, "nnex: {}\nsee `{} {}--help`\n", reason(verb, error), app.get_name(),
      chosen.empty() ? "" : verb.get_name() + " ");
  return kUsage;
}

/// CLI11 keeps what an option takes as text: "TEXT:{onnx,nnef}", "MIB:>= 0".
void read_type(const std::string& type, OptionText& out) {
  const size_t open = type.find('{'), close = type.rfind('}');
  size_t end = type.find(':');  // of what it takes; a check begins with one of these
  while (end != std::string::npos && type.find_first_of("{>", end + 1) != end + 1) end = type.find(':', end + 1);
  out.value = type.substr(0, end);
  if (open == std::string::npos || close == std::string::npos || close < open) return;
  std::string word;
  for (size_t i = open + 1; i <= close; ++i) {
    if (type[i] != ',' && i != close) {
      word += type[i];
      continue;
    }
    out.choices.push_back(std::move(word));
    word.clear();
  }
}

VerbText text_of(const CLI::App& verb) {
  VerbText text{verb.get_name(), verb.get_description(), {}};
  std::vector<const CLI::Option*> options = verb.get_options();
  const std::string own = options.empty() ? "" : options.front()->get_group();  // that of --help
  std::stable_partition(options.begin(), options.end(), [&](const auto* option) { return option->get_group() == own; });
  for (const CLI::Option* option : options) {
    OptionText o;
    o.names = names_of(*option);
    o.argument = o.names.empty();
    if (o.argument) o.names = {option->get_name()};
    o.required = option->get_required();
    o.help = option->get_description();
    if (option->get_type_size() != 0) read_type(option->get_type_name(), o);
    text.options.push_back(std::move(o));
  }
  return text;
}

}  // namespace

int report(const Error& error) {
  say(stderr, "nnex: {}\n", own_lines(error.text(flag_words)));
  return exit_code(error);
}

int exit_code(const Error& error) {
  switch (error.code()) {
    case Code::invalid_argument:
      return kUsage;
    case Code::unsupported:
      return kUnsupported;
    case Code::fault:
      return kNegative;
    case Code::internal:
      return kBug;
    default:
      return kRefused;
  }
}

Option& Option::required() {
  if (option_) option_->required();
  return *this;
}
Option& Option::type(const std::string& name) {
  if (option_) option_->type_name(name);
  return *this;
}
Option& Option::one_of(std::vector<std::string> words) {
  if (option_) option_->check(CLI::IsMember(std::move(words)));
  return *this;
}
Option& Option::commas() {
  if (!option_) return *this;
  constexpr auto kNeeded = "numbers, in one word (0.5,0.5,0.5); a word that is none stands before the option";
  option_->delimiter(',');
  option_->check(number_check(kNeeded, "", [](const std::string& text) {
    double value = 0;
    const char* last = text.data() + text.size();
    const auto [end, fault] = fast_float::from_chars(text.data() + (text[0] == '+' ? 1 : 0), last, value);
    return fault == std::errc() && end == last;
  }));
  return *this;
}
Option& Option::one_each() {
  if (option_) option_->allow_extra_args(false);
  return *this;
}

Option& Option::whole(int min) {
  if (option_) option_->check(whole_check(min));
  return *this;
}

Option& Option::seed() {
  if (option_) option_->check(whole_check(uint64_t{0}));
  return *this;
}

Option& Option::above_zero() {
  if (!option_) return *this;
  option_->check(number_check(fmt::format("a number above 0, below {}", kMaxReal), "> 0", [](const std::string& text) {
    double value = 0;
    const char* last = text.data() + text.size();
    const auto [end, fault] = fast_float::from_chars(text.data(), last, value);
    return fault == std::errc() && end == last && value > 0 && value < kMaxReal;
  }));
  return *this;
}

namespace {

/// What the value is where nobody gives one, behind what help says: 0 and an empty word stand for nothing.
template <class T>
std::string with_default(const std::string& help, const T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
    if (value != T()) return fmt::format("{} [default: {}]", help, value);
  return help;
}

}  // namespace

template <class T>
Option Verb::add(const std::string& names, T& into, const std::string& help) {
  if (!app_) return Option(nullptr);
  CLI::Option* option = app_->add_option(names, into, with_default(help, into));
  if (!group_.empty()) option->group(group_);
  return Option(option);
}

Option Verb::option(const std::string& names, std::string& into, const std::string& help) {
  return add(names, into, help);
}
Option Verb::option(const std::string& names, std::vector<std::string>& into, const std::string& help) {
  return add(names, into, help);
}
Option Verb::option(const std::string& names, int& into, const std::string& help) { return add(names, into, help); }
Option Verb::option(const std::string& names, int64_t& into, const std::string& help) { return add(names, into, help); }
Option Verb::option(const std::string& names, double& into, const std::string& help) { return add(names, into, help); }
Option Verb::option(const std::string& names, std::vector<double>& into, const std::string& help) {
  return add(names, into, help);
}
Option Verb::option(const std::string& names, std::optional<uint64_t>& into, const std::string& help) {
  return add(names, into, help).seed();
}
void Verb::flag(const std::string& names, bool& into, const std::string& help) {
  if (!app_) return;
  CLI::Option* option = app_->add_flag(names, into, help);
  if (!group_.empty()) option->group(group_);
}
void Verb::group(const std::string& title) { group_ = title; }
void Verb::only_where(const std::string& name, std::function<bool()> effective, const std::string& otherwise) {
  if (app_) conditions_->push_back({name, std::move(effective), otherwise});
}

namespace {

/// Options that were given and would do nothing.
void check_effects(const CLI::App& verb, const std::vector<Verb::Condition>& conditions) {
  for (const Verb::Condition& c : conditions)
    if (verb.count(c.name) > 0 && !c.effective()) throw CLI::ValidationError(c.name, c.otherwise);
}

}  // namespace

struct CommandLine::Impl {
  CLI::App app;
  std::string asked;
  int exit_code = kOk;

  Impl(const std::string& name, const std::string& description, std::string word)
      : app(description, name), asked(std::move(word)) {}
};

CommandLine::CommandLine(const std::string& name, const std::string& description, std::string asked)
    : impl_(std::make_unique<Impl>(name, description, std::move(asked))) {
  impl_->app.set_version_flag("--version", fmt::format("nnex {}", kVersion));
}
CommandLine::~CommandLine() = default;

Verb CommandLine::verb(const std::string& name, const std::string& help, std::function<int()> action) {
  impl_->app.require_subcommand(1);
  CLI::App* verb = impl_->app.add_subcommand(name, help);
  const auto conditions = std::make_shared<std::vector<Verb::Condition>>();
  verb->callback([this, verb, conditions, action = std::move(action)] {
    check_effects(*verb, *conditions);
    impl_->exit_code = action();
  });
  return {impl_->asked.empty() || impl_->asked == name ? verb : nullptr, conditions};
}

Verb CommandLine::whole(std::function<int()> action) {
  const auto conditions = std::make_shared<std::vector<Verb::Condition>>();
  impl_->app.callback([this, conditions, action = std::move(action)] {
    check_effects(impl_->app, *conditions);
    impl_->exit_code = action();
  });
  return {&impl_->app, conditions};
}

namespace {

Error lost_output() { return Error(Code::unreadable, "cannot write to standard output"); }

/// What is still in buffers is written, too: a full disk is told, not found out later.
int with_output(int exit_code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout.flush()) return exit_code;
  return report(lost_output());
}

}  // namespace

int CommandLine::run(int argc, const char* const* argv) {
  if (const Status known = check_environment(); !known.ok()) return report(known.error());
  try {
    impl_->app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return e.get_exit_code() == 0 ? with_output(impl_->app.exit(e)) : refuse_words(impl_->app, e, argc, argv);
  } catch (const std::system_error& e) {  // no thread could be started, or a folder be listed
    return report(Error(Code::unreadable, e.what()));
  } catch (const std::bad_alloc&) {
    return report(Error(Code::limit, "out of memory"));
  } catch (const std::length_error&) {
    return report(Error(Code::limit, "out of memory"));
  } catch (const std::exception& e) {
    say(stderr, "nnex: internal error: {}\n", e.what());
    return kBug;
  }
  return with_output(impl_->exit_code);
}

Result<std::string> CommandLine::help(const std::string& verb) const {
  const CLI::App& app = impl_->app;
  if (verb.empty()) return app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
  const auto verbs = verbs_of(app);
  if (std::find(verbs.begin(), verbs.end(), verb) == verbs.end()) return unknown_verb(app, verb);
  return app.get_subcommand(verb)->help(app.get_name());
}

ProgramText CommandLine::text() const {
  const CLI::App& app = impl_->app;
  ProgramText out{app.get_name(), app.get_description(), std::string(kVersion), {}};
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    out.verbs.push_back(text_of(*verb));
  const auto verbs = verbs_of(app);
  for (VerbText& verb : out.verbs)
    for (OptionText& o : verb.options)
      if (o.argument && o.names[0] == "verb") o.choices.assign(verbs.begin(), verbs.end());  // of `nnex help VERB`
  return out;
}

}  // namespace nnex::cli
