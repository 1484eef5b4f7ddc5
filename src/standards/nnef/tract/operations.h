#pragma once
// The operations that documents of sonos/tract call, by registry: declared in a text, as the standard's own are, with
// what each means in rows of the operator table.

#include <string>
#include <string_view>
#include <vector>

#include "graph/text/ast.h"

namespace nnex::nnef_format {

/// One operation of a registry.
struct TractOperation {
  std::string_view registry;  ///< "tract_nnef" (the standard's, as tract reads them), "tract_core", ...
  /// Parameters, results and the body: assignments over rows of the table, in the text of operators' bodies. The body
  /// of an operation that the reader makes itself says nothing.
  const graph_text::FragmentText* text = nullptr;
  /// Its tensors are operands: of one element type, and stretched from axis 0. Arguments it does not declare are left
  /// out, as tract does.
  bool operands = false;
};

/// The operation that a name means under these registries; the one registered last counts. Null: there is none.
const TractOperation* find_tract_operation(std::string_view name, const std::vector<std::string>& registries);
/// Whether any document may name it: "tract_core". Other names may be of registries that tract has and this project
/// lacks.
bool is_tract_registry(std::string_view name);
/// The registries' names, for messages.
std::vector<std::string_view> tract_registries();

}  // namespace nnex::nnef_format
