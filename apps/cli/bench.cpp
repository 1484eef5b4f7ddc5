// nnex bench and nnex profile: how long, and where.

#include <sys/resource.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/mapped_file.h"
#include "cli.h"
#include "numbers.h"

namespace nnex::cli {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The model's own test_data_set_0 where it lies beside it, else seeded random numbers.
Result<std::vector<Value>> inputs_of(const Model& model, const std::string& path) {
  std::vector<Value> out;
  const auto folder = std::filesystem::path(path).parent_path() / "test_data_set_0";
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const auto file = folder / fmt::format("input_{}.pb", i);
    std::error_code error;
    auto v = std::filesystem::exists(file, error) ? read_input(file.string(), model.inputs()[i], {})
                                                  : random_input(model.inputs()[i], i + 1, {}, 1, bits_of(model));
    if (!v.ok()) return std::move(v).error();
    out.push_back(std::move(v).value());
  }
  return out;
}

double percentile(const std::vector<double>& sorted, double p) {
  return sorted[static_cast<size_t>(p * static_cast<double>(sorted.size() - 1) + 0.5)];
}

struct Options {
  ModelOptions model;
  double seconds = 2;
  bool json = false;
  std::string trace;
};

int bench(const Options& o) {
  const auto start = Clock::now();
  auto model = o.model.load();
  if (!model.ok()) return report(model.error());
  const double load_ms = ms_since(start);
  auto inputs = inputs_of(*model, o.model.path);
  if (!inputs.ok()) return report(inputs.error());
  SessionOptions options;
  options.threads = o.model.threads;
  Session session = model->session(options);
  std::vector<double> times;
  const auto first = Clock::now();
  if (auto r = session.run(*inputs); !r.ok()) return report(r.error());
  const double first_ms = ms_since(first);
  // Warm-up ends when a run is no faster than the best so far three times in a row.
  double best = first_ms;
  for (int calm = 0, runs = 0; calm < 3 && runs < 50 && ms_since(first) < o.seconds * 500; ++runs) {
    const auto t = Clock::now();
    if (auto r = session.run(*inputs); !r.ok()) return report(r.error());
    const double ms = ms_since(t);
    calm = ms < best * 0.98 ? 0 : calm + 1;
    best = std::min(best, ms);
  }
  const auto begin = Clock::now();
  while (times.size() < 5 || (ms_since(begin) < o.seconds * 1000 && times.size() < 1'000'000)) {
    const auto t = Clock::now();
    if (auto r = session.run(*inputs); !r.ok()) return report(r.error());
    times.push_back(ms_since(t));
    if (ms_since(begin) > 60'000) break;
  }
  std::sort(times.begin(), times.end());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  Json j = {{"schema", "nnex.bench/1"},
            {"model", o.model.path},
            {"threads", o.model.threads},
            {"runs", times.size()},
            {"median_ms", percentile(times, 0.5)},
            {"min_ms", times.front()},
            {"p90_ms", percentile(times, 0.9)},
            {"p99_ms", percentile(times, 0.99)},
            {"load_ms", load_ms},
            {"first_ms", first_ms},
            {"peak_rss_mb", static_cast<double>(usage.ru_maxrss) / 1024},
            {"packed_mb", static_cast<double>(model->packed_memory()) / 1048576},
            {"activation_mb", static_cast<double>(session.memory()) / 1048576}};
  if (o.json) {
    fmt::print("{}\n", j.dump());
    return kOk;
  }
  fmt::print(
      "{}\n  median {:.4f} ms   p90 {:.4f}   p99 {:.4f}   ({} runs)\n  load {:.2f} ms   first answer {:.2f} ms   peak "
      "memory {:.1f} MiB, packed constants {:.1f}, activations {:.1f}\n",
      o.model.path, percentile(times, 0.5), percentile(times, 0.9), percentile(times, 0.99), times.size(), load_ms,
      first_ms, static_cast<double>(usage.ru_maxrss) / 1024, static_cast<double>(model->packed_memory()) / 1048576,
      static_cast<double>(session.memory()) / 1048576);
  return kOk;
}

int profile(const Options& o) {
  auto model = o.model.load();
  if (!model.ok()) return report(model.error());
  auto inputs = inputs_of(*model, o.model.path);
  if (!inputs.ok()) return report(inputs.error());
  SessionOptions options;
  options.threads = o.model.threads;
  Session session = model->session(options);
  session.profile(true);
  std::vector<NodeTime> rows;
  int runs = 0;
  const auto begin = Clock::now();
  while (runs < 3 || (ms_since(begin) < o.seconds * 1000 && runs < 10000)) {
    if (auto r = session.run(*inputs); !r.ok()) return report(r.error());
    const auto& nodes = session.nodes();
    if (runs == 1) rows = nodes;
    if (runs > 1 && nodes.size() == rows.size())
      for (size_t i = 0; i < rows.size(); ++i) rows[i].us = std::min(rows[i].us, nodes[i].us);
    ++runs;
  }
  if (!o.trace.empty()) {
    Json events = Json::array();
    for (const NodeTime& n : session.nodes())
      events.push_back({{"name", n.place},
                        {"cat", n.op},
                        {"ph", "X"},
                        {"pid", 1},
                        {"tid", 1},
                        {"ts", n.start_us},
                        {"dur", n.us},
                        {"args", {{"kernel", n.kernel}}}});
    if (Status s =
            write_file(o.trace, Json{{"traceEvents", events}}.dump(1, ' ', false, Json::error_handler_t::replace));
        !s.ok())
      return report(s.error());
  }
  double total = 0;
  for (const NodeTime& n : rows) total += n.us;
  std::stable_sort(rows.begin(), rows.end(), [](const NodeTime& a, const NodeTime& b) { return a.us > b.us; });
  if (o.json) {
    Json j = {{"schema", "nnex.profile/1"}, {"runs", runs}, {"total_us", total}, {"nodes", Json::array()}};
    for (const NodeTime& n : rows)
      j["nodes"].push_back({{"place", n.place}, {"op", n.op}, {"kernel", n.kernel}, {"us", n.us}});
    fmt::print("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
    return kOk;
  }
  fmt::print("{:>10}  {:>6}  {:<18} {:<18} {}\n", "us", "%", "operator", "kernel", "where");
  for (const NodeTime& n : rows)
    fmt::print("{:>10.1f}  {:>6.1f}  {:<18} {:<18} {}\n", n.us, total > 0 ? 100 * n.us / total : 0, n.op, n.kernel,
               n.place);
  fmt::print("{:>10.1f}  the least of {} runs, node by node\n", total, runs);
  return kOk;
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("bench", "Time a model on its own test data, or on random inputs");
  auto o = std::make_shared<Options>();
  o->model.add_to(*verb);
  verb->add_option("--seconds", o->seconds, "How long to measure")->check(positive_number());
  verb->add_flag("--json", o->json, "Print a JSON object");
  verb->callback([o, &exit_code] { exit_code = bench(*o); });
}

void add_profile(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("profile", "Show where the time of a run goes, node by node");
  auto o = std::make_shared<Options>();
  o->model.add_to(*verb);
  verb->add_option("--seconds", o->seconds, "How long to measure")->check(positive_number());
  verb->add_option("--trace", o->trace, "Write the last run as a Chrome trace (JSON)");
  verb->add_flag("--json", o->json, "Print a JSON object");
  verb->callback([o, &exit_code] { exit_code = profile(*o); });
}

}  // namespace nnex::cli
