// Reads whatever bytes come as a CVM params file. What reads must be written and read back to the same bytes.

#include <cstdlib>

#include "base/try.h"
#include "standards/cvm/read_params.h"

namespace {

using namespace nnex;

Result<std::vector<cvm_format::Param>> read(std::string_view bytes) {
  NNEX_ASSIGN(cvm_format::ParamReader file, cvm_format::ParamReader::open(bytes, nullptr));
  std::vector<cvm_format::Param> out;
  while (!file.at_end()) {
    NNEX_ASSIGN(cvm_format::Param p, file.next());
    out.push_back(std::move(p));
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto params = read({reinterpret_cast<const char*>(data), size});
  if (!params.ok()) return 0;
  const std::string bytes = cvm_format::write_params(*params);
  auto back = read(bytes);
  if (!back.ok() || cvm_format::write_params(*back) != bytes) std::abort();
  return 0;
}
