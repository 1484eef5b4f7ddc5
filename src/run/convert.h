#pragma once
// From one standard's graph to another's file: what must happen to a graph before a writer can say it.

#include "formats/nnef/write.h"

namespace nnex {

/// An NNEF document of the graph, which is made plain on the way: functions inlined, shapes computed, constants folded.
/// Operations that NNEF lacks become what their rows' bodies say, where they have one. Errors: unsupported, naming
/// every operation that is left (unless options.custom); those of write_document and of inference.
Result<nnef_format::Written> to_nnef(Graph& graph, const nnef_format::WriteOptions& options);

}  // namespace nnex
