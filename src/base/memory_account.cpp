#include "base/memory_account.h"

namespace nnex {

bool MemoryAccount::take(int64_t bytes) {
  int64_t held = held_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ - held) return false;
  } while (!held_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
  return true;
}

}  // namespace nnex
