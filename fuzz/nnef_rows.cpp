// Reads whatever bytes come as an NNEF document whose fragments may be rows of the engine's table (nnex_...), and
// writes it again with custom operations. What was written must read.

#include <cstdlib>
#include <string_view>

#include "api/export.h"
#include "standards/nnef/import.h"

namespace {

nnex::Result<nnex::ir::Graph> read(std::string_view text) {
  using namespace nnex;
  nnef_format::ImportOptions options;
  options.language.limits.operations = 2000;
  options.language.limits.items = 1 << 14;
  options.language.limits.steps = 1 << 18;
  options.lowering.variable = [](const nnef_format::VariableRequest& r) -> Result<Tensor> {
    const auto count = Shape(r.extents).checked_count();
    if (!count || *count > 1 << 16) return Error(Code::limit, "the variable is too large for a fuzzer");
    return nnef_format::seeded_weights(r, 1);
  };
  return nnef_format::import_document(text, "fuzz.nnef", options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex;
  auto graph = read({reinterpret_cast<const char*>(data), size});
  if (!graph.ok()) return 0;
  int64_t elements = 0;
  for (uint32_t n = 0; n < graph->value_count(); ++n)
    if (const Tensor* t = (*graph)[ValueId{n}].constant.tensor()) elements += t->count();
  if (elements > 1 << 16) return 0;
  auto written = to_nnef(*graph, {"net", true});
  if (!written.ok()) {
    if (written.error().code() == Code::internal) std::abort();
    return 0;
  }
  if (!read(written->graph).ok()) std::abort();
  return 0;
}
