#include "base/large_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/mapped_file.h"
#include "base/size_class.h"
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace nnex {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kBlock = 2 * kHugePage;
constexpr int64_t kDiscardFrom = 64 << 10;  ///< Smaller pieces wait for their block.

std::shared_ptr<void> plain(int64_t bytes) {
  void* p = allocate_aligned(bytes);
  return p ? std::shared_ptr<void>(p, [](void* q) { std::free(q); }) : nullptr;
}

}  // namespace

void* allocate_aligned(int64_t bytes) {
  const bool huge = bytes >= kHugePage;
#if defined(__EMSCRIPTEN__)  // what is not touched is there, too
  const int64_t size = bytes;
#else
  const int64_t size = size_class(bytes);
#endif
  void* p = nullptr;
  if (posix_memalign(&p, static_cast<size_t>(huge ? kHugePage : kAlignment),
                     static_cast<size_t>(std::max<int64_t>(size, 1))) != 0)
    return nullptr;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // What is left over stays in small pages: it would hold a whole huge one.
  if (huge) madvise(p, static_cast<size_t>(bytes / kHugePage * kHugePage), MADV_HUGEPAGE);
#endif
  return p;
}

std::shared_ptr<void> zeroed(int64_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (bytes >= kHugePage) {  // the C library knows that new pages hold zeros
    void* whole = std::calloc(static_cast<size_t>(bytes + kHugePage), 1);
    if (!whole) return nullptr;
    const auto from = reinterpret_cast<uintptr_t>(whole);
    void* p = static_cast<std::byte*>(whole) + (kHugePage - from % kHugePage) % kHugePage;
    madvise(p, static_cast<size_t>(bytes / kHugePage * kHugePage), MADV_HUGEPAGE);
    return {p, [whole](void*) { std::free(whole); }};
  }
#endif
  auto made = plain(bytes);
  if (made) std::memset(made.get(), 0, static_cast<size_t>(bytes));
  return made;
}

std::shared_ptr<void> SharedBlocks::take(int64_t bytes) {
#if defined(__EMSCRIPTEN__)  // no pages there
  return plain(bytes);
#endif
  const std::lock_guard lock(mutex_);
  taken_ += bytes;
  if (bytes >= kHugePage || taken_ < kHugePage) return plain(bytes);
  if (!block_ || kBlock - used_ < bytes) {
    block_ = plain(kBlock);
    used_ = 0;
    if (!block_) return nullptr;
  }
  std::byte* const piece = static_cast<std::byte*>(block_.get()) + used_;
  used_ = std::min(kBlock, (used_ + bytes + kAlignment - 1) / kAlignment * kAlignment);
  // An owner of its own, who is told apart from those of other pieces.
  return {piece, [block = block_, bytes](void* p) {
            if (bytes >= kDiscardFrom) discard_pages(p, static_cast<uint64_t>(bytes));
          }};
}

}  // namespace nnex
