#pragma once
// Whether a caller's tensor may be read.

#include "base/try.h"
#include "nnex/tensor.h"

namespace nnex {

/// Whether a tensor has the elements its shape tells of: a caller may have borrowed no bytes, or under a shape that no
/// tensor has.
bool has_memory(const Tensor& t);

/// Error: invalid_argument for a tensor without memory.
Status need_memory(const Tensor& t);

}  // namespace nnex
