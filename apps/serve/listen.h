#pragma once
// The socket on which connections come.

#include <sys/socket.h>

#include <string>

#include "nnex/result.h"

namespace nnex::serve {

struct Listening {
  int fd = -1;
  std::string address;  ///< As address_text() has it.
  std::string path;     ///< Of a socket in a folder, which is removed at the end; empty: it is none, or not ours.
};

/// Listens on a port of a host, or on "unix:PATH", or on what systemd opened (LISTEN_FDS), whatever host and port are.
/// A socket of that path to which nobody listens is replaced. Error: unreadable (the address cannot be had).
Result<Listening> listen_on(const std::string& host, int port);
/// The same on a port of a host alone.
Result<Listening> listen_on_port(const std::string& host, int port);

/// "127.0.0.1:8000", "[::1]:8000", "unix:/run/nnex.sock"; "unix" for one without a name.
std::string address_text(const sockaddr* address, socklen_t length);

}  // namespace nnex::serve
