#include "serve/metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "nnex/environment.h"
#include "shared/json.h"

namespace nnex::serve {
namespace {

constexpr double kSeconds[] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                               0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
constexpr double kRows[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};

/// A label's value between its quotes. It is UTF-8, or whoever scrapes takes none of the metrics.
std::string escaped(const std::string& s) {
  std::string out;
  for (const char c :
       cli::Json::parse(cli::Json(s).dump(-1, ' ', false, cli::Json::error_handler_t::replace)).get<std::string>()) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

void describe(std::string& out, const char* name, const char* type, const char* help) {
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

template <class T>
void single(std::string& out, const char* name, const char* type, const char* help, T value) {
  describe(out, name, type, help);
  out += fmt::format("{} {}\n", name, value);
}

/// Bytes of this process: of its addresses, and those that are in memory; 0 where the system does not tell.
std::pair<int64_t, int64_t> memory_bytes() {
  long long all = 0, resident = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(f, "%lld %lld", &all, &resident) != 2) all = resident = 0;
    std::fclose(f);
  }
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  return {all * page, resident * page};
}

/// When this process began, in seconds since 1970.
double began() {
  unsigned long long ticks = 0;  // since the system began
  if (std::FILE* f = std::fopen("/proc/self/stat", "re")) {
    char text[1024];
    text[std::fread(text, 1, sizeof text - 1, f)] = '\0';
    std::fclose(f);
    const char* at = std::strrchr(text, ')');  // the program's name may have blanks
    if (!at || std::sscanf(at, ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                           &ticks) != 1)
      ticks = 0;
  }
  const auto now_of = [](clockid_t clock) {
    timespec t{};
    ::clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  const double up = static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return now_of(CLOCK_REALTIME) - (now_of(CLOCK_BOOTTIME) - up);
}

/// Open files.
int64_t files() {
  std::error_code error;
  int64_t n = -1;  // the folder itself is one
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end; at.increment(error))
    ++n;
  return std::max<int64_t>(0, n);
}

int64_t max_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int64_t>(limit.rlim_cur);
}

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

using Models = std::map<std::pair<std::string, std::string>, std::shared_ptr<ModelMetrics>>;

/// One series for each model and version.
template <class Value>
void each(std::string& out, const Models& models, const char* name, const char* type, const char* help, Value value) {
  describe(out, name, type, help);
  for (const auto& [key, m] : models) out += fmt::format("{}{{{}}} {}\n", name, m->labels, value(*m));
}

void histograms(std::string& out, const Models& models, const char* name, const char* help,
                Histogram ModelMetrics::*which) {
  describe(out, name, "histogram", help);
  for (const auto& [key, m] : models) ((*m).*which).print(out, name, m->labels);
}

}  // namespace

void Histogram::observe(double x) {
  const size_t at = static_cast<size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), x) - bounds_.begin());
  counts_[at].fetch_add(1, std::memory_order_relaxed);
  double sum = sum_.load(std::memory_order_relaxed);
  while (!sum_.compare_exchange_weak(sum, sum + x, std::memory_order_relaxed)) {
  }
}

void Histogram::print(std::string& out, const std::string& name, const std::string& labels) const {
  uint64_t below = 0;
  const auto line = [&](const std::string& bound) {
    out += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, bound, below);
  };
  for (size_t i = 0; i < bounds_.size(); ++i) {
    below += counts_[i].load(std::memory_order_relaxed);
    line(fmt::format("{}", bounds_[i]));
  }
  below += counts_.back().load(std::memory_order_relaxed);
  line("+Inf");
  out += fmt::format("{}_sum{{{}}} {}\n{}_count{{{}}} {}\n", name, labels, sum_.load(std::memory_order_relaxed), name,
                     labels, below);
}

uint64_t Histogram::count() const {
  uint64_t all = 0;
  for (const auto& n : counts_) all += n.load(std::memory_order_relaxed);
  return all;
}

ModelMetrics::ModelMetrics(const std::string& model, const std::string& version)
    : labels(fmt::format("model=\"{}\",version=\"{}\"", escaped(model), escaped(version))),
      latency(kSeconds),
      queued(kSeconds),
      running(kSeconds),
      batch_rows(kRows) {}

void Tally::add(std::chrono::steady_clock::duration time) {
  count.fetch_add(1, std::memory_order_relaxed);
  const auto its = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  ns.fetch_add(static_cast<uint64_t>(std::max<int64_t>(0, its)), std::memory_order_relaxed);
}

void ModelMetrics::ran(int64_t rows_of_run, std::chrono::steady_clock::duration time) {
  constexpr size_t kDifferent = 256;
  runs.add(time);
  const std::lock_guard lock(mutex_);
  const auto at = by_rows_.find(rows_of_run);
  if (at == by_rows_.end() && by_rows_.size() == kDifferent) return;
  auto& [count, ns] = at == by_rows_.end() ? by_rows_[rows_of_run] : at->second;
  ++count;
  ns += static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

std::map<int64_t, std::pair<uint64_t, uint64_t>> ModelMetrics::runs_by_rows() const {
  const std::lock_guard lock(mutex_);
  return by_rows_;
}

void ModelMetrics::count(int status, std::chrono::steady_clock::duration time) {
  if (status != 200) failed.add(time);
  auto at = std::find(kStatuses.begin(), kStatuses.end(), status);
  if (at == kStatuses.end()) at = std::find(kStatuses.begin(), kStatuses.end(), 500);
  answered[static_cast<size_t>(at - kStatuses.begin())].fetch_add(1, std::memory_order_relaxed);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  last_ms.store(std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), std::memory_order_relaxed);
}

std::shared_ptr<ModelMetrics> Metrics::of(const std::string& model, const std::string& version) {
  const std::lock_guard lock(mutex_);
  auto& slot = models_[{model, version}];
  if (!slot) slot = std::make_shared<ModelMetrics>(model, version);
  return slot;
}

void Metrics::keep(const std::string& model, const std::set<std::string>& versions) {
  const std::lock_guard lock(mutex_);
  std::erase_if(models_, [&](const auto& m) { return m.first.first == model && versions.count(m.first.second) == 0; });
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  describe(out, "nnex_build_info", "gauge", "The version of nnex, as a label.");
  out += fmt::format("nnex_build_info{{version=\"{}\",isa=\"{}\"}} 1\n", environment().version, environment().isa);
  single(out, "nnex_http_requests_total", "counter", "HTTP requests that were read whole.", requests.load());
  single(out, "nnex_http_refused_total", "counter", "Requests that were no HTTP, or over a limit.", refused.load());
  describe(out, "nnex_http_responses_total", "counter", "Answers over HTTP, by status.");
  for (int status = 0; status < kStatuses; ++status)
    if (const uint64_t n = answered[static_cast<size_t>(status)].load(); n > 0)
      out += fmt::format("nnex_http_responses_total{{code=\"{}\"}} {}\n", status, n);
  describe(out, "nnex_grpc_responses_total", "counter",
           "Answers to calls of gRPC, by the status that the answer has over HTTP.");
  for (int status = 0; status < kStatuses; ++status)
    if (const uint64_t n = grpc_answered[static_cast<size_t>(status)].load(); n > 0)
      out += fmt::format("nnex_grpc_responses_total{{code=\"{}\"}} {}\n", status, n);
  single(out, "nnex_http_clients_cut_total", "counter", "Connections ended because the client was too slow.",
         cut.load());
  single(out, "nnex_http_clients_gone_total", "counter", "Clients that left before their answer.", gone.load());
  single(out, "nnex_http_connections_total", "counter", "Connections accepted.", accepted.load());
  single(out, "nnex_http_connections", "gauge", "Connections that are open.", connections.load());
  single(out, "nnex_grpc_connections_total", "counter", "Connections accepted over gRPC.", grpc_accepted.load());
  single(out, "nnex_grpc_connections", "gauge", "Connections over gRPC that are open.", grpc_connections.load());
  single(out, "nnex_grpc_connections_refused_total", "counter",
         "Connections over gRPC closed at once, since there were as many as may be.", grpc_turned_away.load());
  single(out, "nnex_spans_sent_total", "counter", "Requests whose spans a collector of traces took.",
         spans_sent.load());
  single(out, "nnex_spans_dropped_total", "counter", "Requests whose spans no collector took.", spans_dropped.load());
  single(out, "nnex_log_lines_lost_total", "counter", "Lines of the log that nobody read in time.", log_lost.load());
  single(out, "nnex_reloads_total", "counter", "Reloads that SIGHUP asked for.", reloads.load());
  single(out, "nnex_reload_failures_total", "counter", "Reloads of which something could not be done.",
         failed_reloads.load());
  single(out, "nnex_last_reload_successful", "gauge", "1 unless something of the last reload could not be done.",
         last_reload_failed.load() ? 0 : 1);
  single(out, "nnex_held_bytes", "gauge", "Memory of requests and responses.", held_bytes.load());
  single(out, "nnex_held_limit_bytes", "gauge", "Memory that requests and responses may take.", held_limit.load());
  single(out, "nnex_draining", "gauge", "1 while the server ends.", draining.load() ? 1 : 0);

  describe(out, "nnex_inferences_total", "counter",
           "Requests for inference that were answered, by status; 499: the client left.");
  for (const auto& [key, m] : models_) {
    for (size_t i = 0; i < ModelMetrics::kStatuses.size(); ++i)
      out += fmt::format("nnex_inferences_total{{{},code=\"{}\"}} {}\n", m->labels, ModelMetrics::kStatuses[i],
                         m->answered[i].load());
  }
  histograms(out, models_, "nnex_inference_duration_seconds",
             "From a request's arrival to its answer, of those that were answered 200.", &ModelMetrics::latency);
  histograms(out, models_, "nnex_inference_queue_seconds", "Time that requests waited for an instance.",
             &ModelMetrics::queued);
  histograms(out, models_, "nnex_inference_run_seconds", "Time of runs of the engine.", &ModelMetrics::running);
  histograms(out, models_, "nnex_batch_rows", "Rows of runs of the engine.", &ModelMetrics::batch_rows);
  each(out, models_, "nnex_queue_requests", "gauge", "Requests that wait for an instance.",
       [](const ModelMetrics& m) { return m.waiting.load(); });
  each(out, models_, "nnex_inferences_in_flight", "gauge", "Requests that wait or run.",
       [](const ModelMetrics& m) { return m.in_flight.load(); });
  each(out, models_, "nnex_model_ready", "gauge", "1 where the version answers requests.",
       [](const ModelMetrics& m) { return m.ready.load() ? 1 : 0; });
  each(out, models_, "nnex_model_loads_total", "counter", "Times that the version was loaded.",
       [](const ModelMetrics& m) { return m.loads.load(); });
  each(out, models_, "nnex_model_load_failures_total", "counter", "Times that loading it failed.",
       [](const ModelMetrics& m) { return m.failed_loads.load(); });

  const auto [addresses, resident] = memory_bytes();
  single(out, "process_resident_memory_bytes", "gauge", "Memory of the process.", resident);
  single(out, "process_virtual_memory_bytes", "gauge", "Addresses of the process.", addresses);
  single(out, "process_cpu_seconds_total", "counter", "Processor time of the process.", processor_seconds());
  static const double began_at = began();  // the clock may be set meanwhile
  single(out, "process_start_time_seconds", "gauge", "When the process began, in seconds since 1970.",
         fmt::format("{:.2f}", began_at));
  single(out, "process_open_fds", "gauge", "Files and connections that are open.", files());
  single(out, "process_max_fds", "gauge", "As many may be.", max_files());
  return out;
}

}  // namespace nnex::serve
