#pragma once
// What systemd is told of a service (sd_notify).

#include <string>
#include <string_view>

namespace nnex::serve {

/// Sends a state ("READY=1") to the socket that NOTIFY_SOCKET names. Nothing happens where it names none.
void notify(std::string_view state);

/// The state of a service that loads everything again, until it is ready.
std::string reloading();

}  // namespace nnex::serve
