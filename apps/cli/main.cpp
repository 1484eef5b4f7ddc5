#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <numeric>

#include "cli.h"
#include "numbers.h"

namespace nnex::cli {

int report(const Error& error) {
  fmt::print(stderr, "nnex: {}\n", error.text());
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

void ReadingOptions::add_to(CLI::App& verb) {
  verb.add_option("--set", symbols, "Fix an extent: --set N=4, or --set INPUT.AXIS=4 where it has no name")
      ->type_name("SYMBOL=N")
      ->allow_extra_args(false);
  verb.add_option("--set-shape", shapes, "Another shape of an input; all others follow from it")
      ->type_name("INPUT=[1,3,224,224]")
      ->allow_extra_args(false);
  verb.add_option("--seed-weights", weight_seed, "Seeded numbers for weights that the model comes without (NNEF, CVM)");
  verb.add_flag("--expand-compounds", expand_compounds, "Run compound operations by the standard's bodies (NNEF)");
  add_compat(verb, compat);
  add_dialect(verb, dialect);
}

void ReadingOptions::add_compat(CLI::App& verb, std::string& compat) {
  verb.add_option("--compat", compat, "Whose answers count where ours are deliberately others: formal (CVM)")
      ->check(CLI::IsMember({"formal"}));
}

void ReadingOptions::add_dialect(CLI::App& verb, std::string& dialect) {
  verb.add_option(
          "--dialect", dialect,
          "Of NNEF documents: standard (1.0 alone), tract (as sonos/tract and torch-to-nnef write); absent: 1.0, "
          "and the draft of 2017 upgraded")
      ->check(CLI::IsMember({"standard", "tract"}));
}

void ModelOptions::add_to(CLI::App& verb) {
  verb.add_option("model", path, kModelHelp)->required();
  ReadingOptions::add_to(verb);
  verb.add_option("--threads", threads, "Threads to use; 0: all this process may")->check(whole_number(0));
  verb.add_option("--memory-limit", memory_limit,
                  "MiB a run may take beside the weights; 0: three quarters of what this process may have")
      ->type_name("MIB")
      ->check(whole_number(0));
  verb.add_flag("--no-optimize", no_optimize, "Run the graph as it was read, without fusing or folding");
}

namespace {

/// "x=[1,3,224,224]" as a name and extents.
Result<std::pair<std::string, std::vector<int64_t>>> named_shape(const std::string& s) {
  const auto refused = [&] {
    return Error(Code::invalid_argument, fmt::format("--set-shape '{}': needed INPUT=[1,3,224,224]", s));
  };
  const size_t eq = s.find('=');
  if (eq == std::string::npos || s.size() < eq + 3 || s[eq + 1] != '[' || s.back() != ']') return refused();
  std::vector<int64_t> extents;
  const char* at = s.c_str() + eq + 2;
  while (*at != ']') {
    char* end = nullptr;
    const long long n = std::strtoll(at, &end, 10);
    if (end == at || n < 0 || (*end != ',' && *end != ']') || (*end == ',' && end[1] == ']')) return refused();
    extents.push_back(n);
    at = *end == ',' ? end + 1 : end;
  }
  if (at != &s.back()) return refused();
  return std::pair{s.substr(0, eq), std::move(extents)};
}

}  // namespace

Result<LoadOptions> ReadingOptions::options() const {
  LoadOptions options;
  options.compat = compat;
  options.dialect = dialect;
  options.weight_seed = weight_seed;
  options.expand_compounds = expand_compounds;
  for (const std::string& s : shapes) {
    NNEX_ASSIGN(auto shape, named_shape(s));
    options.shapes.insert(std::move(shape));
  }
  for (const std::string& s : symbols) {
    const size_t eq = s.find('=');
    char* end = nullptr;
    const long long n = eq == std::string::npos ? -1 : std::strtoll(s.c_str() + eq + 1, &end, 10);
    if (eq == std::string::npos || end == s.c_str() + eq + 1 || *end || n < 0)
      return Error(Code::invalid_argument, fmt::format("--set '{}': needed SYMBOL=N with N at least 0", s));
    options.symbols[s.substr(0, eq)] = n;
  }
  return options;
}

Result<LoadOptions> ModelOptions::options() const {
  NNEX_ASSIGN(LoadOptions options, ReadingOptions::options());
  options.optimize = !no_optimize;
  options.memory_limit = int64_t{memory_limit} << 20;
  return options;
}

Result<Model> ModelOptions::load() const {
  NNEX_ASSIGN(const LoadOptions given, options());
  return Model::load(path, given);
}

namespace {

/// How many letters must change to make b of a.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t change = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// Says which verbs there are, and which one was meant.
int unknown_verb(CLI::App& app, std::string_view found) {
  std::string all, nearest;
  for (const CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; })) {
    const std::string& name = verb->get_name();
    all += (all.empty() ? "" : " ") + name;
    if (distance(found, name) <= 2 && (nearest.empty() || distance(found, name) < distance(found, nearest)))
      nearest = name;
  }
  fmt::print(stderr, "nnex: no verb '{}'{}; the verbs are: {}\n", found,
             nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest), all);
  return kUsage;
}

}  // namespace

}  // namespace nnex::cli

int main(int argc, char** argv) {
  using namespace nnex::cli;
  CLI::App app{"nnex: read, check and run neural networks", "nnex"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "nnex 0.1.0");
  app.failure_message(CLI::FailureMessage::help);
  int exit_code = kOk;
  add_run(app, exit_code);
  add_check(app, exit_code);
  add_inspect(app, exit_code);
  add_bench(app, exit_code);
  add_profile(app, exit_code);
  add_conform(app, exit_code);
  add_format(app, exit_code);
  add_convert(app, exit_code);
  add_dump(app, exit_code);
  add_ops(app, exit_code);
  add_env(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty()) return unknown_verb(app, argv[1]);
    return app.exit(e) == 0 ? kOk : kUsage;
  } catch (const std::exception& e) {
    fmt::print(stderr, "nnex: internal error: {}\n", e.what());
    return kBug;
  }
  return exit_code;
}
