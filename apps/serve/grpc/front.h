#pragma once
// The protocol over gRPC: a library of its own, nnex-grpc.so, that the server opens when it is asked to, so that nobody
// else needs gRPC. What passes between the two is told here.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "nnex/result.h"
#include "serve/http.h"

namespace nnex::serve {

struct GrpcOptions {
  int listener = -1;                            ///< A socket that listens, which the server closes.
  std::string address;                          ///< "127.0.0.1:8001"
  int connections = 0;                          ///< At the same time; more are closed at once.
  int64_t request_limit = 0;                    ///< Bytes of one message.
  int64_t memory = 0;                           ///< Bytes that gRPC may hold for messages that come, as it counts them.
  std::chrono::microseconds client_timeout{0};  ///< How long a client may leave a question of the transport unanswered.
  std::chrono::microseconds idle_timeout{0};    ///< Of a connection without calls.
};

/// What answers: requests are those of the protocol over HTTP.
class GrpcBackend {
 public:
  virtual ~GrpcBackend() = default;
  /// `reply` is called exactly once, by any thread, before this returns perhaps. What is returned gives up waiting.
  virtual std::function<void()> ask(Request request, std::string peer, std::function<void(Response)> reply) = 0;
  /// A call was refused before it was asked: of the request no more than method and path need be there.
  virtual void refused(Request request, std::string peer, int status, const std::string& why) = 0;
  enum class Connection : uint8_t { opened, closed, refused };
  /// What became of a connection: one thread tells it.
  virtual void connection(Connection what) = 0;
};

/// The listening server.
class GrpcFront {
 public:
  virtual ~GrpcFront() = default;
  /// "127.0.0.1:8001"
  virtual std::string address() const = 0;
  /// What grpc.health.v1 says, of the server and of its service; false when it begins.
  virtual void set_ready(bool ready) = 0;
  /// Takes no more calls; those that are being answered have so long to end. Whether they did.
  virtual bool stop(std::chrono::microseconds time) = 0;
};

/// The only symbol of the library, "nnex_grpc_front": the server, or null and why there is none.
using MakeGrpcFront = GrpcFront*(GrpcBackend& backend, const GrpcOptions& options, std::string& error);

/// Opens nnex-grpc.so beside the program, or in ../lib/nnex of an installation, and listens on a port of a host (0: a
/// free one). Errors: unsupported (there is no such library), unreadable (the address cannot be had).
Result<std::unique_ptr<GrpcFront>> listen_grpc(GrpcBackend& backend, const std::string& host, int port,
                                               GrpcOptions options);

}  // namespace nnex::serve
