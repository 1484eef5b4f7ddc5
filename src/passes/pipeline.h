#pragma once
// The passes, in order: one file each, one line each here.

#include <functional>
#include <span>
#include <string_view>

#include "graph/graph.h"

namespace nnex {

/// What every graph needs before it can be planned: functions inlined, types inferred, bodies of rows without kernels
/// expanded. Errors: invalid_model with every place where inference fails (the first is the Error's message).
Status prepare(Graph& graph);

/// A pass by name.
struct PassDef {
  std::string_view name;
  Result<int> (*run)(Graph&) = nullptr;
};
/// The passes of optimize(), in order; those that come more than once, and `infer_types` between them.
std::span<const PassDef> pipeline();

struct PipelineOptions {
#ifdef NNEX_CHECKED
  bool verify = true;  ///< After every pass.
#else
  bool verify = false;
#endif
  std::function<Status(const Graph&, const PassDef&)> after;  ///< Sees the graph after every pass.
};

/// Folds, simplifies and fuses. Results stay within the tolerance each pass states. Errors: those of `after`; internal,
/// naming the pass, when the graph is wrong after it.
Status optimize(Graph& graph, const PipelineOptions& options = {});

}  // namespace nnex
