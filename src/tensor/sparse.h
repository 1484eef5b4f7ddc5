#pragma once
// Whether a host's sparse tensor is one, and the dense tensor it stands for.

#include "base/try.h"
#include "nnex/tensor.h"

namespace nnex {

/// Values of rank 1, as many indices (i64, linear or coordinates), which ascend inside a shape whose product fits 64
/// bits. Error: invalid_argument, found and needed.
Status check_sparse(const SparseTensor& t);
/// All elements of a sound sparse tensor: zeros (texts: empty) where it lists none. Errors: those of Tensor::make.
Result<Tensor> dense_of(const SparseTensor& t);

}  // namespace nnex
