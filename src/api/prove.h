#pragma once
// Whether two models of any standards compute the same: both are run on the same inputs, corner cases among them.

#include "nnex/save.h"

namespace nnex {

/// Runs `written` beside `source`. Errors: those of loading either; of running the source where it refuses every input
/// that was tried.
Result<Proof> prove(const ModelSource& source, const LoadOptions& load_source, const ModelSource& written,
                    const LoadOptions& load_written, const ProofOptions& options);

}  // namespace nnex
