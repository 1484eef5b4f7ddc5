#pragma once
// The memory that a caller hands in with the inputs of a run, which stays the caller's to write.

#include <span>
#include <utility>
#include <vector>

#include "base/try.h"
#include "nnex/tensor.h"

namespace nnex::run {

class GivenMemory {
 public:
  /// From now on that of the tensors in these values. Of inputs as large as earlier ones nothing is allocated.
  void take(std::span<const Value> values);
  /// Whether bytes of the tensor, or its texts, lie in it.
  bool holds(const Tensor& t) const;
  /// The value with copies of the tensors in it that lie there; all else is shared. Errors: limit.
  Result<Value> apart(const Value& v) const;

 private:
  using Piece = std::pair<const std::byte*, const std::byte*>;
  std::vector<Piece> pieces_;  ///< Begin and end; they ascend, and have no bytes in common.
};

}  // namespace nnex::run
