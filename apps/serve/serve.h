#pragma once
// A server of models by the Open Inference Protocol over HTTP.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nnex/model.h"

namespace nnex::serve {

struct Options {
  std::vector<std::string> paths, named;  ///< Models and folders of models; "NAME=PATH".
  int versions = 1;                       ///< Of each model as many, the highest; 0: all.
  LoadOptions load;
  std::string settings_file;  ///< Of single models; empty: all are served alike.
  int64_t total_memory = 0;   ///< Bytes of all models, and of what requests and responses may hold; 0: any number.

  std::string host = "127.0.0.1";
  int port = 8000;               ///< 0: a free one.
  std::optional<int> grpc_port;  ///< The same over gRPC; 0: a free one.
  int connections = 4096;
  std::chrono::microseconds client_timeout{10'000'000};  ///< How long a client may stall.
  int64_t client_rate = 1024;                            ///< Bytes a second of one that does not; 0: any.
  std::chrono::microseconds idle_timeout{75'000'000};    ///< Between two requests of a connection.
  std::string key_file;                                  ///< Empty: everybody is answered.

  bool model_control = true;         ///< Whether requests load and unload models.
  std::string control_key_file;      ///< Keys of those; empty: as for other requests.
  std::vector<std::string> origins;  ///< Of web pages that may ask; "*": of all.
  std::vector<std::string> hosts;    ///< Names of which requests may be, beside addresses; none: all.

  int instances = 1, threads = 0;  ///< Of each model; of each instance.
  int64_t max_batch = 8;
  std::chrono::microseconds batch_delay{0};
  int64_t queue = 1024;                                 ///< Requests of a model that may wait.
  int64_t queue_bytes = int64_t{512} << 20;             ///< Bytes that requests and responses may hold together.
  int64_t request_limit = int64_t{64} << 20;            ///< Bytes of one body.
  std::chrono::microseconds timeout{60'000'000};        ///< Of a request, at most.
  std::chrono::microseconds drain_delay{1'000'000};     ///< From "not ready" until no connection is taken (SIGTERM).
  std::chrono::microseconds drain_timeout{30'000'000};  ///< For what is in flight then.

  bool compress = false;  ///< Answers, for clients that take them so.

  bool json_log = false, log_requests = false;
  std::string otlp;  ///< "http://127.0.0.1:4318": a collector of OpenTelemetry that gets a span of each request.
};

/// Whether this build has the server: it needs libevent.
bool available();

/// Serves until SIGTERM or SIGINT, then answers what it has taken. SIGHUP loads all models and keys again. It listens
/// first and loads then; once all is loaded it prints "nnex: serving on http://HOST:PORT". true: all requests were
/// answered; false: some were cut at the end. With json_log an error is the log's last line, too. Errors: those of
/// loading; unreadable (the address cannot be had), unsupported (no such build).
Result<bool> serve(const Options& options);

}  // namespace nnex::serve
