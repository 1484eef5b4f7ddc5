// Reads whatever bytes come as an NNEF document, under limits: parsed, checked, evaluated and lowered, whole and by the
// standard's bodies. What is accepted must compile or be refused by name; a graph that the shape rules accept must not
// break the engine.

#include <cstdlib>
#include <string_view>

#include "nnex/model.h"
#include "run/compile.h"
#include "standards/nnef/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
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
  options.expand_compounds = size > 0 && data[size - 1] % 2 == 1;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto graph = nnef_format::import_document(text, "fuzz.nnef", options);
  if (!graph.ok()) {
    if (graph.error().code() == Code::internal) std::abort();
    return 0;
  }
  LoadOptions load;
  load.memory_limit = int64_t{64} << 20;
  auto model = compile(std::move(graph).value(), load);
  if (!model.ok() && model.error().code() == Code::internal) std::abort();
  return 0;
}
