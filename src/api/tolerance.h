#pragma once
// Whether a caller's tolerance can be meant.

#include "nnex/compare.h"

namespace nnex {

/// Numbers of 0 or more; infinity tolerates everything. Error: invalid_argument, found and needed.
Status check_tolerance(const Tolerance& tolerance);

}  // namespace nnex
