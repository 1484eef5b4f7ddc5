// A document with fragments, written as it was read.

#include <fmt/format.h>

#include "graph/text/printer.h"
#include "standards/nnef/format.h"
#include "standards/nnef/import.h"
#include "standards/nnef/write.h"

namespace nnex::nnef_format {
namespace {

/// Constants of the graph by the labels of the variables they were read from.
std::map<std::string, Tensor, std::less<>> contents(const ir::Graph& graph, const NnefProvenance& from) {
  std::map<std::string, Tensor, std::less<>> out;
  for (uint32_t i = 0; i < graph.value_count(); ++i) {
    const ValueDef& def = graph[ValueId{i}];
    const Tensor* t = def.constant.tensor();
    if (const auto label = from.labels.find(def.name); t && label != from.labels.end()) out.emplace(label->second, *t);
  }
  for (const StateDef& s : graph.states)
    if (const Tensor* t = s.start.tensor()) out.emplace(s.label, *t);
  return out;
}

}  // namespace

Result<Written> kept_document(const ir::Graph& graph) {
  if (!graph.provenance.nnef || graph.provenance.nnef->document.empty())
    return Error(Code::invalid_argument, "the graph was read from no document with fragments");
  const NnefProvenance& from = *graph.provenance.nnef;
  const auto known = contents(graph, from);
  Written out;
  ImportOptions options;
  options.lowering.variable = [&](const VariableRequest& r) -> Result<Tensor> {
    const auto at = known.find(r.label);
    if (at == known.end()) return Error(Code::invalid_argument, "the graph does not hold it any more");
    out.variables.emplace_back(std::string(r.label), at->second);
    return at->second;
  };
  const Remedy plain{"nnef.keep_fragments", "false", "writes it as operations"};
  auto again = import_document(from.document, "graph.nnef", options);
  if (!again.ok()) return std::move(again).error().helped_by(plain).during("writing the document with its fragments");
  graph_text::PrintOptions print;
  print.elements = 16;  // the data are the graph's own
  if (graph_text::print(*again, print) != graph_text::print(graph, print))
    return Error(Code::invalid_argument,
                 "the graph is not what its document says any more (other shapes, changed operations, or it came "
                 "through another standard), so the fragments cannot be kept")
        .helped_by(plain);
  Faults faults;
  out.graph = format_text(from.document, "graph.nnef", faults);
  if (!faults.none()) return std::move(faults).first();
  if (!graph.provenance.quantization.empty()) {
    NNEX_ASSIGN(const QuantFile records, parse_quant(graph.provenance.quantization, "graph.quant"));
    out.quant = quant_text(records);
    for (const QuantRecord& r : records)
      if (const auto label = from.labels.find(r.tensor); label != from.labels.end())
        if (const auto t = known.find(label->second); t != known.end() && codes_of_reals(t->second, r))
          out.codes.emplace(label->second, r);
  }
  return out;
}

}  // namespace nnex::nnef_format
