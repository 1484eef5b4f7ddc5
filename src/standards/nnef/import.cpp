#include "standards/nnef/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/failure.h"
#include "standards/nnef/properties.h"
#include "standards/nnef/read_provisional.h"
#include "standards/nnef/write.h"

namespace nnex::nnef_format {
namespace {

using Labels = std::set<std::string, std::less<>>;

/// The variables' content as the options say, seeded where it is missing: the labels of those.
CallOptions with_seed(const ImportOptions& options, Labels& seeded) {
  if (!options.weight_seed) return options.lowering;
  CallOptions out = options.lowering;
  out.variable = [given = options.lowering.variable, seed = *options.weight_seed,
                  &seeded](const VariableRequest& r) -> Result<Tensor> {
    auto content = given ? given(r) : Error(Code::unreadable, "");
    if (content.ok() || content.error().code() != Code::unreadable) return content;
    seeded.emplace(r.label);
    return seeded_weights(r, seed);
  };
  return out;
}

/// Seeded numbers that an operation takes as variances, whatever their label says, are none below 0.
Status lift_variances(ir::Graph& graph, const Labels& seeded) {
  const auto& labels = graph.provenance.nnef->labels;
  for (NodeId id : graph.order()) {
    const Node& node = graph[id];
    const int port = node.op->input("variance");
    if (port < 0 || static_cast<size_t>(port) >= node.in.size()) continue;
    ValueId v = node.in[static_cast<size_t>(port)];
    for (const Node* from = graph.producer(v); from && from->op->view; from = graph.producer(v)) v = from->in[0];
    const Tensor* t = graph[v].constant.tensor();
    const auto label = labels.find(graph[v].name);
    if (!t || t->dtype() != DType::f32 || label == labels.end() || !seeded.count(label->second)) continue;
    const auto x = t->as<float>();
    if (std::none_of(x.begin(), x.end(), [](float f) { return f < 0; })) continue;
    NNEX_ASSIGN(Tensor lifted, Tensor::make(DType::f32, t->shape()));
    std::transform(x.begin(), x.end(), lifted.mutable_as<float>().begin(),
                   [](float f) { return 1 + f / 4; });  // seeded numbers lie within sqrt(6)
    graph.make_constant(v, std::move(lifted));
  }
  return {};
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

/// Whether people wrote comments into the text, which its network does not hold.
bool has_comments(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'' || text[i] == '"') {
      const size_t close = text.find(text[i], i + 1);
      i = close == std::string_view::npos ? text.size() : close;
    } else if (text[i] == '#') {
      if (!is_property_line(text.substr(i))) return true;
      i = std::min(text.find('\n', i), text.size());
    }
  }
  return false;
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
  Labels seeded;
  Importer lowering(graph, with_seed(options, seeded));
  Tensors tensors;
  if (!evaluate(edition.text(), file, lowering, tensors, faults, language)) return std::nullopt;
  check_names(graph, language, faults);
  if (faults.none()) faults.check(lift_variances(graph, seeded));
  if (!faults.none()) return std::nullopt;
  if (edition.provisional()) graph.meta.properties.emplace_back("nnef.upgraded", "from the provisional draft of 2017");
  if (lowering.has_fragments()) graph.provenance.nnef->document = edition.text();
  if (has_comments(text)) graph.provenance.beside.emplace_back("comments of the document");
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
