#pragma once
// An NNEF document as a graph of the engine: evaluated, checked and lowered in one pass over the text.

#include <optional>

#include "standards/nnef/import_calls.h"

namespace nnex::nnef_format {

struct ImportOptions {
  EvaluateOptions language;
  CallOptions lowering;
  /// Variables whose content is missing (Code::unreadable) get seeded_weights() instead of an error.
  std::optional<uint64_t> weight_seed;
  /// Compound operations come as what the standard's bodies call, not as one row of the table.
  bool expand_compounds = false;
};

/// Reads the document `text`; `file` names it in messages. All faults are appended; without any, the graph is complete:
/// inputs and results in the header's order, states after them.
std::optional<ir::Graph> import_document(std::string_view text, std::string_view file, const ImportOptions& options,
                                         Faults& faults);
/// The same; the first fault is the error, the others are counted in its message.
Result<ir::Graph> import_document(std::string_view text, std::string_view file, const ImportOptions& options = {});

}  // namespace nnex::nnef_format
