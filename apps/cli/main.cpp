// The command line: what verbs share of models, and all verbs together.

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "cli.h"
#include "edit.h"
#include "nnex/environment.h"
#include "nnex/inspect.h"

namespace nnex::cli {

namespace {

constexpr const char* kHowItRuns = "How it runs";

}  // namespace

void ReadingOptions::add_to(Verb verb) {
  verb.group("How the model is read");
  verb.option("--set", symbols, "Fix an extent: --set N=4, or --set INPUT.AXIS=4 where it has no name; once for each")
      .type("SYMBOL=N")
      .one_each();
  verb.option("--set-shape", shapes, "Another shape of an input; all others follow from it; once for each")
      .type("INPUT=[1,3,224,224]")
      .one_each();
  verb.option("--seed-weights", weight_seed, "Seeded numbers for weights that the model comes without (NNEF, CVM)");
  verb.flag("--expand-compounds", expand_compounds, "Run compound operations by the standard's bodies (NNEF)");
  verb.flag(
      "--quantized", quantized,
      "With what the model's quantisation file says of its tensors (NNEF graph.quant), which is a hint otherwise; "
      "of two models to compare the second's");
  verb.option("--memory-limit", memory_limit,
              "MiB that reading the model may copy or unpack, and that a run may take beside the weights; 0: three "
              "quarters of what this process may have")
      .type("MIB")
      .whole(0);
  verb.option("--archive-limit", archive_limit, "MiB that an archive may unpack to; 0: as much as --memory-limit")
      .type("MIB")
      .whole(0);
  verb.option("--archive-ratio", archive_ratio,
              "Bytes that an archive may unpack to for each of its own, from 64 MiB on; 0: 32")
      .type("N")
      .whole(0);
  add_compat(verb, compat);
  add_dialect(verb, dialect);
}

void ModelOptions::add_to(Verb verb) {
  verb.option("model", path, kModelHelp).required();
  ReadingOptions::add_to(verb);
  verb.group(kHowItRuns);
  verb.option("--threads", threads, "Threads to use, at most those this process may; 0: all of them").whole(0);
  verb.flag("--no-optimize", no_optimize, "Run the graph as it was read, without fusing or folding");
}

namespace {

/// "x=[1,3,224,224]" as a name and extents.
Result<std::pair<std::string, std::vector<int64_t>>> named_shape(const std::string& s) {
  const auto refused = [&] {
    return Error(Code::invalid_argument, fmt::format("--set-shape '{}': needed INPUT=[1,3,224,224]", s));
  };
  const size_t eq = s.rfind("=[");  // a name may have a '=', too
  if (eq == std::string::npos || s.size() < eq + 3 || s.back() != ']') return refused();
  std::vector<int64_t> extents;
  const char* at = s.c_str() + eq + 2;
  while (*at != ']') {
    char* end = nullptr;
    errno = 0;
    const long long n = std::strtoll(at, &end, 10);
    if (end == at || n < 0 || errno == ERANGE || (*end != ',' && *end != ']') || (*end == ',' && end[1] == ']'))
      return refused();
    extents.push_back(n);
    at = *end == ',' ? end + 1 : end;
  }
  if (at != &s.back()) return refused();
  return std::pair{s.substr(0, eq), std::move(extents)};
}

}  // namespace

Result<LoadOptions> ReadingOptions::options() const {
  LoadOptions options;
  options.cvm.answers = answers_of(compat);
  options.nnef.dialect = dialect_of(dialect);
  options.weight_seed = weight_seed;
  options.memory_limit = int64_t{memory_limit} << 20;
  options.archive_limit = int64_t{archive_limit} << 20;
  options.archive_ratio = archive_ratio;
  options.nnef.expand_compounds = expand_compounds;
  options.nnef.quantized = quantized;
  for (const std::string& s : shapes) {
    NNEX_ASSIGN(auto shape, named_shape(s));
    const auto [there, is_new] = options.shapes.insert(shape);
    if (!is_new && there->second != shape.second)
      return Error(Code::invalid_argument,
                   fmt::format("--set-shape: '{}' is given twice: as [{}] and as [{}]", shape.first,
                               fmt::join(there->second, ","), fmt::join(shape.second, ",")));
  }
  for (const std::string& s : symbols) {
    const size_t eq = s.rfind('=');  // a name may have one, too
    char* end = nullptr;
    errno = 0;
    const long long n = eq == std::string::npos ? -1 : std::strtoll(s.c_str() + eq + 1, &end, 10);
    if (eq == std::string::npos || end == s.c_str() + eq + 1 || *end || n < 0 || errno == ERANGE)
      return Error(Code::invalid_argument,
                   fmt::format("--set '{}': needed SYMBOL=N with N from 0 to 9223372036854775807", s));
    const auto [there, is_new] = options.symbols.emplace(s.substr(0, eq), n);
    if (!is_new && there->second != n)
      return Error(Code::invalid_argument,
                   fmt::format("--set: '{}' is given twice: as {} and as {}", there->first, there->second, n));
  }
  return options;
}

int threads_of(int asked) {
  const int threads = asked == 0 ? usable_threads() : std::min(asked, usable_threads());
  if (threads < asked)
    say(stderr, "nnex: --threads {}: this process may use {}; more would wait for each other\n", asked, threads);
  return threads;
}

SessionOptions ModelOptions::session_options() const {
  SessionOptions options;
  options.threads = threads_of(threads);
  return options;
}

Result<LoadOptions> ModelOptions::options() const {
  NNEX_ASSIGN(LoadOptions options, ReadingOptions::options());
  options.optimize = !no_optimize;
  options.cache = cache;
  return options;
}

void add_cache(Verb verb, std::string& folder) {
  verb.group(kHowItRuns);
  verb.option("--cache", folder,
              "A folder that keeps models as they were compiled, made where it is missing: the next start takes them "
              "from there")
      .type("FOLDER");
  verb.only_where(
      "--cache", [&folder] { return !folder.empty(); }, "found an empty word; needed a folder");
}

void ModelOptions::add_carry_to(Verb verb) {
  verb.group(kHowItRuns);
  verb.option("--carry", carry,
              "OUTPUT=INPUT: what a run makes is what the next one takes, never copied; likely: pairs as present.0.key "
              "and past_key_values.0.key, h_out and h_in")
      .one_each();
}

namespace {

/// The pairs that --carry asks for. "likely" asks the model's ports, which are read for it.
Result<std::vector<Carry>> carried(const std::vector<std::string>& words, const ModelSource& source,
                                   const LoadOptions& options) {
  std::vector<Carry> out;
  for (const std::string& word : words) {
    const size_t eq = word.find('=');
    if (word == "likely") {
      NNEX_ASSIGN(const Inspection model, inspect(source, options));
      const std::vector<Carry> likely = likely_carries(model.inputs, model.outputs);
      if (likely.empty())
        return Error(Code::invalid_argument,
                     "--carry likely: no output and input of one type are called as present.0.key and "
                     "past_key_values.0.key, h_out and h_in, or hn and h0; --carry OUTPUT=INPUT names a pair");
      out.insert(out.end(), likely.begin(), likely.end());
    } else if (eq == std::string::npos || eq == 0 || eq + 1 == word.size()) {
      return Error(Code::invalid_argument, fmt::format("--carry '{}': needed OUTPUT=INPUT or likely", word));
    } else {
      out.push_back({word.substr(0, eq), word.substr(eq + 1)});
    }
  }
  return out;
}

}  // namespace

Result<LoadOptions> ModelOptions::carrying(const ModelSource& source) const {
  NNEX_ASSIGN(LoadOptions given, options());
  NNEX_ASSIGN(given.carry, carried(carry, source, given));
  return given;
}

Result<Model> ModelOptions::load() const {
  NNEX_ASSIGN(const ModelSource source, source_of(path));
  NNEX_ASSIGN(const LoadOptions given, carrying(source));
  return load_model(source, given);
}

Result<std::vector<PortInfo>> ModelOptions::declared_inputs(const Model& model) const {
  if (carry.empty()) return model.inputs();
  NNEX_ASSIGN(const ModelSource source, source_of(path));
  NNEX_ASSIGN(const LoadOptions given, options());
  NNEX_ASSIGN(Inspection found, inspect(source, given));
  return std::move(found.inputs);
}

void ModelOptions::tell_cache(const Model& model) {
  const CacheInfo cache = model.cache();
  if (cache.use == CacheUse::failed || (cache.use == CacheUse::none && !cache.why.empty()))
    say(stderr, "nnex: --cache: the model is not kept: {}\n", own_lines(cache.why));
}

}  // namespace nnex::cli

int main(int argc, char** argv) {
  using namespace nnex::cli;
  keep_standard_streams();
  if (argc > 1 && std::string_view(argv[1]) == "conform")
    if (const std::optional<int> code = run_conform(argc, argv)) return *code;
  clean_up_on_signals();
  std::string asked = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
  if (asked == "help" || asked == "completion") asked.clear();  // which tell of all verbs
  // Never destroyed: the process ends, and giving back what options take costs as much as a small network's run.
  static CommandLine& line = *new CommandLine("nnex", "nnex: read, check and run neural networks", std::move(asked));
  add_run(line);
  add_check(line);
  add_inspect(line);
  add_bench(line);
  add_profile(line);
  add_serve(line);
  add_batch(line);
  add_conform(line);
  add_format(line);
  add_convert(line);
  add_compare(line);
  add_view(line);
  add_why(line);
  add_edits(line);
  add_quantize(line);
  add_dump(line);
  add_ops(line);
  add_env(line);
  add_completion(line);
  add_help(line);
  const nnex::MemoryLimit tensors;  // those of inputs, too
  return line.run(argc, argv);
}
