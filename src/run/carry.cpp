#include "run/carry.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/failure.h"
#include "base/nearest.h"
#include "base/try.h"
#include "graph/infer.h"

namespace nnex::run {
namespace {

Error no_port(std::string_view kind, const std::string& name, const ir::Graph& graph, const std::vector<ValueId>& ports,
              size_t ordinary) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < ordinary; ++i) names.push_back(graph[ports[i]].name);
  return Error(Code::invalid_argument, no_such(kind, name, names));
}

/// Which of the first `ordinary` ports has the name.
std::optional<size_t> find_port(const ir::Graph& graph, const std::vector<ValueId>& ports, size_t ordinary,
                                const std::string& name) {
  for (size_t i = 0; i < ordinary; ++i)
    if (graph[ports[i]].name == name) return i;
  return std::nullopt;
}

/// Ranks and known extents agree.
bool may_follow(const Type& made, const Type& taken) {
  if (!made.is_tensor() || !taken.is_tensor() || made.dtype != taken.dtype) return false;
  if (!made.dims || !taken.dims) return true;
  if (made.dims->size() != taken.dims->size()) return false;
  for (size_t i = 0; i < taken.dims->size(); ++i) {
    const auto a = (*made.dims)[i].number(), b = (*taken.dims)[i].number();
    if (a && b && *a != *b) return false;
  }
  return true;
}

/// The input whose caller decides the extent, if one does.
ValueId decider(const ir::Graph& graph, const std::vector<ValueId>& ordinary, const Dim& extent) {
  for (ValueId v : ordinary)
    if (const MaybeDims& dims = graph[v].type.dims)
      if (std::find(dims->begin(), dims->end(), extent) != dims->end()) return v;
  return {};
}

/// Zeros; open extents are 0.
Result<Tensor> start_of(const ir::Graph& graph, ValueId input, const std::vector<ValueId>& ordinary) {
  const Type& type = graph[input].type;
  if (!type.dims || is_object(type.dtype))
    return failure(Code::invalid_argument, "input '{}' is {}; needed numbers of known rank to be carried",
                   graph[input].name, type.text());
  Ints extents;
  for (const Dim& d : *type.dims) {
    if (const ValueId other = d.is_number() ? ValueId{} : decider(graph, ordinary, d); other.valid())
      return failure(Code::invalid_argument,
                     "input '{}' of {} cannot be carried while input '{}' decides its extent {}: it needs a number",
                     graph[input].name, type.text(), graph[other].name, d.text())
          .helped_by({"symbols", "", "gives it one"});
    extents.push_back(d.number().value_or(0));
  }
  NNEX_ASSIGN(Tensor zeros, Tensor::make(type.dtype, Shape(extents)));
  if (zeros.bytes() > 0) std::memset(zeros.mutable_data(), 0, static_cast<size_t>(zeros.bytes()));
  return zeros;
}

}  // namespace

Status carry(ir::Graph& graph, const std::vector<Carry>& pairs) {
  if (pairs.empty()) return {};
  const size_t kept = graph.states.size();
  size_t inputs = graph.inputs().size() - kept, outputs = graph.outputs().size() - kept;
  // Ordinary inputs are those that stay.
  std::vector<ValueId> ordinary(graph.inputs().begin(), graph.inputs().begin() + static_cast<ptrdiff_t>(inputs));
  std::set<std::string> taken, made;
  for (const Carry& c : pairs) {
    if (!taken.insert(c.input).second || !made.insert(c.output).second)
      return failure(Code::invalid_argument, "output '{}' carried into input '{}': one of them is carried already",
                     c.output, c.input);
    const auto in = find_port(graph, graph.inputs(), inputs, c.input);
    if (!in) return no_port("input", c.input, graph, graph.inputs(), inputs);
    const auto out = find_port(graph, graph.outputs(), outputs, c.output);
    if (!out) return no_port("output", c.output, graph, graph.outputs(), outputs);
    const ValueId param = graph.inputs()[*in], result = graph.outputs()[*out];
    if (!may_follow(graph[result].type, graph[param].type))
      return failure(Code::invalid_argument, "output '{}' of {} cannot be carried into input '{}' of {}", c.output,
                     graph[result].type.text(), c.input, graph[param].type.text());
    ordinary.erase(std::find(ordinary.begin(), ordinary.end(), param));
  }
  for (const Carry& c : pairs) {
    const size_t in = *find_port(graph, graph.inputs(), inputs, c.input);
    const size_t out = *find_port(graph, graph.outputs(), outputs, c.output);
    NNEX_ASSIGN(Tensor start, start_of(graph, graph.inputs()[in], ordinary));
    graph.states.push_back({c.input, Value(std::move(start))});
    graph.move_param(kMain, in, graph.inputs().size() - 1);
    std::vector<ValueId> results = graph.outputs();
    std::rotate(results.begin() + static_cast<ptrdiff_t>(out), results.begin() + static_cast<ptrdiff_t>(out) + 1,
                results.end());
    graph.set_results(kMain, std::move(results));
    --inputs, --outputs;
  }
  return {};
}

}  // namespace nnex::run
