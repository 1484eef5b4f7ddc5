#pragma once
// A graph as a CVM model.

#include <string>

#include "graph/graph.h"

namespace nnex::cvm_format {

struct ModelFiles {
  std::string symbol, params;
};

/// Writes a graph of one i32 input whose nodes CVM has operators for, with the meaning they have in the graph. Values
/// have concrete types in the graph (infer_types). A cvm_clip that alone reads the input becomes the input's precision;
/// without one it is 32 bits. Errors: unsupported, naming the node and what CVM lacks; invalid_model where CVM's own
/// rules refuse the result (bits, limits).
Result<ModelFiles> write_model(const ir::Graph& graph);

/// Writes both files into a folder, which is made where it is missing: each beside itself first, then renamed. Errors:
/// invalid_argument (one is there already, and not `replace`), unreadable.
Status save_files(const ModelFiles& files, std::string folder, bool replace);

/// write_model and save_files; files that are there are replaced.
Status save_model(const ir::Graph& graph, const std::string& folder);

}  // namespace nnex::cvm_format
