#include "through.h"

#include <fmt/format.h>

#include "api/export.h"
#include "api/read.h"
#include "base/try.h"
#include "standards/nnef/import.h"
#include "standards/webnn/export.h"
#include "standards/webnn/program.h"
#include "tensor/convert.h"

namespace nnex::cli {

Result<ir::Graph> written_and_read(ir::Graph graph, std::string_view standard, std::vector<std::string>* conditions) {
  if (standard == "webnn") {
    NNEX_ASSIGN(ml::Program program, ml::to_program(graph, {}));
    return ml::graph_of(program);
  }
  if (standard == "onnx") {
    NNEX_ASSIGN(const auto written, to_onnx(graph, {}));
    return read_model_bytes(written.model.text(), {});
  }
  NNEX_ASSIGN(const auto written, to_nnef(graph, {}));
  if (conditions) *conditions = written.conditions;
  nnef_format::ImportOptions options;
  options.lowering.variable = [&](const nnef_format::VariableRequest& r) -> Result<Tensor> {
    for (const auto& [label, content] : written.variables)
      if (label == r.label) return is_real(content.dtype()) ? convert(content, DType::f32) : Result<Tensor>(content);
    return Error(Code::unreadable, fmt::format("no variable '{}' was written", r.label));
  };
  return nnef_format::import_document(written.graph, "written.nnef", options);
}

}  // namespace nnex::cli
