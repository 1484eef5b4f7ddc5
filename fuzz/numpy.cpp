// Reads whatever bytes come as an array or an archive of arrays: what reads is written back as the same array.

#include "api/numpy.h"

#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ContainerLimits limits;
  limits.entries = 1000;
  limits.grows_freely = size_t{1} << 20;
  (void)read_npz("fuzz", bytes, limits).ok();
  auto read = read_npy(bytes);
  if (!read.ok() || read->dtype() == DType::str) return 0;
  auto written = npy_bytes(*read, "fuzz");
  if (!written.ok()) std::abort();
  auto back = read_npy(*written);
  if (!back.ok() || back->dtype() != read->dtype() || !(back->shape() == read->shape())) std::abort();
  if (read->bytes() > 0 && std::memcmp(back->data(), read->data(), static_cast<size_t>(read->bytes())) != 0)
    std::abort();
  return 0;
}
