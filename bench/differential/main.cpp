// Random ONNX models under nnex and under ONNX Runtime without its optimisations; every class of difference is printed
// with what repeats it. Exit 1: a difference that known.cpp does not explain.
//
//     PEER_ORT=FOLDER differential [--seconds N] [--seed S] [--operator NAME] [--case I] [--save FOLDER] [--verbose]
//
// Cases run in a process of their own: one that dies or hangs is reported like any other difference.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <set>
#include <string>

#include "compare.h"
#include "ops/table.h"
#include "recipes.h"

namespace {

using namespace nnex;
using namespace nnex::differential;

struct Options {
  double seconds = 60;
  uint64_t seed = 1;
  std::string op, save;
  int64_t only = -1;
  bool verbose = false, list = false;
};

[[noreturn]] void fail(std::string_view why) {
  fmt::print(stderr, "differential: {}\n", why);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    auto value = [&] { return i + 1 < argc ? argv[++i] : (fail(fmt::format("{} needs a value", word)), nullptr); };
    if (word == "--seconds")
      options.seconds = std::atof(value());
    else if (word == "--seed")
      options.seed = std::strtoull(value(), nullptr, 10);
    else if (word == "--operator")
      options.op = value();
    else if (word == "--case")
      options.only = std::atoll(value());
    else if (word == "--save")
      options.save = value();
    else if (word == "--verbose")
      options.verbose = true;
    else if (word == "--list")
      options.list = true;
    else
      fail(
          fmt::format("usage: differential [--seconds N] [--seed S] [--operator NAME] [--case I] [--save FOLDER] "
                      "[--verbose] [--list]; '{}' is none of these",
                      word));
  }
  return options;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// What the process that runs the cases tells the one that watches it.
struct Progress {
  volatile int64_t index;
  volatile int stage;  ///< 1: makes the case, 2: the peer runs, 3: ours runs.
};
constexpr const char* kStages[] = {"", "the recipe", "the peer", "ours"};
constexpr unsigned kMaxSeconds = 20;

struct Runner {
  const Options& options;
  std::vector<const Recipe*> recipes;
  Progress* progress;

  const Recipe& recipe(int64_t index) const { return *recipes[size_t(index) % recipes.size()]; }
  Case made(int64_t index) const { return make_case(recipe(index), options.seed * 1000003 + uint64_t(index)); }

  /// Runs cases from `first` on and writes a line each to `out`: index, outcome, kind.
  void work(int64_t first, double until, const Peer& peer, FILE* out) const {
    for (int64_t i = first; now() < until; ++i) {
      progress->index = i;
      progress->stage = 1;
      alarm(kMaxSeconds);  // ends the process of a case that hangs
      const Case one = made(i);
      const std::string model = one.model();
      progress->stage = 2;
      const Answer theirs = peer.run(one, model);
      progress->stage = 3;
      const Answer ours = run_ours(one, model);
      progress->stage = 0;
      report(i, one, ours, theirs, out);
      if (options.only >= 0) return;
    }
  }

  void report(int64_t index, const Case& one, const Answer& ours, const Answer& theirs, FILE* out) const {
    const Difference difference = compare(ours, theirs);
    const Known* known = difference.kind.empty() || !difference.counts ? nullptr : explanation(one, difference);
    const bool compared = ours.outcome == Outcome::answered && theirs.outcome == Outcome::answered;
    std::string what = compared ? "same" : "both refuse";
    if (!difference.kind.empty())
      what = known ? fmt::format("known {}", known - known_differences().data()) : difference.kind;
    fmt::print(out, "{}\t{}\t{}\n", index, !difference.counts || difference.kind.empty() ? 0 : known ? 1 : 2, what);
    std::fflush(out);
    if (options.only < 0) return;
    fmt::print("{}{}\n{}\n", one.text(), difference.kind.empty() ? what : difference.kind, difference.detail);
    if (!compared)
      fmt::print("    ours: {}\n    peer: {}\n", ours.why, theirs.why);
    else
      for (size_t i = 0; i < ours.outputs.size(); ++i) fmt::print("    ours {}\n", tensor_text(ours.outputs[i], 48));
    if (known) fmt::print("    known: {}\n", known->sentence);
    std::fflush(stdout);
    if (!options.save.empty()) save(one, theirs);
  }

  /// The case as a folder that `nnex conform onnx` and `nnex run` take; the outputs are the peer's.
  void save(const Case& one, const Answer& theirs) const {
    const std::filesystem::path folder = options.save, data = folder / "test_data_set_0";
    std::filesystem::create_directories(data);
    const auto write = [](const std::filesystem::path& path, const std::string& bytes) {
      std::ofstream(path, std::ios::binary) << bytes;
    };
    write(folder / "model.onnx", one.model());
    int inputs = 0;
    for (const Given& g : one.given)
      if (!g.constant) write(data / fmt::format("input_{}.pb", inputs++), tensor_message(g.value, g.name));
    for (size_t i = 0; i < theirs.outputs.size(); ++i)
      write(data / fmt::format("output_{}.pb", i), tensor_message(theirs.outputs[i], one.outputs[i]));
  }
};

/// Cases by what came of them.
struct Tally {
  struct Class {
    int64_t count = 0;
    std::vector<int64_t> first;  ///< Some of them.
    int grade = 0;
  };
  std::map<std::pair<std::string, std::string>, Class> classes;  // operator, what

  void add(const Runner& runner, int64_t index, int grade, const std::string& what) {
    Class& c = classes[{std::string(runner.recipe(index).op), what}];
    if (c.count++ < 4) c.first.push_back(index);
    c.grade = grade;
  }
};

/// Reads the worker's lines until it ends; true when it has to be started again after the case it died of.
bool watch(const Runner& runner, pid_t worker, int from, Tally& tally, int64_t& next) {
  FILE* lines = fdopen(from, "r");
  char text[512];
  std::string rest;
  while (fgets(text, sizeof text, lines)) {
    rest += text;
    if (rest.back() != '\n') continue;
    rest.pop_back();
    const size_t one = rest.find('\t'), two = rest.find('\t', one + 1);
    next = std::atoll(rest.c_str()) + 1;
    tally.add(runner, next - 1, std::atoi(rest.c_str() + one + 1), rest.substr(two + 1));
    rest.clear();
  }
  fclose(lines);
  int status = 0;
  waitpid(worker, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return false;
  next = runner.progress->index + 1;
  const std::string how =
      WIFSIGNALED(status) ? (WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status))) : "exits";
  const int stage = runner.progress->stage;
  // The peer's end is no fault of ours, but the case remains to be told.
  tally.add(runner, next - 1, stage == 2 ? 1 : 2, fmt::format("{} dies: {}", kStages[stage], how));
  return true;
}

void run_all(const Runner& runner, const PeerLibrary& library, Tally& tally) {
  const double until = now() + runner.options.seconds;
  int64_t next = std::max<int64_t>(runner.options.only, 0);
  for (bool again = true; again && (now() < until || runner.options.only >= 0);) {
    int ends[2];
    if (pipe(ends) != 0) fail("no pipe can be had");
    std::fflush(stdout);
    const pid_t worker = fork();
    if (worker < 0) fail("no process can be had");
    if (worker == 0) {
      close(ends[0]);
      const rlimit memory{rlim_t(8) << 30, rlim_t(8) << 30}, core{0, 0};
      setrlimit(RLIMIT_AS, &memory);
      setrlimit(RLIMIT_CORE, &core);
      const Peer peer(library);
      FILE* out = fdopen(ends[1], "w");
      runner.work(next, runner.options.only >= 0 ? now() + 1e9 : until, peer, out);
      std::fflush(out);
      std::_Exit(0);
    }
    close(ends[1]);
    again = watch(runner, worker, ends[0], tally, next) && runner.options.only < 0;
  }
}

int summary(const Runner& runner, const Tally& tally) {
  std::map<std::string, int64_t> counts;
  std::map<int, int64_t> known;
  std::set<std::string> compared;
  int64_t cases = 0, unexplained = 0;
  for (const auto& [key, c] : tally.classes) {
    cases += c.count;
    if (key.second == "same") compared.insert(key.first);
    if (c.grade == 0) counts[key.second.substr(0, key.second.find(':'))] += c.count;
    if (c.grade == 1) counts["known differences"] += c.count;
    if (c.grade == 2) unexplained += c.count;
    const bool entry = key.second.rfind("known ", 0) == 0;
    if (entry) known[std::atoi(key.second.c_str() + 6)] += c.count;
    if (c.grade != 2 && key.second.find(" dies") == std::string::npos &&
        !(runner.options.verbose && key.second != "same"))
      continue;
    const std::string repeat = fmt::format("--seed {} --case {}{}", runner.options.seed, c.first[0],
                                           runner.options.op.empty() ? "" : " --operator " + runner.options.op);
    fmt::print("{}  {}: {} ({} times)\n    {}\n", c.grade == 2 ? "DIFFERS" : "       ", key.first, key.second, c.count,
               repeat);
    for (size_t i = 1; i < c.first.size(); ++i) fmt::print("{}{}", i == 1 ? "    also " : ", ", c.first[i]);
    if (c.first.size() > 1) fmt::print("\n");
    if (c.grade != 0 && !entry && key.second.rfind("the recipe", 0) != 0)
      fmt::print("{}", runner.made(c.first[0]).text());
  }
  std::string never;
  for (const Recipe* r : runner.recipes)
    if (!compared.count(std::string(r->op))) never += fmt::format(" {}", r->op);
  if (!never.empty() && runner.options.only < 0) fmt::print("never compared:{}\n", never);
  for (const auto& [entry, count] : known) {
    const Known& k = known_differences()[size_t(entry)];
    fmt::print("known    {} ({} times): {}\n", k.op, count, k.sentence);
  }
  fmt::print("{} cases of {} recipes, {} of them compared at least once;", cases, runner.recipes.size(),
             compared.size());
  for (const auto& [what, count] : counts) fmt::print(" {}: {};", what, count);
  fmt::print(" unexplained: {}\n", unexplained);
  return unexplained ? 1 : 0;
}

/// Operators of the table that stand in no model of the first hundred of each recipe.
void list_missing(const Runner& runner) {
  std::set<std::string> made, missing;
  for (const Recipe* recipe : runner.recipes)
    for (uint64_t seed = 0; seed < 100; ++seed)
      for (const ModelNode& node : make_case(*recipe, seed).nodes) made.insert(node.op);
  for (const OpDef* op : all_ops())
    for (const Spelling& s : op->spelled)
      if (s.format == Format::onnx && !made.count(std::string(s.name))) missing.insert(std::string(s.name));
  fmt::print("{} recipes make {} operators; the table has besides:", runner.recipes.size(), made.size());
  for (const std::string& name : missing) fmt::print(" {}", name);
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Runner runner{options, {}, nullptr};
  for (const Recipe* recipe : all_recipes())
    if (options.op.empty() || recipe->op == options.op) runner.recipes.push_back(recipe);
  if (options.list) return list_missing(runner), 0;
  if (runner.recipes.empty()) fail(fmt::format("no recipe makes '{}'", options.op));
  std::string missing;
  const PeerLibrary library(missing);
  if (!missing.empty()) {
    fmt::print("skipped: {}\n", missing);
    return 77;
  }
  void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail("no shared memory can be had");
  runner.progress = new (shared) Progress{};
  Tally tally;
  run_all(runner, library, tally);
  return summary(runner, tally);
}
