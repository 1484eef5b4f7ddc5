#pragma once
// Lists that a kernel works in, counted as tensors are.

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/guarded.h"
#include "tensor/memory_account.h"

namespace nnex {

/// Memory of the standard's allocator that the run's account (AccountScope) is asked for first. Throws NoMemory where
/// the limit would be passed.
template <class T>
class Counted {
 public:
  using value_type = T;

  Counted() : account_(AccountScope::current()) {}
  template <class U>
  Counted(const Counted<U>& other) : account_(other.account()) {}

  T* allocate(size_t n) {
    const auto bytes = static_cast<int64_t>(n * sizeof(T));
    if (account_ && !account_->take(bytes))
      throw NoMemory(fmt::format("{} bytes to work in on top of {} held pass the limit of {}", bytes, account_->held(),
                                 account_->limit()));
    try {
      return std::allocator<T>().allocate(n);
    } catch (...) {
      if (account_) account_->give_back(bytes);
      throw;
    }
  }
  void deallocate(T* at, size_t n) {
    std::allocator<T>().deallocate(at, n);
    if (account_) account_->give_back(static_cast<int64_t>(n * sizeof(T)));
  }
  const std::shared_ptr<MemoryAccount>& account() const { return account_; }
  friend bool operator==(const Counted& a, const Counted& b) { return a.account_ == b.account_; }

 private:
  std::shared_ptr<MemoryAccount> account_;
};

template <class T>
using CountedVector = std::vector<T, Counted<T>>;

}  // namespace nnex
