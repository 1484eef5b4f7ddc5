#pragma once
// A graph as an NNEF 1.0.5 document: flat text, the variables' tensors, and the quantisation file.

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace nnex::nnef_format {

struct WriteOptions {
  std::string name;     ///< Of the graph; empty: the graph's own.
  bool custom = false;  ///< What the standard cannot say becomes a custom operation (a fragment without body).
};

/// A node that cannot be written, and why.
struct Unwritable {
  NodeId node;
  std::string reason;
};

/// A document before it is saved.
struct Written {
  std::string graph, quant;                               ///< The texts; quant is empty where there is nothing to say.
  std::vector<std::pair<std::string, Tensor>> variables;  ///< By label.
};

/// The metadata property that holds the text of graph.quant.
inline constexpr std::string_view kQuantProperty = "nnef.quantization";

/// Writes the graph, whose types must be inferred. Nodes that the standard cannot say are listed in `refused`; then the
/// document is not complete. Errors: invalid_argument (an extent that is no number: it names the input and symbol),
/// unsupported (an input or state that is no tensor of numbers or truth values).
Result<Written> write_document(const Graph& graph, const WriteOptions& options, std::vector<Unwritable>& refused);

enum class Packing : uint8_t { folder, tar, tgz };
/// How a path is packed by its ending: .tar; .tgz and .tar.gz; else a folder.
Packing packing_of(const std::string& path);

/// Writes the files of a model: the same bytes every time. A folder that exists must be empty, or with `replace` its
/// files of these names are replaced; the others stay. Errors: invalid_argument (it exists), unreadable, unsupported
/// (a tensor that no file can hold).
Status save_model(const Written& model, const std::string& path, bool replace);

}  // namespace nnex::nnef_format
