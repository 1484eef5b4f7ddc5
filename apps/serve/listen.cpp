#include "serve/listen.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "shared/try.h"

namespace nnex::serve {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr int kFirstFile = 3;  // that systemd hands over

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// "127.0.0.1:8000", "[::1]:8000"
std::string text_of(const std::string& host, int port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

Error cannot_listen(const std::string& where, std::string_view why) {
  return Error(Code::unreadable, fmt::format("cannot listen on {}: {}", where, why));
}

Result<Address> address_of(const std::string& host, int port) {
  Address out;
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const int fault = ::getaddrinfo(host.c_str(), fmt::to_string(port).c_str(), &hints, &found);
  if (fault != 0) return cannot_listen(text_of(host, port), ::gai_strerror(fault));
  std::memcpy(&out.storage, found->ai_addr, found->ai_addrlen);
  out.length = found->ai_addrlen;
  ::freeaddrinfo(found);
  return out;
}

Result<Address> address_of(const std::string& path) {
  Address out;
  auto& to = reinterpret_cast<sockaddr_un&>(out.storage);
  if (path.empty() || path.size() >= sizeof to.sun_path)
    return cannot_listen(fmt::format("{}{}", kUnix, path),
                         fmt::format("the path has {} bytes; needed 1 to {}", path.size(), sizeof to.sun_path - 1));
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, path.data(), path.size());
  out.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return out;
}

int socket_for(const Address& address) {
  return ::socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/// Whether it is what a server left behind that ended without removing it.
bool is_left(const Address& address) {
  const int fd = socket_for(address);
  const bool left = fd >= 0 && ::connect(fd, address.get(), address.length) != 0 && errno == ECONNREFUSED;
  if (fd >= 0) ::close(fd);
  return left;
}

/// The socket that systemd opened for this process; -1: none.
Result<int> handed_over() {
  const char *count = std::getenv("LISTEN_FDS"), *pid = std::getenv("LISTEN_PID");
  if (!count || !pid || std::string_view(pid) != fmt::to_string(::getpid())) return -1;
  if (std::string_view(count) != "1")
    return cannot_listen("what systemd opened", fmt::format("LISTEN_FDS is {}; needed one socket", count));
  ::fcntl(kFirstFile, F_SETFD, FD_CLOEXEC);
  ::fcntl(kFirstFile, F_SETFL, ::fcntl(kFirstFile, F_GETFL) | O_NONBLOCK);
  return kFirstFile;
}

}  // namespace

std::string address_text(const sockaddr* address, socklen_t length) {
  if (address->sa_family == AF_UNIX) {
    const auto* named = reinterpret_cast<const sockaddr_un*>(address);
    const size_t room = length > offsetof(sockaddr_un, sun_path) ? length - offsetof(sockaddr_un, sun_path) : 0;
    const std::string path(named->sun_path, ::strnlen(named->sun_path, room));
    return path.empty() ? "unix" : fmt::format("{}{}", kUnix, path);
  }
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getnameinfo(address, length, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "?";
  return address->sa_family == AF_INET6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

namespace {

/// `path`: of a socket in a folder; empty: it is on a port.
Result<Listening> listening_at(const Address& address, const std::string& where, const std::string& path) {
  Listening out;
  out.fd = socket_for(address);
  const int yes = 1;
  if (path.empty()) {
    (void)::setsockopt(out.fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    (void)::setsockopt(out.fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  }
  const auto bound = [&] { return ::bind(out.fd, address.get(), address.length) == 0; };
  bool good = bound();
  if (!good && !path.empty() && errno == EADDRINUSE && is_left(address)) {
    ::unlink(path.c_str());
    good = bound();
  }
  if (!good || ::listen(out.fd, SOMAXCONN) != 0) {
    const int fault = errno;
    if (out.fd >= 0) ::close(out.fd);
    return cannot_listen(where, std::strerror(fault));
  }
  out.path = path;
  return out;
}

/// Of a socket that listens, as it is by now: a free port has its number.
Result<Listening> with_address(Listening out) {
  Address address;
  address.length = sizeof address.storage;
  if (::getsockname(out.fd, reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0)
    return cannot_listen("what systemd opened", std::strerror(errno));
  out.address = address_text(address.get(), address.length);
  return out;
}

}  // namespace

Result<Listening> listen_on_port(const std::string& host, int port) {
  NNEX_ASSIGN(const Address address, address_of(host, port));
  NNEX_ASSIGN(Listening out, listening_at(address, text_of(host, port), {}));
  return with_address(std::move(out));
}

Result<Listening> listen_on(const std::string& host, int port) {
  Listening out;
  NNEX_ASSIGN(out.fd, handed_over());
  if (out.fd >= 0) return with_address(std::move(out));
  if (!host.starts_with(kUnix)) return listen_on_port(host, port);
  const std::string path = host.substr(kUnix.size());
  NNEX_ASSIGN(const Address address, address_of(path));
  NNEX_ASSIGN(out, listening_at(address, host, path));
  return with_address(std::move(out));
}

}  // namespace nnex::serve
