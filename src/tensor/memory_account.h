#pragma once
// What the tensors of one run, or of one model that is read, may hold together, and where their memory comes from.

#include <memory>

#include "base/large_memory.h"
#include "base/memory_account.h"

namespace nnex {

/// While it lives, Tensor::make on this thread asks the account first (none: memory is not counted).
class AccountScope {
 public:
  explicit AccountScope(std::shared_ptr<MemoryAccount> account);
  ~AccountScope();
  AccountScope(const AccountScope&) = delete;
  AccountScope& operator=(const AccountScope&) = delete;

  /// The innermost scope's account, or null.
  static const std::shared_ptr<MemoryAccount>& current();

 private:
  std::shared_ptr<MemoryAccount> account_;
  AccountScope* outer_;
};

/// As many nodes of a graph as the innermost scope's limit has room for, at some KiB each; `most` without a scope.
size_t nodes_within_limit(size_t most);

/// While it lives, Tensor::make on this thread takes large tensors from these blocks.
class BlockScope {
 public:
  explicit BlockScope(SharedBlocks& blocks);
  ~BlockScope();
  BlockScope(const BlockScope&) = delete;
  BlockScope& operator=(const BlockScope&) = delete;

  /// The innermost scope's blocks, or null.
  static SharedBlocks* current();

 private:
  SharedBlocks* outer_;
};

}  // namespace nnex
