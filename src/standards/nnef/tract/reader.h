#pragma once
// Documents as sonos/tract and torch-to-nnef write them. Their language is looser than NNEF: names may be assigned
// again, literals take the type of what they meet, tensors stand for attributes, extents are symbols. So they are read
// by a reader of their own, straight into the graph, whose inference gives the shapes.

#include <map>
#include <optional>

#include "standards/nnef/import.h"
#include "standards/nnef/read_quant.h"

namespace nnex::nnef_format {

struct TractOptions {
  /// The tensor file of a variable, by its label. Absent: a variable is an error.
  std::function<Result<Tensor>(std::string_view label, const Ints& extents)> variable;
  /// Other extents for externals, by name.
  std::map<std::string, Ints, std::less<>> shapes;
  QuantFile records;  ///< Of graph.quant.
};

/// Reads the document `text` into a graph. All faults of syntax are appended; of meaning the first one. Operations that
/// this project lacks are named in one fault of Code::unsupported. `fragments_too`: also where no call reaches them.
std::optional<ir::Graph> import_tract(std::string_view text, std::string_view file, const TractOptions& options,
                                      Faults& faults, bool fragments_too = false);

/// The content of a tensor file as tract reads it: the stored type, codes of the quantised types as plain integers,
/// blocks of 4 bits with a scale (vendor type Q4_0) as f32. Errors: those of read_tensor_file; unsupported.
Result<Tensor> tract_items(std::string_view bytes, std::shared_ptr<const void> owner);

}  // namespace nnex::nnef_format
