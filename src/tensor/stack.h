#pragma once
// Tensors put together along a new axis: what loops and scans need; nnex/elements.h has slice_at().

#include <span>

#include "nnex/elements.h"
#include "nnex/tensor.h"
#include "tensor/type.h"

namespace nnex {

/// Tensors of one shape and type as they come: what it holds are their elements alone.
class Stacker {
 public:
  /// `expected`: how many will come, where that is known.
  explicit Stacker(int64_t expected = 0) : expected_(expected) {}

  /// Copies the elements. Errors: fault when shape or type are others than the first's; limit; unsupported for types
  /// narrower than a byte.
  Status add(const Tensor& part);
  /// What came along a new axis (negative counts from the last of the result), in order or the last first; nothing is
  /// kept. Of no tensors: extent 0 there, the others as `item` says (unknown ones 0). Error: fault for an axis outside.
  Result<Tensor> take(int64_t axis, const Type& item, bool reversed = false);

 private:
  Status reserve(int64_t parts);

  int64_t expected_ = 0, count_ = 0, room_ = 0;
  DType type_ = DType::none;
  Shape part_;
  Tensor elements_;  ///< Of `room_` parts.
};

/// Tensors of one shape and type along a new axis (negative counts from the last of the result). Of no tensors: extent
/// 0 there, the others as `item` says (unknown ones 0). Error: fault when shapes differ.
Result<Tensor> stack(std::span<const Tensor> parts, int64_t axis, const Type& item);

}  // namespace nnex
