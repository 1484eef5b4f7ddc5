#pragma once
// Whether the numbers and words in a caller's options can be meant.

#include "nnex/model.h"

namespace nnex {

/// Limits and extents of 0 or more, enumerators. Error: invalid_argument, found and needed.
Status check_options(const LoadOptions& options);
/// Threads of 0 or more. Error: as above.
Status check_options(const SessionOptions& options);

}  // namespace nnex
