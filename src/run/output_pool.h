#pragma once
// Memory of results that their callers have let go of, and of copies of inputs, for the next run of the same session.

#include <atomic>
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
  /// Bytes that lie here.
  int64_t held() const { return held_; }
  /// Frees what lies here.
  void clear();

 private:
  static constexpr int64_t kMinBytes = int64_t{64} << 10, kMaxBytes = int64_t{64} << 20;
  static constexpr size_t kMaxBlocks = 32;

  /// Of memory that lies here, how many tensors have been made since it was of use.
  static constexpr uint64_t kStale = 2 * kMaxBlocks;

  struct Block {
    Tensor memory;  ///< Bytes, a size class.
    uint64_t since = 0;
  };

  /// Memory of so many bytes that lies here, or an empty tensor.
  Tensor taken(int64_t bytes);
  /// Frees the oldest memory when `room` bytes more would be too much, or when it is stale; 0: in any case. Whether
  /// there was one.
  bool drop_oldest(int64_t room);
  void take_back(Tensor memory);

  std::mutex mutex_;
  std::vector<Block> free_;        ///< The oldest first.
  std::atomic<int64_t> held_ = 0;  ///< Their bytes.
  uint64_t made_ = 0;              ///< Tensors so far.
};

}  // namespace nnex::run
