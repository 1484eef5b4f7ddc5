// Reads whatever bytes come as a CVM symbol file, up to its gas. What reads is written and must read the same again.

#include <cstdlib>

#include "standards/cvm/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex;
  auto symbol = cvm_format::read_symbol({reinterpret_cast<const char*>(data), size});
  if (!symbol.ok()) return 0;
  const std::string text = cvm_format::write_symbol(*symbol);
  auto back = cvm_format::read_symbol(text);
  if (back.ok() && cvm_format::write_symbol(*back) != text) std::abort();
  ir::Graph graph;
  cvm_format::Importer importer(graph, false);
  (void)importer.symbol(*symbol).ok();
  return 0;
}
