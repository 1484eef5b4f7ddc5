// Reads whatever bytes come as an archive: every file of it must lie in the bytes, and no name may leave it.

#include <cstdlib>
#include <string>

#include "standards/container.h"
#include "standards/tar.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ContainerLimits limits;
  limits.entries = 1000;
  limits.grows_freely = size_t{1} << 20;
  auto container = Container::from_bytes("fuzz", {bytes, nullptr}, limits);
  if (container.ok() && container->has("graph.nnef") && !container->read("graph.nnef").ok()) std::abort();
  auto files = read_tar(bytes, limits.entries);
  if (!files.ok()) return 0;
  for (const auto& [name, content] : *files) {
    if (name.empty() || name.front() == '/' || name == ".." || name.rfind("../", 0) == 0) std::abort();
    if (!content.empty() && (content.data() < bytes.data() || content.data() + content.size() > bytes.data() + size))
      std::abort();
  }
  return 0;
}
