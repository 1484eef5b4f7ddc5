// nnex env: what this build and machine can do.

#include "cli.h"
#include "nnex/environment.h"

namespace nnex::cli {
namespace {

int env(bool json) {
  const Environment e = environment();
  const Json j = {{"schema", "nnex.env/1"},
                  {"version", e.version},
                  {"threads", usable_threads()},
                  {"memory_mib", usable_memory() >> 20},
                  {"isa", e.isa},
                  {"runnable_isas", e.isas},
                  {"operators", e.operators}};
  if (json) {
    fmt::print("{}\n", j.dump(1));
    return kOk;
  }
  for (const auto& [key, value] : j.items())
    if (key != "schema") fmt::print("{:<16} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  return kOk;
}

}  // namespace

void add_env(CommandLine& line) {
  auto json = std::make_shared<bool>(false);
  line.verb("env", "Show what this build and machine can do", [json] { return env(*json); })
      .flag("--json", *json, "Print a JSON object");
}

}  // namespace nnex::cli
