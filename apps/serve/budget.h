#pragma once
// Memory that requests and responses may hold together.

#include <atomic>
#include <cstdint>
#include <utility>

namespace nnex::serve {

/// So many bytes for everybody.
class Budget {
 public:
  explicit Budget(int64_t bytes) : limit_(bytes) {}

  /// Takes bytes where there are so many; else nothing.
  bool take(int64_t bytes) {
    int64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  /// Takes them beyond the limit, too: nobody else gets any until they are back.
  void force(int64_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }
  void give(int64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }

 private:
  const int64_t limit_;
  std::atomic<int64_t> used_{0};
};

/// What one request holds of it; given back at the end.
class Lease {
 public:
  Lease() = default;
  explicit Lease(Budget& budget) : budget_(&budget) {}
  Lease(Lease&& other) noexcept : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
  Lease& operator=(Lease&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Lease() {
    if (budget_) budget_->give(bytes_);
  }

  /// Whether it could hold so many bytes if nobody else held any.
  bool ever(int64_t bytes) const { return bytes <= budget_->limit(); }
  int64_t limit() const { return budget_->limit(); }
  int64_t bytes() const { return bytes_; }
  /// Holds so many bytes from now on, where there are so many.
  bool resize(int64_t bytes) {
    if (bytes > bytes_ && !budget_->take(bytes - bytes_)) return false;
    if (bytes < bytes_) budget_->give(bytes_ - bytes);
    bytes_ = bytes;
    return true;
  }
  /// The same for what is there already.
  void force(int64_t bytes) {
    if (bytes > bytes_) budget_->force(bytes - bytes_);
    if (bytes < bytes_) budget_->give(bytes_ - bytes);
    bytes_ = bytes;
  }

 private:
  Budget* budget_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace nnex::serve
