#pragma once
// Bytes that the readers of one model, or the tensors of one run, may hold together.

#include <atomic>
#include <cstdint>

namespace nnex {

/// Counts what is held; tensors may outlive the run that made them.
class MemoryAccount {
 public:
  explicit MemoryAccount(int64_t limit) : limit_(limit) {}

  /// Whether `bytes` more stay within the limit; they are counted only then.
  bool take(int64_t bytes);
  void give_back(int64_t bytes) { held_.fetch_sub(bytes, std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }
  int64_t held() const { return held_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> held_ = 0;
  const int64_t limit_;
};

}  // namespace nnex
