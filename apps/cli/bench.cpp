// nnex bench: how long.

#include <sys/resource.h>

#include <algorithm>

#include "decode.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

double percentile(const std::vector<double>& sorted, double p) {
  return sorted[static_cast<size_t>(p * static_cast<double>(sorted.size() - 1) + 0.5)];
}

/// Milliseconds of one run, which begins with the states that the first had: what is carried would grow else.
Result<double> timed(Prepared& p, const RunOptions& options) {
  NNEX_TRY(p.session.reset_states());
  const auto start = Clock::now();
  if (auto r = p.session.run(p.inputs, options); !r.ok()) return std::move(r).error();
  return ms_since(start);
}

/// Times of runs in ascending order, after a warm-up, which ends when three runs in a row were no faster than the best
/// so far.
Result<std::vector<double>> times_of(Prepared& p, double seconds, const RunOptions& options) {
  double best = p.first_ms;
  const auto warm = Clock::now();
  for (int calm = 0, runs = 0; calm < 3 && runs < 50 && ms_since(warm) < seconds * 500; ++runs) {
    NNEX_ASSIGN(const double ms, timed(p, options));
    calm = ms < best * 0.98 ? 0 : calm + 1;
    best = std::min(best, ms);
  }
  std::vector<double> times;
  const auto begin = Clock::now();
  while (times.size() < 5 || (ms_since(begin) < seconds * 1000 && times.size() < 1'000'000)) {
    NNEX_ASSIGN(const double ms, timed(p, options));
    times.push_back(ms);
    if (ms_since(begin) > 60'000) break;
  }
  std::sort(times.begin(), times.end());
  return times;
}

struct BenchArguments : TimingOptions {
  DecodeOptions decode;
};

int bench(const BenchArguments& o) {
  if (o.decode.tokens > 0) return bench_decode(o, o.decode);
  const TimeLimit limit(o.timeout);
  auto prepared = prepare(o, limit.run_options());
  if (!prepared.ok()) return limit.report(prepared.error());
  const Prepared& p = *prepared;
  const auto measured = awaited("timing", [&] { return times_of(*prepared, o.seconds, limit.run_options()); });
  if (!measured.ok()) return limit.report(measured.error());
  const std::vector<double>& times = *measured;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double peak_mb = static_cast<double>(usage.ru_maxrss) / 1024,
               packed_mb = static_cast<double>(p.model.packed_memory()) / 1048576,
               activation_mb = static_cast<double>(p.session.memory()) / 1048576;
  if (o.json) {
    const Json j = {{"schema", "nnex.bench/1"},
                    {"model", o.model.path},
                    {"inputs", inputs_json(p)},
                    {"threads", p.threads},
                    {"runs", times.size()},
                    {"median_ms", percentile(times, 0.5)},
                    {"min_ms", times.front()},
                    {"p90_ms", percentile(times, 0.9)},
                    {"p99_ms", percentile(times, 0.99)},
                    {"load_ms", p.load_ms},
                    {"first_ms", p.first_ms},
                    {"peak_rss_mb", peak_mb},
                    {"packed_mb", packed_mb},
                    {"activation_mb", activation_mb}};
    say("{}\n", j.dump(-1, ' ', false, Json::error_handler_t::replace));
    return kOk;
  }
  say("{}\n", o.model.path);
  print_inputs(p);
  say("  median {:.4f} ms   p90 {:.4f}   p99 {:.4f}   ({} runs, {} thread{})\n  load {:.2f} ms   first answer {:.2f} "
      "ms "
      "  peak memory {:.1f} MiB, packed constants {:.1f}, activations {:.1f}\n",
      percentile(times, 0.5), percentile(times, 0.9), percentile(times, 0.99), times.size(), p.threads,
      p.threads == 1 ? "" : "s", p.load_ms, p.first_ms, peak_mb, packed_mb, activation_mb);
  return kOk;
}

}  // namespace

void add_bench(CommandLine& line) {
  auto o = std::make_shared<BenchArguments>();
  Verb verb = line.verb("bench", "Time a model on the inputs given, on the test data beside it, or on random numbers",
                        [o] { return bench(*o); });
  o->add_to(verb);
  o->decode.add_to(verb);
  const auto decodes = [o] { return o->decode.tokens > 0; };
  verb.only_where("--prompt", decodes, "no effect without --decode");
  const auto measures = [decodes] { return !decodes(); };
  verb.only_where("--input", measures, "no effect with --decode, whose tokens are random");
  verb.only_where("--seconds", measures, "no effect with --decode, which counts tokens");
}

}  // namespace nnex::cli
