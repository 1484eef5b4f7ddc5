#pragma once
// Whether a host's sparse tensor is one.

#include "base/try.h"
#include "nnex/tensor.h"

namespace nnex {

/// Values of rank 1, as many indices (i64, linear or coordinates), which ascend inside a shape whose product fits 64
/// bits. Error: invalid_argument, found and needed.
Status check_sparse(const SparseTensor& t);

}  // namespace nnex
