#include "tensor/memory_account.h"

namespace nnex {
namespace {

thread_local AccountScope* innermost = nullptr;

}  // namespace

bool MemoryAccount::take(int64_t bytes) {
  int64_t held = held_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ - held) return false;
  } while (!held_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
  return true;
}

AccountScope::AccountScope(std::shared_ptr<MemoryAccount> account) : account_(std::move(account)), outer_(innermost) {
  innermost = this;
}
AccountScope::~AccountScope() { innermost = outer_; }

const std::shared_ptr<MemoryAccount>& AccountScope::current() {
  static const std::shared_ptr<MemoryAccount> none;
  return innermost ? innermost->account_ : none;
}

}  // namespace nnex
