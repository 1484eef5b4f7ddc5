#include "api/tensor_names.h"

#include "api/formats.h"
#include "standards/nnef/read_quant.h"

namespace nnex {
namespace {

template <class Map>
Map renamed(const Map& by_name, const std::map<std::string, std::string>& names) {
  Map out;
  for (const auto& [name, what] : by_name) {
    const auto known = names.find(name);
    out.insert_or_assign(known == names.end() ? name : known->second, what);
  }
  return out;
}

/// The lines of the quantisation file; none where there is no file, or none that can be read.
nnef_format::QuantFile records_of(const ir::Graph& graph) {
  if (!built(Format::nnef) || graph.provenance.quantization.empty()) return {};
  auto records = nnef_format::parse_quant(graph.provenance.quantization, "graph.quant");
  return records.ok() ? std::move(*records) : nnef_format::QuantFile();
}

}  // namespace

void rename_provenance(ir::Graph& graph, const std::map<std::string, std::string>& names) {
  Provenance& p = graph.provenance;
  p.bits = renamed(p.bits, names);
  if (p.cvm) p.cvm->widths = renamed(p.cvm->widths, names);
  if (p.nnef) p.nnef->labels = renamed(p.nnef->labels, names);
  nnef_format::QuantFile records = records_of(graph);
  bool changed = false;
  for (nnef_format::QuantRecord& r : records)
    if (const auto known = names.find(r.tensor); known != names.end()) r.tensor = known->second, changed = true;
  if (changed && built(Format::nnef)) p.quantization = nnef_format::quant_text(records);
}

std::set<std::string> names_in_nnef(const ir::Graph& graph) {
  std::set<std::string> out;
  if (graph.provenance.nnef)
    for (const auto& [name, label] : graph.provenance.nnef->labels) out.insert(name);
  for (const nnef_format::QuantRecord& r : records_of(graph)) out.insert(r.tensor);
  return out;
}

}  // namespace nnex
