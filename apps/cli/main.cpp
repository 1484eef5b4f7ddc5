#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli.h"

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

void ModelOptions::add_to(CLI::App& verb) {
  verb.add_option("model", path, "The model file (.onnx)")->required();
  verb.add_option("--set", symbols, "Fix an extent: --set N=4, or --set INPUT.AXIS=4 where it has no name")
      ->type_name("SYMBOL=N");
  verb.add_option("--threads", threads, "Threads to use; 0: all this process may")->check(CLI::NonNegativeNumber);
  verb.add_flag("--no-optimize", no_optimize, "Run the graph as it was read, without fusing or folding");
}

Result<Model> ModelOptions::load() const {
  LoadOptions options;
  options.optimize = !no_optimize;
  for (const std::string& s : symbols) {
    const size_t eq = s.find('=');
    char* end = nullptr;
    const long long n = eq == std::string::npos ? -1 : std::strtoll(s.c_str() + eq + 1, &end, 10);
    if (eq == std::string::npos || end == s.c_str() + eq + 1 || *end || n < 0)
      return Error(Code::invalid_argument, fmt::format("--set '{}': needed SYMBOL=N with N at least 0", s));
    options.symbols[s.substr(0, eq)] = n;
  }
  return Model::load(path, options);
}

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
  add_dump(app, exit_code);
  add_ops(app, exit_code);
  add_env(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kOk : kUsage;
  } catch (const std::exception& e) {
    fmt::print(stderr, "nnex: internal error: {}\n", e.what());
    return kBug;
  }
  return exit_code;
}
