#pragma once
// A list that grows at its end.

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace nnex {

/// Elements stay where they are as it grows, and each is found by a shift and a mask (std::deque divides by how many of
/// them are 512 bytes). One that was moved from is empty.
template <class T>
class StableList {
 public:
  StableList() = default;
  StableList(StableList&& other) noexcept : pages_(std::move(other.pages_)), size_(std::exchange(other.size_, 0)) {}
  StableList& operator=(StableList&& other) noexcept {
    pages_ = std::move(other.pages_), size_ = std::exchange(other.size_, 0);
    return *this;
  }
  StableList(const StableList& other) {
    resize(other.size_);
    for (size_t i = 0; i < size_; ++i) (*this)[i] = other[i];
  }
  StableList& operator=(const StableList&) = delete;
  ~StableList() = default;

  size_t size() const { return size_; }
  T& operator[](size_t i) { return pages_[i / kPage][i % kPage]; }
  const T& operator[](size_t i) const { return pages_[i / kPage][i % kPage]; }
  T& emplace_back() {
    resize(size_ + 1);
    return (*this)[size_ - 1];
  }
  /// To more elements than there are.
  void resize(size_t size) {
    while (pages_.size() * kPage < size) pages_.push_back(std::make_unique<T[]>(kPage));
    size_ = size;
  }

 private:
  static constexpr size_t kPage = 32;
  std::vector<std::unique_ptr<T[]>> pages_;
  size_t size_ = 0;
};

}  // namespace nnex
