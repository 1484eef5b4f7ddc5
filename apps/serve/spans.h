#pragma once
// Spans of requests for a collector of OpenTelemetry: recorded without waiting, sent by a thread of their own.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "serve/metrics.h"
#include "serve/scheduler.h"

namespace nnex::serve {

/// A client's traceparent and tracestate (W3C Trace Context, level 1).
struct TraceParent {
  std::string trace_id, span_id;  ///< 32 and 16 hexadecimal digits.
  uint8_t flags = 1;
  std::string state;

  bool sampled() const { return flags & 1; }
};

/// Nothing where it is none: other versions, zeros or capitals.
std::optional<TraceParent> read_traceparent(std::string_view text);

/// What a request's span tells. The engine's part is there for inferences that reached it.
struct RequestSpan {
  std::optional<TraceParent> parent;  ///< Nothing: the request begins a trace.
  std::string method, path, peer;
  bool grpc = false;
  int status = 0;
  Clock::time_point arrived, answered;
  std::optional<Clock::time_point> submitted;  ///< When it came into its model's queue.
  Clock::duration queued{}, running{};
  int64_t batch_rows = 0;
  std::string trace_id;  ///< Of a trace that the request begins, where it is known already.
};

/// Takes spans as requests end; a bounded queue, which drops what nobody fetches.
class Spans {
 public:
  static constexpr size_t kQueue = 4096, kBatch = 512;
  enum class Sent : uint8_t {
    yes,
    later,  ///< The collector is away or busy: the same again.
    never   ///< It refuses them.
  };
  /// Sends a message of OTLP (JSON), waiting for the answer; called by the thread of this.
  using Send = std::function<Sent(const std::string& body)>;

  /// `instance` names this server among its replicas. `pause`: between two messages, and before one is sent again.
  Spans(Send send, std::string instance, Metrics& metrics, std::chrono::milliseconds pause = std::chrono::seconds(1));
  /// Sends what is queued, each message once.
  ~Spans();
  Spans(const Spans&) = delete;
  Spans& operator=(const Spans&) = delete;

  void add(RequestSpan span);
  /// Of a trace that begins here. Any thread may ask.
  std::string new_trace_id() { return new_id(32); }

 private:
  struct Recorded {
    RequestSpan span;
    std::chrono::system_clock::time_point answered;
  };
  void work();
  bool deliver(const std::vector<Recorded>& batch);
  bool wait();
  bool ending();
  std::string message_of(const std::vector<Recorded>& batch);
  std::string new_id(size_t digits);

  Send send_;
  std::string instance_;
  Metrics& metrics_;
  std::chrono::milliseconds pause_;
  std::atomic<uint64_t> ids_;  // the state of a generator of ids
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ends_ = false;
  std::vector<Recorded> queue_;
  std::thread thread_;
};

/// Sends to a collector by HTTP: "http://127.0.0.1:4318", with /v1/traces where the URL has no path. Errors:
/// invalid_argument (no such URL).
Result<Spans::Send> otlp_over_http(const std::string& url);

}  // namespace nnex::serve
