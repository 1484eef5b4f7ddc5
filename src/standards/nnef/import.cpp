#include "standards/nnef/import.h"

#include <fmt/format.h>

#include <set>

#include "base/failure.h"
#include "standards/nnef/properties.h"
#include "standards/nnef/read_provisional.h"
#include "standards/nnef/write.h"

namespace nnex::nnef_format {
namespace {

/// The variables' content as the options say, seeded where it is missing.
CallOptions with_seed(const ImportOptions& options) {
  if (!options.weight_seed) return options.lowering;
  CallOptions out = options.lowering;
  out.variable = [given = options.lowering.variable,
                  seed = *options.weight_seed](const VariableRequest& r) -> Result<Tensor> {
    if (!given) return seeded_weights(r, seed);
    auto content = given(r);
    if (!content.ok() && content.error().code() == Code::unreadable) return seeded_weights(r, seed);
    return content;
  };
  return out;
}

/// Whether a compound operation may come as its body.
bool has_fitting_body(const Declaration& d) { return d.rules.body_fits; }

/// Other shapes are of externals that there are.
void check_names(const ir::Graph& graph, const EvaluateOptions& options, Faults& faults) {
  std::set<std::string_view> known;
  for (ValueId v : graph.inputs()) known.insert(graph[v].name);
  for (const auto& [name, extents] : options.shapes) {
    if (known.count(name)) continue;
    std::string all;
    for (ValueId v : graph.inputs()) all += fmt::format(" '{}'", graph[v].name);
    faults.add(failure(Code::invalid_argument, "no external '{}' to give a shape; there are:{}", name, all));
    return;
  }
}

}  // namespace

std::optional<ir::Graph> import_document(std::string_view text, std::string_view file, const ImportOptions& options,
                                         Faults& faults) {
  ir::Graph graph;
  const size_t before = faults.count();
  const Edition edition(text, file, options.language, faults);
  if (faults.count() > before) return std::nullopt;
  EvaluateOptions language = edition.options();
  if (options.expand_compounds && !language.expanded) language.expanded = has_fitting_body;
  Importer lowering(graph, with_seed(options));
  Tensors tensors;
  if (!evaluate(edition.text(), file, lowering, tensors, faults, language)) return std::nullopt;
  check_names(graph, language, faults);
  if (!faults.none()) return std::nullopt;
  if (edition.provisional()) graph.meta.properties.emplace_back("nnef.upgraded", "from the provisional draft of 2017");
  if (lowering.has_fragments()) graph.provenance.nnef->document = edition.text();
  read_property_lines(text, graph);
  return graph;
}

Result<ir::Graph> import_document(std::string_view text, std::string_view file, const ImportOptions& options) {
  Faults faults;
  std::optional<ir::Graph> graph = import_document(text, file, options, faults);
  if (graph) return *std::move(graph);
  const size_t others = faults.count() - 1;
  for (size_t i = 1; i < faults.list().size(); ++i)
    if (const Error& hint = faults.list()[i]; hint.message().starts_with("S18:")) {
      const Error& first = faults.list()[0];
      return Error(first.code(), first.message() + "; " + hint.message()).at(first.where()).helped_by(hint.remedies());
    }
  Error first = std::move(faults).first();
  if (others > 0)
    return std::move(first).during(
        fmt::format("checking '{}' ({} more fault{} found)", file, others, others == 1 ? " was" : "s were"));
  return first;
}

}  // namespace nnex::nnef_format
