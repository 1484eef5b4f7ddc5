// nnex profile: where the time goes.

#include <algorithm>
#include <functional>
#include <map>
#include <span>

#include "nnex/environment.h"
#include "timing.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

struct ProfileArguments : TimingOptions {
  std::string trace;
  std::string by = "node";
  int top = 0;
  WritingOptions writing;
};

/// A node's time, and what of it is its own: not that of nodes in its blocks.
struct Row {
  NodeTime node;
  double own_us = 0;
};

/// Nodes come in the order in which they ended: those of a block before the one that owns it, and began after it.
std::vector<Row> rows_of(const std::vector<NodeTime>& nodes) {
  std::vector<Row> rows;
  std::vector<const NodeTime*> outermost;  // so far
  for (const NodeTime& n : nodes) {
    double inside = 0;
    for (; !outermost.empty() && outermost.back()->start_us >= n.start_us; outermost.pop_back())
      inside += outermost.back()->us;
    outermost.push_back(&n);
    rows.push_back({n, n.us - inside});
  }
  return rows;
}

Status write_trace(const std::string& path, const std::vector<NodeTime>& nodes, Existing existing) {
  Json events = Json::array();
  for (const NodeTime& n : nodes)
    events.push_back({{"name", n.place},
                      {"cat", n.op},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", n.start_us},
                      {"dur", n.us},
                      {"args", {{"kernel", n.kernel}}}});
  return write_file(path, Json{{"traceEvents", events}}.dump(1, ' ', false, Json::error_handler_t::replace), existing);
}

/// The least times of all runs but the first, row by row.
struct Profile {
  std::vector<Row> rows;
  int runs = 0;
};
Result<Profile> measure(Prepared& p, double seconds, const RunOptions& options) {
  Profile best;
  p.session.profile(true);
  const auto begin = Clock::now();
  while (best.runs < 2 || (ms_since(begin) < seconds * 1000 && best.runs < 10000)) {
    NNEX_TRY(p.session.reset_states());  // what is carried would grow
    if (auto r = p.session.run(p.inputs, options); !r.ok()) return std::move(r).error();
    std::vector<Row> now = rows_of(p.session.nodes());
    if (best.runs++ == 0) {
      best.rows = std::move(now);
      continue;
    }
    for (size_t i = 0; i < now.size() && now.size() == best.rows.size(); ++i) {
      best.rows[i].own_us = std::min(best.rows[i].own_us, now[i].own_us);
      best.rows[i].node.us = std::min(best.rows[i].node.us, now[i].node.us);
    }
  }
  return best;
}

/// What a node reached of what the machine can do.
struct Reached {
  double gmacs = 0, gbs = 0;
  std::optional<double> percent;  ///< Of the nearer limit; nothing where none is known.
};

Reached reached(const Row& r, const MachineLimits& limits) {
  Reached out;
  if (r.own_us <= 0) return out;
  const bool bytes = r.node.dtype == DType::i8 || r.node.dtype == DType::u8;
  const double per_second = 1e6 / r.own_us / 1e9;
  out.gmacs = static_cast<double>(r.node.multiply_adds) * per_second;
  out.gbs = static_cast<double>(r.node.bytes) * per_second;
  constexpr int64_t kInCaches = int64_t{4} << 20;  // tensors that may stay there: memory is no limit
  double share = 0;
  if (r.node.multiply_adds > 0) share = out.gmacs / std::max(bytes ? limits.i8_gmacs : limits.f32_gmacs, 1e-9);
  if (r.node.bytes >= kInCaches) share = std::max(share, out.gbs / std::max(limits.memory_gbs, 1e-9));
  if (share > 0) out.percent = 100 * share;
  return out;
}

/// The nodes that one kernel ran, together.
struct KernelTime {
  std::string kernel;
  size_t nodes = 0;
  double us = 0;
  int64_t multiply_adds = 0, bytes = 0;
};

/// The slowest first.
std::vector<KernelTime> by_kernel(const std::vector<Row>& rows) {
  std::map<std::string_view, KernelTime> found;
  for (const Row& r : rows) {
    KernelTime& k = found[r.node.kernel];
    k.kernel = r.node.kernel;
    ++k.nodes;
    k.us += r.own_us;
    k.multiply_adds += r.node.multiply_adds;
    k.bytes += r.node.bytes;
  }
  std::vector<KernelTime> out;
  for (auto& [name, k] : found) out.push_back(std::move(k));
  std::stable_sort(out.begin(), out.end(), [](const KernelTime& a, const KernelTime& b) { return a.us > b.us; });
  return out;
}

std::string rate_text(const Reached& r) {
  if (r.gmacs >= 0.05) return fmt::format("{:.1f} GMAC/s", r.gmacs);
  return r.gbs >= 0.005 ? fmt::format("{:.2f} GB/s", r.gbs) : "";
}

/// How many lines of a table are shown.
size_t shown_of(size_t lines, int top) { return top > 0 ? std::min(lines, static_cast<size_t>(top)) : lines; }

void print_json(const Prepared& p, const Profile& measured, double total, const MachineLimits& limits,
                const ProfileArguments& o) {
  Json j = {{"schema", "nnex.profile/1"}, {"inputs", inputs_json(p)}, {"threads", p.threads},
            {"runs", measured.runs},      {"total_us", total},        {"nodes", Json::array()}};
  j["limits"] = {
      {"f32_gmacs", limits.f32_gmacs}, {"i8_gmacs", limits.i8_gmacs}, {"memory_gb_per_second", limits.memory_gbs}};
  const size_t shown = o.by == "node" ? shown_of(measured.rows.size(), o.top) : measured.rows.size();
  for (size_t i = 0; i < shown; ++i) {
    const Row& r = measured.rows[i];
    j["nodes"].push_back({{"place", r.node.place},
                          {"op", r.node.op},
                          {"kernel", r.node.kernel},
                          {"us", r.own_us},
                          {"us_with_blocks", r.node.us},
                          {"multiply_adds", r.node.multiply_adds},
                          {"bytes", r.node.bytes}});
    if (const auto percent = reached(r, limits).percent) j["nodes"][i]["percent_of_limit"] = *percent;
  }
  if (o.by == "kernel") {
    std::vector<KernelTime> kernels = by_kernel(measured.rows);
    kernels.resize(shown_of(kernels.size(), o.top));
    j["kernels"] = Json::array();
    for (const KernelTime& k : kernels)
      j["kernels"].push_back({{"kernel", k.kernel},
                              {"nodes", k.nodes},
                              {"us", k.us},
                              {"multiply_adds", k.multiply_adds},
                              {"bytes", k.bytes}});
  }
  say("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
}

double percent_of(double total, double us) { return total > 0 ? 100 * us / total : 0; }

/// What stands for the lines that are not shown.
void print_rest(size_t left_out, const char* of, double us, double total) {
  if (left_out > 0)
    say("{:>10.1f}  {:>6.1f}  {} more {}{}\n", us, percent_of(total, us), left_out, of, left_out == 1 ? "" : "s");
}

void print_nodes(const std::vector<Row>& rows, double total, const MachineLimits& limits, int top) {
  say("{:>10}  {:>6}  {:<18} {:<18} {:>14} {:>8}  {}\n", "us", "%", "operator", "kernel", "rate", "of limit", "where");
  const size_t shown = shown_of(rows.size(), top);
  double rest = total;
  for (const Row& r : std::span(rows).first(shown)) {
    rest -= r.own_us;
    const Reached rate = reached(r, limits);
    say("{:>10.1f}  {:>6.1f}  {:<18} {:<18} {:>14} {:>8}  {}\n", r.own_us, percent_of(total, r.own_us),
        one_line(r.node.op), r.node.kernel, rate_text(rate), rate.percent ? fmt::format("{:.0f}%", *rate.percent) : "",
        one_line(r.node.place));
  }
  print_rest(rows.size() - shown, "node", rest, total);
}

void print_kernels(const std::vector<Row>& rows, double total, int top) {
  say("{:>10}  {:>6}  {:<18} {:>5} {:>14}\n", "us", "%", "kernel", "nodes", "rate");
  const std::vector<KernelTime> kernels = by_kernel(rows);
  const size_t shown = shown_of(kernels.size(), top);
  double rest = total;
  for (const KernelTime& k : std::span(kernels).first(shown)) {
    rest -= k.us;
    const double per_ns = k.us > 0 ? 1e-3 / k.us : 0;
    const Reached rate = {static_cast<double>(k.multiply_adds) * per_ns, static_cast<double>(k.bytes) * per_ns, {}};
    say("{:>10.1f}  {:>6.1f}  {:<18} {:>5} {:>14}\n", k.us, percent_of(total, k.us), k.kernel, k.nodes,
        rate_text(rate));
  }
  print_rest(kernels.size() - shown, "kernel", rest, total);
}

/// Half of what is measured before the runs, half behind them, as others may use the machine for a while.
MachineLimits better(MachineLimits a, const MachineLimits& b) {
  a.f32_gmacs = std::max(a.f32_gmacs, b.f32_gmacs);
  a.i8_gmacs = std::max(a.i8_gmacs, b.i8_gmacs);
  a.memory_gbs = std::max(a.memory_gbs, b.memory_gbs);
  return a;
}

bool passes(const std::vector<Row>& rows, const MachineLimits& limits) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& r) { return reached(r, limits).percent > 100.5; });
}

int profile(const ProfileArguments& o) {
  constexpr double kSeconds = 0.15;  // of each half
  if (o.trace == "-") return report(Error(Code::invalid_argument, "--trace '-': needed a file; the times go there"));
  if (!o.trace.empty())
    if (Status s = may_write(o.trace, o.writing.existing()); !s.ok()) return report(s.error());
  std::optional<TimeLimit> limit(o.timeout);
  auto prepared = prepare(o, limit->run_options());
  if (!prepared.ok()) return limit->report(prepared.error());
  const MachineLimits before = measure_machine(prepared->threads, kSeconds);
  auto measured = awaited("timing", [&] { return measure(*prepared, o.seconds, limit->run_options()); });
  if (!measured.ok()) return limit->report(measured.error());
  limit.reset();
  const MachineLimits limits = better(before, measure_machine(prepared->threads, kSeconds));
  if (!o.trace.empty())
    if (Status s = write_trace(o.trace, prepared->session.nodes(), o.writing.existing()); !s.ok())
      return report(s.error());
  std::vector<Row>& rows = measured->rows;
  double total = 0;
  for (const Row& r : rows) total += r.own_us;
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.own_us > b.own_us; });
  if (o.json) {
    print_json(*prepared, *measured, total, limits, o);
    return kOk;
  }
  o.by == "kernel" ? print_kernels(rows, total, o.top) : print_nodes(rows, total, limits, o.top);
  say("{:>10.1f}  the least of {} runs, node by node; a node with blocks without what ran in them\n", total,
      measured->runs);
  print_inputs(*prepared);
  say("  limits measured: {:.1f} GMAC/s of float32, {:.1f} of bytes, {:.1f} GB/s from memory\n", limits.f32_gmacs,
      limits.i8_gmacs, limits.memory_gbs);
  if (o.by == "node" && passes(rows, limits))
    say("  more than 100%: a convolution of Winograd's, or others used the machine while it was measured\n");
  say("  {} thread{}\n", prepared->threads, prepared->threads == 1 ? "" : "s");
  return kOk;
}

}  // namespace

void add_profile(CommandLine& line) {
  auto o = std::make_shared<ProfileArguments>();
  Verb verb = line.verb("profile", "Show where the time of a run goes, node by node", [o] { return profile(*o); });
  o->add_to(verb);
  verb.option("--by", o->by, "What a line is: node, or kernel for all nodes that one ran, together")
      .one_of({"node", "kernel"});
  verb.option("--top", o->top, "Lines of the slowest alone; 0: all").type("N").whole(0);
  verb.option("--trace", o->trace, "Write the last run as a Chrome trace (JSON)");
  o->writing.add_to(verb);
}

}  // namespace nnex::cli
