#pragma once
// Memory of results that their callers have let go of, and of copies of inputs, for the next run of the same session.

#include <memory>
#include <mutex>
#include <vector>

#include "nnex/tensor.h"

namespace nnex::run {

/// Makes tensors whose memory comes back here when their last owner is gone, on any thread: asking the system for large
/// memory anew costs a fault for every page. Tensors may outlive the session.
class OutputPool : public std::enable_shared_from_this<OutputPool> {
 public:
  OutputPool() { free_.reserve(kMaxBlocks); }

  /// As Tensor::make. Small tensors are left to the allocator.
  Result<Tensor> make(DType type, const Shape& shape);
  /// Frees what lies here.
  void clear();

 private:
  static constexpr int64_t kMinBytes = int64_t{64} << 10, kMaxBytes = int64_t{64} << 20;
  static constexpr size_t kMaxBlocks = 32;

  /// Memory that lies here, or an empty tensor.
  Tensor taken(DType type, const Shape& shape);
  /// Frees the oldest memory when `room` bytes more would be too much; 0: in any case. Whether there was one.
  bool drop_oldest(int64_t room);
  void take_back(Tensor memory);

  std::mutex mutex_;
  std::vector<Tensor> free_;  ///< The oldest first.
  int64_t held_ = 0;          ///< Their bytes.
};

}  // namespace nnex::run
