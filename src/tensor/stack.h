#pragma once
// Slices of a tensor along one axis, and tensors put together along a new one: what loops and scans need.

#include <span>

#include "nnex/tensor.h"
#include "tensor/type.h"

namespace nnex {

/// The slice of t at `index` of `axis`, without that axis.
Result<Tensor> slice_at(const Tensor& t, int64_t axis, int64_t index);

/// Tensors of one shape and type along a new axis (negative counts from the last of the result). Of no tensors: extent
/// 0 there, the others as `item` says (unknown ones 0). Error: fault when shapes differ.
Result<Tensor> stack(std::span<const Tensor> parts, int64_t axis, const Type& item);

}  // namespace nnex
