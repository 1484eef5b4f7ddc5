#pragma once
// Memory for much data at once. A page of 4 KiB costs more, when it is touched first, than what is written into it.

#include <cstdint>
#include <memory>
#include <mutex>

namespace nnex {

/// A page that memory is asked for in, where the system has such.
inline constexpr int64_t kHugePage = int64_t{2} << 20;

/// `bytes` at a multiple of 64, which std::free gives back; in huge pages as far as whole ones fit. Null: none is left.
void* allocate_aligned(int64_t bytes);

/// The same, all 0. Of much memory no page is there before it is touched. Null: none is left.
std::shared_ptr<void> zeroed(int64_t bytes);

/// Memory in pieces that share blocks of huge pages: for many pieces which live as long as a model. Safe from any
/// thread.
class SharedBlocks {
 public:
  /// `bytes` at a multiple of 64; null: none is left. When its last owner is gone its pages are given back, and its
  /// block when all of its pieces are.
  std::shared_ptr<void> take(int64_t bytes);

 private:
  std::mutex mutex_;
  std::shared_ptr<void> block_;
  int64_t used_ = 0;   ///< Of the block.
  int64_t taken_ = 0;  ///< In all.
};

}  // namespace nnex
