#include "tensor/memory_account.h"

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

BlockScope::BlockScope(SharedBlocks& blocks) : outer_(blocks_now) { blocks_now = &blocks; }
BlockScope::~BlockScope() { blocks_now = outer_; }

SharedBlocks* BlockScope::current() { return blocks_now; }

}  // namespace nnex
