#pragma once
// Counters of a server in Prometheus' text format.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nnex::serve {

/// Observations counted by upper bounds, and their sum.
class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}
  void observe(double x);
  /// Lines of the series, labels included: `labels` is text without braces.
  void print(std::string& out, const std::string& name, const std::string& labels) const;
  uint64_t count() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::span<const double> bounds_;
  std::vector<std::atomic<uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

/// How often something was done, and how long it took altogether.
struct Tally {
  std::atomic<uint64_t> count{0}, ns{0};
  void add(std::chrono::steady_clock::duration time);
};

/// What is counted of one version of a model. It outlives a reload.
struct ModelMetrics {
  const std::string labels;  ///< model="m",version="1"
  ModelMetrics(const std::string& model, const std::string& version);

  /// Statuses of answered requests; those that are no such number are counted as 500.
  static constexpr std::array kStatuses = {200, 400, 408, 411, 413, 415, 429, 499, 500, 501, 503, 504};
  std::array<std::atomic<uint64_t>, kStatuses.size()> answered{};
  /// `time`: from its arrival.
  void count(int status, std::chrono::steady_clock::duration time);

  Histogram latency, queued, running;  ///< Seconds: from arrival to answer, waiting, in the engine.
  Histogram batch_rows;                ///< Rows of one run.
  Tally failed;                        ///< Requests that were answered otherwise than 200.
  Tally waited, computed;              ///< Of those that were: in the queue; in the runs that they shared with others.
  std::atomic<uint64_t> rows{0};       ///< Of theirs.
  /// A run that succeeded.
  void ran(int64_t batch_rows, std::chrono::steady_clock::duration time);
  /// Runs that succeeded, and by rows; of more different numbers than there is room for, those that came first.
  Tally runs;
  std::map<int64_t, std::pair<uint64_t, uint64_t>> runs_by_rows() const;  ///< Rows to count and nanoseconds.
  std::atomic<int64_t> waiting{0}, in_flight{0};
  std::atomic<int64_t> last_ms{0};  ///< When the last one was answered: milliseconds since 1970.
  std::atomic<uint64_t> loads{0}, failed_loads{0};
  std::atomic<bool> ready{false};

 private:
  mutable std::mutex mutex_;
  std::map<int64_t, std::pair<uint64_t, uint64_t>> by_rows_;
};

/// All counters of a server. Those of models are of what its repositories hold.
class Metrics {
 public:
  std::shared_ptr<ModelMetrics> of(const std::string& model, const std::string& version);
  /// The model has these versions by now; what was counted of others is told no more.
  void keep(const std::string& model, const std::set<std::string>& versions);

  std::atomic<uint64_t> requests{0};  ///< HTTP requests that were read whole.
  std::atomic<uint64_t> refused{0};   ///< Requests that were no HTTP, or over a limit.
  static constexpr int kStatuses = 600;
  std::array<std::atomic<uint64_t>, kStatuses> answered{};       ///< HTTP requests, by the status of the answer.
  std::array<std::atomic<uint64_t>, kStatuses> grpc_answered{};  ///< Calls of gRPC, by the status that HTTP would have.
  std::atomic<uint64_t> cut{0};                                  ///< Connections ended because the client was too slow.
  std::atomic<uint64_t> gone{0};                                 ///< Clients that left before their answer.
  std::atomic<uint64_t> accepted{0};                             ///< Connections.
  std::atomic<int64_t> connections{0};                           ///< Open ones.
  std::atomic<uint64_t> grpc_accepted{0};                        ///< The same over gRPC.
  std::atomic<int64_t> grpc_connections{0};
  std::atomic<uint64_t> grpc_turned_away{0};            ///< Connections closed since there were as many as may be.
  std::atomic<uint64_t> spans_sent{0};                  ///< To a collector of traces.
  std::atomic<uint64_t> spans_dropped{0};               ///< That no collector took.
  std::atomic<uint64_t> log_lost{0};                    ///< Lines of the log.
  std::atomic<uint64_t> reloads{0}, failed_reloads{0};  ///< On SIGHUP; of them those that did not do it all.
  std::atomic<int64_t> held_bytes{0}, held_limit{0};
  std::atomic<bool> draining{false}, last_reload_failed{false};

  /// The exposition, version 0.0.4 of the text format.
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<ModelMetrics>> models_;
};

}  // namespace nnex::serve
