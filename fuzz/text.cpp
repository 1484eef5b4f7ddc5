// Reads whatever bytes come as graph text. What reads must print, and the print must read back to the same text; what
// reads must compile or be refused, and every pass must leave a graph the verifier accepts.

#include <cstdlib>
#include <string>
#include <string_view>

#include "graph/text/build.h"
#include "graph/text/printer.h"
#include "nnex/model.h"
#include "run/compile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex;
  graph_text::BuildLimits limits;
  limits.nodes = 2000;
  auto graph = graph_text::read_graph({reinterpret_cast<const char*>(data), size}, "fuzz", {}, limits);
  if (!graph.ok()) return 0;
  const std::string text = graph_text::print(*graph);
  auto back = graph_text::read_graph(text, "printed");
  if (!back.ok() || graph_text::print(*back) != text) std::abort();
  auto model = compile(std::move(graph).value());
  if (!model.ok() && model.error().code() == Code::internal) std::abort();
  return 0;
}
