// Reads whatever bytes come as a document outside NNEF 1.0: of the draft of 2017, upgraded and lowered, or as
// sonos/tract writes; which one the last byte says. An upgraded text is no text of the draft.

#include <cstdlib>
#include <string_view>

#include "nnex/model.h"
#include "run/compile.h"
#include "standards/nnef/import.h"
#include "standards/nnef/read_provisional.h"
#include "standards/nnef/tract/reader.h"

namespace {

void draft(std::string_view text) {
  using namespace nnex;
  nnef_format::ImportOptions options;
  options.language.dialect = nnef_format::Dialect::any;
  options.language.limits.operations = 2000;
  options.language.limits.items = 1 << 14;
  options.language.limits.steps = 1 << 18;
  options.lowering.variable = [](const nnef_format::VariableRequest&) -> Result<Tensor> {
    return Error(Code::unreadable, "no files");
  };
  auto graph = nnef_format::import_document(text, "fuzz.nnef", options);
  if (!graph.ok() && graph.error().code() == Code::internal) std::abort();
  (void)nnef_format::read_provisional_tensor_file(text, nullptr).ok();
}

void tract(std::string_view text) {
  using namespace nnex;
  nnef_format::TractOptions options;
  options.variable = [](std::string_view, const Ints& extents) -> Result<Tensor> {
    const auto count = Shape(extents).checked_count();
    if (!count || *count > 1 << 12) return Error(Code::limit, "the variable is too large for a fuzzer");
    return Tensor::make(DType::f32, Shape(extents));
  };
  Faults faults;
  auto graph = nnef_format::import_tract(text, "fuzz.nnef", options, faults);
  if (!graph) {
    for (const Error& e : faults.list())
      if (e.code() == Code::internal) std::abort();
    return;
  }
  LoadOptions load;
  load.memory_limit = int64_t{64} << 20;
  auto model = compile(*std::move(graph), load);
  if (!model.ok() && model.error().code() == Code::internal) std::abort();
  (void)nnef_format::tract_items(text, nullptr).ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (size > 0 && data[size - 1] % 2 == 1)
    tract(text);
  else
    draft(text);
  return 0;
}
