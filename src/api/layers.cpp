#include "nnex/layers.h"

#include "nnex/load.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/guarded.h"
#include "base/try.h"
#include "graph/graph.h"
#include "run/compile.h"

namespace nnex {
namespace {

/// A node whose inputs are all constants stores a filter otherwise: it is no layer.
bool of_constants(const ir::Graph& graph, const std::vector<ValueId>& in) {
  return !in.empty() &&
         std::all_of(in.begin(), in.end(), [&](ValueId v) { return v.valid() && graph[v].is_constant(); });
}

/// The outputs of the main block's nodes; what each is called goes to `labels`.
std::vector<ValueId> layers_of(const ir::Graph& graph, std::vector<std::string>& labels) {
  std::vector<ValueId> layers;
  for (NodeId id : graph.order()) {
    const Node& node = graph[id];
    if (of_constants(graph, node.in)) continue;
    for (size_t k = 0; k < node.out.size(); ++k) {
      if (!node.out[k].valid()) continue;
      layers.push_back(node.out[k]);
      labels.push_back(fmt::format("{} {}", graph.place_of(id), node.op->name));
      if (node.out.size() > 1) labels.back() += fmt::format(" output {}", k);
    }
  }
  return layers;
}

}  // namespace

Result<LayeredModel> load_layers(const ModelSource& source, const LoadOptions& options) {
  LoadOptions plain = options;
  plain.optimize = plain.exact = false;
  NNEX_ASSIGN(const Model read, load_model(source, plain));
  return guarded([&]() -> Result<LayeredModel> {
    ir::Graph graph = graph_of(read);
    LayeredModel out;
    for (uint32_t n = 0; n < graph.value_count(); ++n)
      if (const ValueDef& v = graph[ValueId{n}]; v.constant.tensor() && !v.name.empty() && !v.uses.empty())
        out.parameters.push_back({v.name, *v.constant.tensor()});
    const std::vector<ValueId> layers = layers_of(graph, out.layers);
    std::vector<ValueId> results = graph.outputs();
    // What states become stays behind everything else.
    results.insert(results.end() - static_cast<ptrdiff_t>(graph.states.size()), layers.begin(), layers.end());
    graph.set_results(kMain, std::move(results));
    LoadOptions compiled;
    compiled.optimize = options.optimize;
    compiled.exact = options.exact;
    NNEX_ASSIGN(out.model, compile(std::move(graph), compiled));
    return out;
  });
}

}  // namespace nnex
