#pragma once
// Connections for a server of gRPC, as many as there may be: gRPC's own listener takes any number of them, and listens
// no more once the process has no file left for one.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <thread>
#include <unordered_set>

#include "serve/grpc/front.h"

namespace nnex::serve {

class Door {
 public:
  using Acceptor = std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>;

  /// Takes over the socket, which listens already. `open()` begins.
  Door(int listener, int limit, GrpcBackend& backend) : listener_(listener), limit_(limit), backend_(backend) {}
  /// close()
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  /// Hands over what comes from now on. Whether it does: false where the system has no file or thread for it.
  bool open(Acceptor acceptor);
  /// Takes no connection any more. Those that were taken are gRPC's.
  void close();

 private:
  void serve();
  void accept();
  void forget(int connection);

  int listener_ = -1, limit_, watched_ = -1, stop_ = -1;  // watched_: epoll
  GrpcBackend& backend_;
  Acceptor acceptor_;
  std::unordered_set<int> connections_;  // a second number for each, since gRPC does not tell when it is done with one
  std::thread thread_;
};

}  // namespace nnex::serve
