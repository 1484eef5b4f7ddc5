#pragma once
// An engine graph as a C source file with its header (docs/c-output.md).

#include <functional>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "graph/graph.h"
#include "standards/c/write_step.h"

namespace nnex::c_format {

/// An input or output of the network as the header declares it.
struct Member {
  std::string name;   ///< Of the member in the struct.
  std::string label;  ///< The network's own.
  DType type = DType::none;
  Shape shape;
};

/// The file, but for the text of its constants, which is made as it is written.
struct Written {
  std::string name;  ///< What its functions and types begin with: NAME_run.
  std::vector<Member> inputs, outputs;
  std::string library, functions;  ///< Text before and after the constants.
  std::vector<Weight> weights;
  int64_t weight_bytes = 0, arena_bytes = 0;
  size_t steps = 0;

  /// The source in pieces, until `piece` fails. `header_name`: of the file that it includes.
  Status source(const std::string& header_name, const std::function<Status(std::string_view)>& piece) const;
};

/// The text of the header.
std::string header_text(const Written& model);

/// The network as C, called `name`; the graph is made plain on the way: functions inlined, shapes computed, constants
/// folded, operations that C has no functions for replaced by what their rows' bodies say. Errors: invalid_argument,
/// naming every input whose extents are no numbers; unsupported, naming every operation that cannot be written; limit
/// (more constants than compilers take).
Result<Written> to_c(ir::Graph& graph, const std::string& name);

/// Whether the row has a function or loop of C, or other rows stand for it. What a node has for operands and attributes
/// may still be refused.
bool has_function(const OpDef& op);

/// Writes PATH, a name in .c, and the header beside it. Errors: those of may_write; unreadable.
Status save_source(const Written& model, const std::string& path, Existing existing = Existing::refuse);
/// The header's name beside a source: "net.h" of "folder/net.c".
std::string header_path(const std::string& path);

}  // namespace nnex::c_format
