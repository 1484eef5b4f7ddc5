#pragma once
// Graphs of cases, said in another standard.

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "nnex/result.h"

namespace nnex::cli {

/// The graph written as a model of the standard ("nnef", "onnx", "webnn") and read back; `conditions` are those on
/// which the model means the same. Errors: what the standard cannot say is unsupported.
Result<ir::Graph> written_and_read(ir::Graph graph, std::string_view standard,
                                   std::vector<std::string>* conditions = nullptr);

}  // namespace nnex::cli
