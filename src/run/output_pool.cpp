#include "run/output_pool.h"

#include <algorithm>
#include <iterator>

#include "base/size_class.h"
#include "tensor/memory_account.h"

namespace nnex::run {
namespace {

/// Memory that nobody counts yet.
Result<Tensor> fresh(int64_t bytes) {
  AccountScope uncounted(nullptr);
  return Tensor::make(DType::u8, Shape{bytes});
}

}  // namespace

Result<Tensor> OutputPool::make(DType type, const Shape& shape) {
  const auto count = shape.checked_count();
  const auto bytes = count ? bytes_for(type, *count) : std::nullopt;
  const auto& account = AccountScope::current();
  if (is_object(type) || !bytes || *bytes < kMinBytes || *bytes > kMaxBytes || (account && !account->take(*bytes)))
    return Tensor::make(type, shape);
  const int64_t size = size_class(*bytes);
  Tensor memory = taken(size);
  if (memory.bytes() == 0) {
    auto made = fresh(size);
    if (!made.ok()) {  // what lies here unused may be what is missing
      clear();
      made = fresh(size);
    }
    if (!made.ok()) {
      if (account) account->give_back(*bytes);
      return made;
    }
    memory = std::move(*made);
  }
  std::byte* const data = memory.mutable_data();
  std::shared_ptr<void> owner(
      data, [pool = shared_from_this(), memory = std::move(memory), account, bytes = *bytes](void*) mutable {
        if (account) account->give_back(bytes);
        pool->take_back(std::move(memory));
      });
  return Tensor::adopt(type, shape, data, std::move(owner));
}

void OutputPool::clear() {
  while (drop_oldest(0)) {
  }
}

Tensor OutputPool::taken(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++made_;
  // What came back last may still lie in the caches.
  const auto at = std::find_if(free_.rbegin(), free_.rend(), [&](const Block& b) { return b.memory.bytes() == bytes; });
  if (at == free_.rend()) return {};
  Tensor memory = std::move(at->memory);
  held_ -= memory.bytes();
  free_.erase(std::next(at).base());
  return memory;
}

bool OutputPool::drop_oldest(int64_t room) {
  Block dropped;  // freed without the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  if (free_.empty()) return false;
  const bool fits = free_.size() < kMaxBlocks && held_ + room <= kMaxBytes && made_ - free_[0].since <= kStale;
  if (room > 0 && fits) return false;
  dropped = std::move(free_.front());
  held_ -= dropped.memory.bytes();
  free_.erase(free_.begin());
  return true;
}

void OutputPool::take_back(Tensor memory) {
  while (drop_oldest(memory.bytes())) {
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (free_.size() == kMaxBlocks) return;  // another thread was faster
  held_ += memory.bytes();
  free_.push_back({std::move(memory), made_});
}

}  // namespace nnex::run
