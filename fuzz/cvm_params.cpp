// Reads whatever bytes come as a CVM params file. What reads must be written and read back to the same bytes.

#include <cstdlib>

#include "formats/cvm/params.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex;
  auto params = cvm_format::read_params({reinterpret_cast<const char*>(data), size}, nullptr);
  if (!params.ok()) return 0;
  const std::string bytes = cvm_format::write_params(*params);
  auto back = cvm_format::read_params(bytes, nullptr);
  if (!back.ok() || cvm_format::write_params(*back) != bytes) std::abort();
  return 0;
}
