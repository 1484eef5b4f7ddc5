#include "nnex/nnef.h"

#include "nnex/load.h"
#include "standards/nnef/format.h"
#include "standards/nnef/textmate.h"

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
  LoadOptions quantized = options;
  quantized.nnef.quantized = true;
  return load_model(source, quantized);
}

}  // namespace nnex
