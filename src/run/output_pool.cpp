#include "run/output_pool.h"

#include <algorithm>
#include <iterator>

#include "tensor/memory_account.h"

namespace nnex::run {
namespace {

/// Memory that nobody counts yet.
Result<Tensor> fresh(DType type, const Shape& shape) {
  AccountScope uncounted(nullptr);
  return Tensor::make(type, shape);
}

}  // namespace

Result<Tensor> OutputPool::make(DType type, const Shape& shape) {
  const auto count = shape.checked_count();
  const auto bytes = count ? bytes_for(type, *count) : std::nullopt;
  const auto& account = AccountScope::current();
  if (is_object(type) || !bytes || *bytes < kMinBytes || *bytes > kMaxBytes || (account && !account->take(*bytes)))
    return Tensor::make(type, shape);
  Tensor memory = taken(type, shape);
  if (memory.bytes() == 0) {
    auto made = fresh(type, shape);
    if (!made.ok()) {  // what lies here unused may be what is missing
      clear();
      made = fresh(type, shape);
    }
    if (!made.ok()) {
      if (account) account->give_back(*bytes);
      return made;
    }
    memory = std::move(*made);
  }
  std::byte* const data = memory.mutable_data();
  std::shared_ptr<void> owner(data, [pool = shared_from_this(), memory = std::move(memory), account](void*) mutable {
    if (account) account->give_back(memory.bytes());
    pool->take_back(std::move(memory));
  });
  return Tensor::adopt(type, shape, data, std::move(owner));
}

void OutputPool::clear() {
  while (drop_oldest(0)) {
  }
}

Tensor OutputPool::taken(DType type, const Shape& shape) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // What came back last may still lie in the caches.
  const auto at = std::find_if(free_.rbegin(), free_.rend(),
                               [&](const Tensor& t) { return t.dtype() == type && t.shape() == shape; });
  if (at == free_.rend()) return {};
  Tensor memory = std::move(*at);
  held_ -= memory.bytes();
  free_.erase(std::next(at).base());
  return memory;
}

bool OutputPool::drop_oldest(int64_t room) {
  Tensor dropped;  // freed without the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool fits = room > 0 && free_.size() < kMaxBlocks && held_ + room <= kMaxBytes;
  if (fits || free_.empty()) return false;
  dropped = std::move(free_.front());
  held_ -= dropped.bytes();
  free_.erase(free_.begin());
  return true;
}

void OutputPool::take_back(Tensor memory) {
  while (drop_oldest(memory.bytes())) {
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (free_.size() == kMaxBlocks) return;  // another thread was faster
  held_ += memory.bytes();
  free_.push_back(std::move(memory));
}

}  // namespace nnex::run
