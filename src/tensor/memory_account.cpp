#include "tensor/memory_account.h"

#include <algorithm>

namespace nnex {
namespace {

thread_local AccountScope* innermost = nullptr;
thread_local SharedBlocks* blocks_now = nullptr;

}  // namespace

AccountScope::AccountScope(std::shared_ptr<MemoryAccount> account) : account_(std::move(account)), outer_(innermost) {
  innermost = this;
}
AccountScope::~AccountScope() { innermost = outer_; }

const std::shared_ptr<MemoryAccount>& AccountScope::current() {
  static const std::shared_ptr<MemoryAccount> none;
  return innermost ? innermost->account_ : none;
}

size_t nodes_within_limit(size_t most) {
  constexpr int64_t kNodeBytes = 1024;
  const auto& account = AccountScope::current();
  return account ? std::min(most, static_cast<size_t>(std::max<int64_t>(account->limit(), 0) / kNodeBytes)) : most;
}

BlockScope::BlockScope(SharedBlocks& blocks) : outer_(blocks_now) { blocks_now = &blocks; }
BlockScope::~BlockScope() { blocks_now = outer_; }

SharedBlocks* BlockScope::current() { return blocks_now; }

}  // namespace nnex
