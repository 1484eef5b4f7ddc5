#include "serve/notify.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace nnex::serve {

void notify(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un to{};
  const size_t length = path ? std::strlen(path) : 0;
  if (length == 0 || length >= sizeof to.sun_path) return;
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, path, length);
  if (path[0] == '@') to.sun_path[0] = '\0';  // a name in no folder
  (void)::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
  ::close(fd);
}

std::string reloading() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return fmt::format("RELOADING=1\nMONOTONIC_USEC={}", int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000);
}

}  // namespace nnex::serve
