#pragma once
// Connections, on one thread (libevent): bytes in, requests to the Api, answers out.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "serve/api.h"

namespace nnex::serve {

struct ServerOptions {
  std::string host;
  int port = 0;
  int connections = 4096;
  int files = 1;  ///< That there must be for each connection: other protocols may have as many.
  RequestLimits limits;
  std::chrono::microseconds client_timeout{10'000'000};
  int64_t client_rate = 1024;                          ///< Bytes a second of a client that does not stall; 0: any.
  std::chrono::microseconds idle_timeout{75'000'000};  ///< Between two requests of a connection.
  bool log_requests = false;                           ///< Those that do not get as far as the Api, too.
  std::chrono::microseconds drain_delay{0}, drain_timeout{30'000'000};
  std::function<void()> on_draining;  ///< Called when it begins to end.
};

class Server {
 public:
  /// Listens. Error: unreadable (the address cannot be had).
  static Result<std::unique_ptr<Server>> listen(const ServerOptions& options, Api& api, Metrics& metrics,
                                                Budget& budget, const Log& log);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// "127.0.0.1:8000", "unix:/run/nnex.sock"
  const std::string& address() const;
  /// Connections that it admits: fewer than it was to where there are not so many files.
  int connections() const;
  /// Serves until SIGTERM or SIGINT has been obeyed; `reload` is called on SIGHUP. Whether every request that was
  /// taken was answered. From then on SIGTERM and SIGINT do what they did before listen().
  bool run(const std::function<void()>& reload);
  /// Ends run(), now or when it begins, and answers nobody any more. Any thread may call it.
  void stop();
  /// Does it, unless a signal to end has come: then what it says would be no longer true. Any thread may call it.
  void unless_ending(const std::function<void()>& say);
  /// After run(): what is left of drain_timeout for others that end with this server.
  std::chrono::microseconds time_left() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace nnex::serve
