// nnex env: what this build and machine can do.

#include "cli.h"
#include "nnex/environment.h"

namespace nnex::cli {
namespace {

struct EnvArguments {
  bool json = false, measure = false;
  int threads = 0;
};

std::string text_of(const Json& value) {
  if (value.is_array()) return fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), ", "));
  return value.is_string() ? value.get<std::string>() : value.dump();
}

int env(const EnvArguments& o) {
  const Environment e = environment();
  Json j = {{"schema", "nnex.env/1"},
            {"version", e.version},
            {"threads", usable_threads()},
            {"memory_mib", usable_memory() >> 20},
            {"isa", e.isa},
            {"runnable_isas", e.isas},
            {"byte_unit", e.byte_unit.empty() ? "vectors" : e.byte_unit},
            {"operators", e.operators}};
  if (o.measure) {
    const MachineLimits m = measure_machine(threads_of(o.threads), 1);
    j["measured"] = {{"threads", m.threads},
                     {"f32_gmacs", m.f32_gmacs},
                     {"i8_gmacs", m.i8_gmacs},
                     {"memory_gb_per_second", m.memory_gbs}};
  }
  if (o.json) {
    say("{}\n", j.dump(1));
    return kOk;
  }
  for (const auto& [key, value] : j.items())
    if (key != "schema" && key != "measured") say("{:<16} {}\n", key, text_of(value));
  if (!o.measure) return kOk;
  const Json& m = j["measured"];
  const int threads = m["threads"].get<int>();
  say("{:<16} on {} thread{}: {:.1f} GMAC/s of float32, {:.1f} of bytes, {:.1f} GB/s from memory\n", "measured",
      threads, threads == 1 ? "" : "s", m["f32_gmacs"].get<double>(), m["i8_gmacs"].get<double>(),
      m["memory_gb_per_second"].get<double>());
  return kOk;
}

}  // namespace

void add_env(CommandLine& line) {
  auto o = std::make_shared<EnvArguments>();
  Verb verb = line.verb("env", "Show what this build and machine can do", [o] { return env(*o); });
  verb.flag("--json", o->json, "Print a JSON object");
  verb.flag("--measure", o->measure, "Measure for a second what the machine can do at most: multiply-adds, memory");
  verb.option("--threads", o->threads, "With --measure: on so many threads; 0: all that this process may use").whole(0);
  verb.only_where(
      "--threads", [o] { return o->measure; }, "no effect without --measure");
}

}  // namespace nnex::cli
