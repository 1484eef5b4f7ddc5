#pragma once
/// Shape: the extents of a tensor that has memory.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace nnex {

/// Concrete extents, outermost first. Rank 0 is a scalar; zero extents are legal; no tensor is made with negative ones.
/// Up to six axes are stored in place. Axes are not checked: 0 <= axis < rank().
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) : Shape(std::span<const int64_t>(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const int64_t> extents);
  explicit Shape(const std::vector<int64_t>& extents) : Shape(std::span<const int64_t>(extents)) {}
  Shape(const Shape& other) : Shape(other.extents()) {}
  Shape(Shape&& other) noexcept;
  Shape& operator=(const Shape& other);
  Shape& operator=(Shape&& other) noexcept;
  ~Shape();

  int64_t rank() const { return rank_; }
  bool scalar() const { return rank_ == 0; }
  const int64_t* begin() const { return rank_ <= kInline ? inline_ : heap_; }
  const int64_t* end() const { return begin() + rank_; }
  int64_t operator[](int64_t axis) const { return begin()[axis]; }
  void set(int64_t axis, int64_t extent) { (rank_ <= kInline ? inline_ : heap_)[axis] = extent; }
  std::span<const int64_t> extents() const { return {begin(), static_cast<size_t>(rank_)}; }

  /// Number of elements; nullopt when the product does not fit in 63 bits.
  std::optional<int64_t> checked_count() const;
  /// Number of elements of a shape whose product is known to fit (every tensor's is); 0 where it does not.
  int64_t count() const;

  /// "[1,3,224,224]"; "[]" for a scalar.
  std::string text() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int64_t i = 0; i < a.rank_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }

 private:
  static constexpr int64_t kInline = 6;
  int64_t rank_ = 0;
  union {
    int64_t inline_[kInline] = {};
    int64_t* heap_;
  };
};

/// The shape both broadcast to, extents aligned at the last axis; nullopt where extents differ and neither is 1.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);

}  // namespace nnex
#pragma GCC visibility pop
