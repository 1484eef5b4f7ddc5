// Reads whatever bytes come as an ONNX model and writes it again: its messages as they are and with large tensors
// elsewhere, in standard operators and with custom ones. What was written must read.

#include <cstdlib>

#include "api/export.h"
#include "api/read.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex;
  auto graph = read_model_bytes({reinterpret_cast<const char*>(data), size}, {});
  if (!graph.ok() || graph->node_count() > 2000) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const char* external : {"", "data"}) {
    onnx_format::WriteOptions options;
    options.external = external;
    auto copy = onnx_format::copy_model(bytes, {}, options);
    if (copy.ok() && copy->external.empty() && !read_model_bytes(copy->model.text(), {}).ok()) std::abort();
  }
  for (bool custom : {false, true}) {
    ir::Graph copy(*graph);
    auto written = to_onnx(copy, {{}, custom, {}});
    if (!written.ok()) {
      if (written.error().code() == Code::internal) std::abort();
      continue;
    }
    auto again = read_model_bytes(written->model.text(), {});
    if (!again.ok()) std::abort();
  }
  return 0;
}
