// nnex profile: where the time goes.

#include <algorithm>

#include "nnex/environment.h"
#include "timing.h"

namespace nnex::cli {
namespace {

struct ProfileArguments : TimingOptions {
  std::string trace;
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

std::string rate_text(const Reached& r) {
  if (r.gmacs >= 0.05) return fmt::format("{:.1f} GMAC/s", r.gmacs);
  return r.gbs >= 0.005 ? fmt::format("{:.2f} GB/s", r.gbs) : "";
}

void print_json(const Prepared& p, const Profile& measured, double total, const MachineLimits& limits) {
  Json j = {{"schema", "nnex.profile/1"}, {"inputs", inputs_json(p)}, {"threads", p.threads},
            {"runs", measured.runs},      {"total_us", total},        {"nodes", Json::array()}};
  j["limits"] = {
      {"f32_gmacs", limits.f32_gmacs}, {"i8_gmacs", limits.i8_gmacs}, {"memory_gb_per_second", limits.memory_gbs}};
  for (const Row& r : measured.rows)
    j["nodes"].push_back({{"place", r.node.place},
                          {"op", r.node.op},
                          {"kernel", r.node.kernel},
                          {"us", r.own_us},
                          {"us_with_blocks", r.node.us},
                          {"multiply_adds", r.node.multiply_adds},
                          {"bytes", r.node.bytes}});
  for (size_t i = 0; i < measured.rows.size(); ++i)
    if (const auto percent = reached(measured.rows[i], limits).percent) j["nodes"][i]["percent_of_limit"] = *percent;
  say("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
}

int profile(const ProfileArguments& o) {
  if (!o.trace.empty())
    if (Status s = may_write(o.trace, o.writing.existing()); !s.ok()) return report(s.error());
  std::optional<TimeLimit> limit(o.timeout);
  auto prepared = prepare(o, limit->run_options());
  if (!prepared.ok()) return limit->report(prepared.error());
  auto measured = measure(*prepared, o.seconds, limit->run_options());
  if (!measured.ok()) return limit->report(measured.error());
  limit.reset();
  const MachineLimits limits = measure_machine(prepared->threads);
  if (!o.trace.empty())
    if (Status s = write_trace(o.trace, prepared->session.nodes(), o.writing.existing()); !s.ok())
      return report(s.error());
  std::vector<Row>& rows = measured->rows;
  double total = 0;
  for (const Row& r : rows) total += r.own_us;
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.own_us > b.own_us; });
  if (o.json) {
    print_json(*prepared, *measured, total, limits);
    return kOk;
  }
  say("{:>10}  {:>6}  {:<18} {:<18} {:>14} {:>8}  {}\n", "us", "%", "operator", "kernel", "rate", "of limit", "where");
  for (const Row& r : rows) {
    const Reached rate = reached(r, limits);
    say("{:>10.1f}  {:>6.1f}  {:<18} {:<18} {:>14} {:>8}  {}\n", r.own_us, total > 0 ? 100 * r.own_us / total : 0,
        r.node.op, r.node.kernel, rate_text(rate), rate.percent ? fmt::format("{:.0f}%", *rate.percent) : "",
        r.node.place);
  }
  say("{:>10.1f}  the least of {} runs, node by node; a node with blocks without what ran in them\n", total,
      measured->runs);
  print_inputs(*prepared);
  say("  limits measured: {:.1f} GMAC/s of float32, {:.1f} of bytes, {:.1f} GB/s from memory\n", limits.f32_gmacs,
      limits.i8_gmacs, limits.memory_gbs);
  say("  {} thread{}\n", prepared->threads, prepared->threads == 1 ? "" : "s");
  return kOk;
}

}  // namespace

void add_profile(CommandLine& line) {
  auto o = std::make_shared<ProfileArguments>();
  Verb verb = line.verb("profile", "Show where the time of a run goes, node by node", [o] { return profile(*o); });
  o->add_to(verb);
  verb.option("--trace", o->trace, "Write the last run as a Chrome trace (JSON)");
  o->writing.add_to(verb);
}

}  // namespace nnex::cli
