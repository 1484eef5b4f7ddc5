#include "nnex/nnef.h"

#include <fmt/format.h>

#include "api/read.h"
#include "base/guarded.h"
#include "base/try.h"
#include "nnex/environment.h"
#include "run/compile.h"
#include "standards/nnef/format.h"
#include "standards/nnef/quantise.h"
#include "standards/nnef/textmate.h"
#include "standards/nnef/write.h"

namespace nnex {

NnefLayout format_nnef(std::string_view source, std::string_view file, bool tract) {
  Faults faults;
  NnefLayout out;
  out.text = nnef_format::format_text(source, file, faults,
                                      tract ? nnef_format::Dialect::tract : nnef_format::Dialect::standard);
  out.faults = std::move(faults).take();
  return out;
}

std::string nnef_grammar() { return nnef_format::textmate_grammar(); }

Result<Model> load_quantized(const ModelSource& source, const LoadOptions& options) {
  return guarded([&]() -> Result<Model> {
    NNEX_TRY(check_environment());
    NNEX_ASSIGN(ir::Graph graph, read_model(source, options));
    if (graph.provenance.quantization.empty())
      return Error(Code::invalid_argument, "the model has no quantisation file (graph.quant)");
    NNEX_TRY(nnef_format::apply_quantisation(graph));
    return compile_own(std::move(graph), options);
  });
}

}  // namespace nnex
