#pragma once
// The passes, in order: one file each, one line each here.

#include <functional>
#include <span>
#include <string_view>

#include "graph/graph.h"
#include "nnex/custom.h"

namespace nnex::passes {

/// What every graph needs before it can be planned: functions inlined, types inferred, bodies of rows without kernels
/// expanded. Errors: invalid_model with every place where inference fails (the first is the Error's message).
/// The host's functions are found for its custom operators.
Status prepare(ir::Graph& graph, const CustomOperators& operators = {});

/// A pass by name.
struct PassDef {
  std::string_view name;
  Result<int> (*run)(ir::Graph&) = nullptr;
  bool keeps_types = false;  ///< What it leaves has the types that it had.
};
/// The passes of optimize(), in order; those that come more than once, and `infer_types` between them.
std::span<const PassDef> pipeline();

struct PipelineOptions {
#ifdef NNEX_CHECKED
  bool verify = true;  ///< After every pass.
#else
  bool verify = false;
#endif
  std::function<Status(const ir::Graph&, const PassDef&)> after;  ///< Sees the graph after every pass.
};

/// Folds, simplifies and fuses a prepared graph; types are inferred again where passes left some open. Results stay
/// within the tolerance each pass states. Errors: those of `after`; internal, naming the pass, when the graph is wrong
/// after it.
Status optimize(ir::Graph& graph, const PipelineOptions& options = {});

}  // namespace nnex::passes
