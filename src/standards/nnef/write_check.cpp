// What was written is read before it is saved.

#include <map>

#include "base/failure.h"
#include "base/try.h"
#include "standards/nnef/model.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {
namespace {

Status read_again(const Written& model) {
  if (!model.quant.empty()) {
    Faults faults;
    std::vector<std::string> notes;
    check_quant_file(model.quant, "graph.quant", model.graph, "graph.nnef", faults, notes);
    if (!faults.none()) return std::move(faults).first();
  }
  std::map<std::string_view, const Tensor*> contents;
  for (const auto& [label, content] : model.variables) contents.emplace(label, &content);
  ImportOptions options;
  options.lowering.variable = [&](const VariableRequest& wanted) -> Result<Tensor> {
    const auto known = contents.find(wanted.label);
    if (known == contents.end()) return failure(Code::unreadable, "variable '{}' has no content", wanted.label);
    const DType type = element_type(wanted.type);
    return known->second->dtype() == type ? *known->second : convert(*known->second, type);
  };
  NNEX_TRY(import_document(model.graph, "graph.nnef", options));
  return {};
}

}  // namespace

Status check_written(const Written& model) {
  Status s = read_again(model);
  if (s.ok()) return s;
  return failure(Code::unsupported,
                 "NNEF would say it in a document that cannot be read again, so none is "
                 "written: {}",
                 s.error().text());
}

}  // namespace nnex::nnef_format
