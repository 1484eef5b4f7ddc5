#pragma once
// Memory of one parse: nodes lie one after another and go all at once.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace nnex::graph_text {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Bytes at a multiple of 8.
  void* allocate(size_t bytes) {
    bytes = (bytes + 7) & ~size_t{7};
    if (bytes > left_) grow(bytes);
    void* p = next_;
    next_ += bytes, left_ -= bytes;
    return p;
  }
  template <class T>
  std::span<const T> copy(const T* from, size_t n) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 8);
    if (n == 0) return {};
    void* p = allocate(n * sizeof(T));
    std::memcpy(p, static_cast<const void*>(from), n * sizeof(T));
    return {static_cast<const T*>(p), n};
  }
  template <class T>
  const T* make(const T& value) {
    return copy(&value, 1).data();
  }
  std::string_view copy(std::string_view s) {
    const auto bytes = copy(s.data(), s.size());
    return {bytes.data(), bytes.size()};
  }
  /// Keeps something with a destructor.
  template <class T>
  const T* own(T value) {
    auto p = std::make_shared<const T>(std::move(value));
    const T* raw = p.get();
    owned_.push_back(std::move(p));
    return raw;
  }
  /// Forgets everything; the largest chunk is used again.
  void reset() {
    if (!owned_.empty()) owned_.clear();
    if (chunks_.empty()) return;
    if (chunks_.size() > 1) chunks_.erase(chunks_.begin(), chunks_.end() - 1);
    next_ = chunks_.back().bytes.get(), left_ = chunks_.back().size;
  }

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
    size_t size;
  };
  void grow(size_t bytes) {
    size_t size = chunks_.empty() ? size_t{16} << 10 : std::min(chunks_.back().size * 2, size_t{4} << 20);
    size = std::max(size, bytes);
    chunks_.push_back({std::make_unique<std::byte[]>(size), size});
    next_ = chunks_.back().bytes.get(), left_ = size;
  }

  std::vector<Chunk> chunks_;
  std::vector<std::shared_ptr<const void>> owned_;
  std::byte* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace nnex::graph_text
