#include "serve/grpc/door.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace nnex::serve {
namespace {

constexpr int kPause_ms = 50;  // until connections are taken again where there was no file for one

bool watch(int epoll, int operation, int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return ::epoll_ctl(epoll, operation, fd, &event) == 0;
}

}  // namespace

Door::~Door() {
  close();
  for (const int fd : connections_) ::close(fd);
  for (const int fd : {listener_, watched_, stop_})
    if (fd >= 0) ::close(fd);
}

bool Door::open(Acceptor acceptor) {
  acceptor_ = std::move(acceptor);
  watched_ = ::epoll_create1(EPOLL_CLOEXEC);
  stop_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (watched_ < 0 || stop_ < 0 || !watch(watched_, EPOLL_CTL_ADD, listener_, EPOLLIN) ||
      !watch(watched_, EPOLL_CTL_ADD, stop_, EPOLLIN))
    return false;
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void Door::close() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof one);
  thread_.join();
}

void Door::serve() {
  std::array<epoll_event, 64> events{};
  while (true) {
    const int n = ::epoll_wait(watched_, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < n; ++i) {
      const int fd = events[static_cast<size_t>(i)].data.fd;
      if (fd == stop_) return;
      if (fd == listener_)
        accept();
      else
        forget(fd);
    }
  }
}

/// One that is over the limit is closed at once, so that its client knows: gRPC's ask again, here or elsewhere.
void Door::accept() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      std::this_thread::sleep_for(std::chrono::milliseconds(kPause_ms));  // it waits with the system
    return;
  }
  const bool full = connections_.size() >= static_cast<size_t>(limit_);
  const int second = full ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (second < 0 || !watch(watched_, EPOLL_CTL_ADD, second, EPOLLET)) {
    if (second >= 0) ::close(second);
    ::close(fd);
    return backend_.connection(GrpcBackend::Connection::refused);
  }
  const int yes = 1;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  connections_.insert(second);
  backend_.connection(GrpcBackend::Connection::opened);
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.listener_fd = listener_;
  connection.fd = fd;
  acceptor_->HandleNewConnection(&connection);
}

/// gRPC shut it down, or it broke.
void Door::forget(int connection) {
  if (connections_.erase(connection) == 0) return;
  ::close(connection);
  backend_.connection(GrpcBackend::Connection::closed);
}

}  // namespace nnex::serve
