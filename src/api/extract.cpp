// A part of a network; other names.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/formats.h"
#include "api/graph_impl.h"
#include "api/subgraph.h"
#include "api/tensor_names.h"
#include "base/failure.h"
#include "base/faults.h"
#include "base/guarded.h"
#include "base/joined.h"
#include "base/try.h"
#include "graph/infer.h"
#include "graph/symbols.h"
#include "nnex/edit.h"
#include "nnex/suggest.h"
#include "passes/passes.h"
#include "standards/nnef/export_document.h"

namespace nnex {
namespace {

/// Tensors of the network itself, not those in blocks, by name; what has no name cannot be asked for.
std::map<std::string, ValueId> tensors_of(const ir::Graph& graph) {
  std::map<std::string, ValueId> out;
  const auto add = [&](ValueId v) {
    if (v.valid() && !graph[v].name.empty()) out.try_emplace(graph[v].name, v);
  };
  for (ValueId v : graph.inputs()) add(v);
  for (NodeId id : graph.order())
    for (ValueId v : graph[id].out) add(v);
  for (uint32_t n = 0; n < graph.value_count(); ++n)
    if (graph[ValueId{n}].is_constant() && !graph[ValueId{n}].uses.empty()) add(ValueId{n});
  return out;
}

Error no_such_tensor(const std::string& name, const std::map<std::string, ValueId>& tensors) {
  std::vector<std::string_view> names;
  for (const auto& [n, v] : tensors) names.push_back(n);
  return {Code::invalid_argument, fmt::format("no tensor '{}'{} in the network", name, did_you_mean(name, names))};
}

Result<std::vector<ValueId>> values_named(const std::vector<std::string>& names,
                                          const std::map<std::string, ValueId>& tensors) {
  std::vector<ValueId> out;
  for (const std::string& name : names) {
    const auto it = tensors.find(name);
    if (it == tensors.end()) return no_such_tensor(name, tensors);
    if (std::find(out.begin(), out.end(), it->second) != out.end())
      return failure(Code::invalid_argument, "the tensor '{}' was named twice", name);
    out.push_back(it->second);
  }
  return out;
}

/// What makes the tensors, back to those where it ends.
struct Cone {
  std::set<uint32_t> nodes, ends_met;
  std::vector<ValueId> inputs;  ///< Of the network, beside the ends.
};
Cone cone_of(const ir::Graph& graph, const std::vector<ValueId>& to, const std::vector<ValueId>& ends) {
  Cone out;
  std::set<uint32_t> seen, stops;
  for (ValueId v : ends) stops.insert(v.n);
  std::vector<ValueId> open = to;
  while (!open.empty()) {
    const ValueId v = open.back();
    open.pop_back();
    if (!v.valid() || !seen.insert(v.n).second) continue;
    if (stops.count(v.n)) {
      out.ends_met.insert(v.n);
      continue;
    }
    if (graph[v].is_constant()) continue;
    const NodeId producer = graph[v].producer;
    if (!producer.valid()) {
      out.inputs.push_back(v);
      continue;
    }
    out.nodes.insert(producer.n);
    for (ValueId in : graph[producer].in) open.push_back(in);
    if (!graph[producer].blocks.empty())
      for (ValueId in : graph.captures(producer)) open.push_back(in);
  }
  return out;
}

std::vector<std::string> quoted(const ir::Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> out;
  for (ValueId v : values) out.push_back(fmt::format("'{}'", graph[v].name));
  return out;
}

Status check_cone(const ir::Graph& graph, const Cone& cone, const std::vector<ValueId>& from) {
  if (!from.empty() && !cone.inputs.empty())
    return failure(Code::invalid_argument, "the outputs need the inputs {} as well",
                   joined(quoted(graph, cone.inputs), ", "));
  for (ValueId v : from)
    if (!cone.ends_met.count(v.n))
      return failure(Code::invalid_argument, "no output needs '{}', or only through another input", graph[v].name);
  const auto& params = graph.inputs();
  for (size_t i = params.size() - graph.states.size(); i < params.size(); ++i)
    if (std::find(cone.inputs.begin(), cone.inputs.end(), params[i]) != cone.inputs.end())
      return failure(Code::invalid_argument, "the part reads the state '{}', which only the whole keeps",
                     graph.states[i + graph.states.size() - params.size()].label);
  return {};
}

/// The types of tensors that calls of functions make are those that the bodies give them.
void find_types(ir::Graph& graph, const std::vector<std::string>& names) {
  std::vector<ValueId> untyped;
  for (const auto& [name, v] : tensors_of(graph))
    if (graph[v].type.kind == Kind::unknown && std::find(names.begin(), names.end(), name) != names.end())
      untyped.push_back(v);
  if (untyped.empty()) return;
  ir::Graph inlined(graph);
  inlined.states.clear();
  inlined.set_results(kMain, untyped);
  Faults unknown;
  if (!passes::inline_functions(inlined).ok()) return;
  infer_types(inlined, unknown);
  for (size_t i = 0; i < untyped.size(); ++i) graph.set_type(untyped[i], inlined[inlined.outputs()[i]].type);
}

Result<Graph> extracted(const ir::Graph& graph, const std::vector<std::string>& from_names,
                        const std::vector<std::string>& to_names) {
  const auto tensors = tensors_of(graph);
  NNEX_ASSIGN(const auto from, values_named(from_names, tensors));
  NNEX_ASSIGN(auto to, values_named(to_names, tensors));
  if (to.empty())
    to.assign(graph.outputs().begin(), graph.outputs().end() - static_cast<ptrdiff_t>(graph.states.size()));
  for (ValueId v : to)
    if (!graph[v].producer.valid())
      return failure(Code::invalid_argument, "'{}' is no result of a node: nothing makes it", graph[v].name);
  for (ValueId v : from)
    if (std::find(to.begin(), to.end(), v) != to.end())
      return failure(Code::invalid_argument, "'{}' is both an input and an output", graph[v].name);
  const Cone cone = cone_of(graph, to, from);
  NNEX_TRY(check_cone(graph, cone, from));
  std::vector<ValueId> inputs = from;
  if (inputs.empty())
    for (ValueId v : graph.inputs())
      if (std::find(cone.inputs.begin(), cone.inputs.end(), v) != cone.inputs.end()) inputs.push_back(v);
  std::vector<NodeId> nodes;
  for (NodeId id : graph.order())
    if (cone.nodes.count(id.n)) nodes.push_back(id);
  Subgraph part = subgraph(graph, nodes, inputs, to);
  part.graph.meta = graph.meta;
  part.graph.provenance.beside = graph.provenance.beside;
  if (graph.provenance.nnef) {
    NnefProvenance kept = *graph.provenance.nnef;
    kept.document.clear();  // it says the whole
    part.graph.provenance.nnef = std::move(kept);
    part.graph.provenance.quantization = graph.provenance.quantization;
  }
  return wrap(std::move(part.graph));
}

}  // namespace

Result<Graph> extract(const Graph& graph, const std::vector<std::string>& from, const std::vector<std::string>& to) {
  return guarded([&]() -> Result<Graph> {
    ir::Graph typed = graph.impl().graph;
    Faults unknown;
    infer_types(typed, unknown);  // tensors inside need types where they become inputs
    find_types(typed, from);
    NNEX_ASSIGN(Graph part, extracted(typed, from, to));
    part.impl().read_with = graph.impl().read_with;
    part.impl().file = graph.impl().file, part.impl().texts = graph.impl().texts;
    return part;
  });
}

namespace {

/// What the graph was read with names its ports by their new names.
void rename_carried(Graph::Impl& graph, const std::map<std::string, std::string>& names) {
  if (!graph.read_with || graph.read_with->carry.empty()) return;
  auto options = std::make_shared<LoadOptions>(*graph.read_with);
  for (Carry& c : options->carry)
    for (std::string* port : {&c.output, &c.input})
      if (const auto it = names.find(*port); it != names.end()) *port = it->second;
  graph.read_with = std::move(options);
}

}  // namespace

Status check_tensor_name(const std::string& name, Format format) {
  if (format != Format::nnef || !built(Format::nnef)) return {};
  const std::string identifier = nnef_format::identifier(name);
  if (identifier == name) return {};
  return failure(
      Code::invalid_argument,
      "'{}' is no name in NNEF: needed letters, digits and '_', a letter or '_' first, and no word of the "
      "language{}",
      name, identifier.find_first_not_of('_') == std::string::npos ? "" : fmt::format("; '{}' is one", identifier));
}

Status rename(Graph& graph, const std::map<std::string, std::string>& all) {
  ir::Graph& g = graph.impl().graph;
  const auto tensors = tensors_of(g);
  ir::Graph renamed = g;
  auto names = all;
  for (const auto& [from, to] : all) {
    if (tensors.count(from) || to.empty()) continue;
    NNEX_ASSIGN(const bool is_symbol, rename_symbol(renamed, from, to));
    if (is_symbol) names.erase(from);
  }
  std::set<std::string> taken;
  for (const auto& [name, v] : tensors)
    if (!names.count(name)) taken.insert(name);
  for (const auto& [from, to] : names) {
    if (!tensors.count(from)) return no_such_tensor(from, tensors);
    if (to.empty()) return failure(Code::invalid_argument, "'{}' needs a name that is not empty", from);
    if (!taken.insert(to).second)
      return failure(Code::invalid_argument, "'{}' cannot be called '{}': another tensor is", from, to);
  }
  if (names.size() < all.size()) g = std::move(renamed);
  for (auto* docs : {&g.meta.value_docs, &g.meta.node_docs}) {
    std::map<std::string, std::string> under;
    for (const auto& [name, doc] : *docs) {
      const auto it = names.find(name);
      under[it == names.end() ? name : it->second] = doc;
    }
    *docs = std::move(under);
  }
  for (const auto& [from, to] : names) g.set_name(tensors.at(from), to);
  rename_provenance(g, names);
  rename_carried(graph.impl(), names);
  return {};
}

}  // namespace nnex
