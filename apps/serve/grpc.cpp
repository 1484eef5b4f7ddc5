// Opens the library of gRPC.

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "serve/grpc/front.h"
#include "serve/listen.h"
#include "shared/try.h"

namespace nnex::serve {

Result<std::unique_ptr<GrpcFront>> listen_grpc(GrpcBackend& backend, const std::string& host, int port,
                                               GrpcOptions options) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::string why;
  for (const fs::path& path : {folder / "nnex-grpc.so", folder / "../lib/nnex/nnex-grpc.so"}) {
    if (!fs::exists(path, error)) continue;
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // for the life of the process
    auto* make = library ? reinterpret_cast<MakeGrpcFront*>(::dlsym(library, "nnex_grpc_front")) : nullptr;
    if (!make) {
      why = ::dlerror();
      continue;
    }
    NNEX_ASSIGN(const Listening listening, listen_on_port(host, port));
    options.listener = listening.fd;
    options.address = listening.address;
    std::unique_ptr<GrpcFront> front(make(backend, options, why));
    if (!front) return Error(Code::unreadable, fmt::format("cannot listen on {}: {}", listening.address, why));
    return front;
  }
  return Error(Code::unsupported,
               fmt::format("--grpc-port: {}", why.empty() ? "this build has no nnex-grpc.so (libgrpc++-dev and "
                                                            "protobuf-compiler-grpc when it is built)"
                                                          : why));
}

}  // namespace nnex::serve
