#include "tensor/memory_account.h"

namespace nnex {
namespace {

thread_local AccountScope* innermost = nullptr;

}  // namespace

AccountScope::AccountScope(std::shared_ptr<MemoryAccount> account) : account_(std::move(account)), outer_(innermost) {
  innermost = this;
}
AccountScope::~AccountScope() { innermost = outer_; }

const std::shared_ptr<MemoryAccount>& AccountScope::current() {
  static const std::shared_ptr<MemoryAccount> none;
  return innermost ? innermost->account_ : none;
}

}  // namespace nnex
