// A build without libevent has no server.

#include "serve/serve.h"

namespace nnex::serve {

bool available() { return false; }

Result<bool> serve(const Options&) {
  return Error(Code::unsupported, "this build has no server: it was made without libevent (Debian: libevent-dev)");
}

}  // namespace nnex::serve
