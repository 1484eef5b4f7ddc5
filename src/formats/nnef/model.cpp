#include "formats/nnef/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "formats/nnef/shapes.h"
#include "formats/nnef/weights.h"
#include "formats/nnef/write.h"

namespace nnex::nnef_format {
namespace {

constexpr const char* kStructure = "graph.nnef";
constexpr const char* kQuantisation = "graph.quant";

/// Checks shapes, and notes which tensors the graph's body names and which fragments operations come from.
class Notes : public ShapeChecker {
 public:
  void assigned(std::string_view name, TensorId id, Tensors&) override { by_name_.emplace(name, id); }
  const TensorInfo* find(std::string_view name, const Tensors& tensors) const {
    auto at = by_name_.find(name);
    return at == by_name_.end() ? nullptr : &tensors[at->second];
  }

 private:
  std::map<std::string, TensorId, std::less<>> by_name_;
};

}  // namespace

bool is_document(std::string_view text) {
  constexpr std::string_view kFirst = "version";
  while (!text.empty()) {
    if (text.front() == '#')
      text.remove_prefix(std::min(text.find_first_of("\n\f"), text.size()));
    else if (text.front() == ' ' || (text.front() >= '\t' && text.front() <= '\r'))
      text.remove_prefix(1);
    else
      break;
  }
  return text.size() > kFirst.size() && text.substr(0, kFirst.size()) == kFirst &&
         (text[kFirst.size()] == ' ' || (text[kFirst.size()] >= '\t' && text[kFirst.size()] <= '\r'));
}

void check_quant_file(std::string_view quant, std::string_view quant_name, std::string_view document,
                      std::string_view document_name, Faults& faults) {
  auto file = parse_quant(quant, quant_name);
  if (!file.ok()) return faults.add(std::move(file).error());
  Notes notes;
  Tensors tensors;
  if (!evaluate(document, document_name, notes, tensors, faults)) return;
  QuantContext context;
  context.tensor = [&](std::string_view name) { return notes.find(name, tensors); };
  check_quant(*file, quant_name, context, faults);
}

Result<Graph> read_nnef(const Container& from, ImportOptions options) {
  auto text = from.read(kStructure);
  if (!text.ok()) {
    const std::string there = from.elsewhere(kStructure);
    return Error(text.error().code(), fmt::format("C1: {}{}", text.error().message(),
                                                  there.empty() ? "" : fmt::format(" (there is '{}')", there)));
  }
  QuantFile records;
  std::string quant;
  if (from.has(kQuantisation)) {
    NNEX_ASSIGN(const FileBytes bytes, from.read(kQuantisation));
    quant = std::string(bytes.bytes);
    Faults faults;
    check_quant_file(quant, from.place(kQuantisation), text->bytes, from.place(kStructure), faults);
    if (!faults.none()) return std::move(faults).first();
    NNEX_ASSIGN(records, parse_quant(quant, kQuantisation));
  }
  options.lowering.variable = [&](const VariableRequest& v) {
    const QuantRecord* record = nullptr;
    for (const QuantRecord& r : records)
      if (r.tensor == v.name) record = &r;
    return variable_content(from, v.label, v.type, v.extents, record);
  };
  NNEX_ASSIGN(Graph graph, import_document(text->bytes, from.place(kStructure), options));
  if (!records.empty()) graph.meta.properties.emplace_back(std::string(kQuantProperty), std::move(quant));
  return graph;
}

}  // namespace nnex::nnef_format
