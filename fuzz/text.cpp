// Reads whatever bytes come as graph text; what reads must print, and the print must read back to the same text.

#include <cstdlib>
#include <string>
#include <string_view>

#include "graph/text/build.h"
#include "graph/text/printer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex;
  graph_text::BuildLimits limits;
  limits.nodes = 2000;
  auto graph = graph_text::read_graph({reinterpret_cast<const char*>(data), size}, "fuzz", {}, limits);
  if (!graph.ok()) return 0;
  const std::string text = graph_text::print(*graph);
  auto back = graph_text::read_graph(text, "printed");
  if (!back.ok() || graph_text::print(*back) != text) std::abort();
  return 0;
}
