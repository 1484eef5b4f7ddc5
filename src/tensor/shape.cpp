#include "nnex/shape.h"

#include <algorithm>

#include "base/checked.h"

namespace nnex {

Shape::Shape(std::span<const int64_t> extents) : rank_(static_cast<int64_t>(extents.size())) {
  int64_t* to = inline_;
  if (rank_ > kInline) to = heap_ = new int64_t[extents.size()];
  std::copy(extents.begin(), extents.end(), to);
}

Shape::Shape(Shape&& other) noexcept : rank_(other.rank_) {
  if (rank_ > kInline) {
    heap_ = other.heap_;
    other.rank_ = 0;
  } else {
    std::copy(other.inline_, other.inline_ + kInline, inline_);
  }
}

Shape& Shape::operator=(const Shape& other) {
  if (this != &other) *this = Shape(other.extents());
  return *this;
}

Shape& Shape::operator=(Shape&& other) noexcept {
  if (this == &other) return *this;
  this->~Shape();
  return *new (this) Shape(std::move(other));
}

Shape::~Shape() {
  if (rank_ > kInline) delete[] heap_;
}

std::optional<int64_t> Shape::checked_count() const {
  int64_t product = 1;
  bool empty = false;
  for (int64_t extent : *this) empty |= extent == 0;
  if (empty) return 0;
  for (int64_t extent : *this) {
    auto p = checked_mul(product, extent);
    if (!p || extent < 0) return std::nullopt;
    product = *p;
  }
  return product;
}

int64_t Shape::count() const { return checked_count().value_or(0); }

std::string Shape::text() const {
  std::string out = "[";
  for (int64_t i = 0; i < rank_; ++i) out += (i ? "," : "") + std::to_string((*this)[i]);
  return out + "]";
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  std::vector<int64_t> out(static_cast<size_t>(std::max(a.rank(), b.rank())), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t back = static_cast<int64_t>(i) + 1;
    const int64_t x = back <= a.rank() ? a[a.rank() - back] : 1, y = back <= b.rank() ? b[b.rank() - back] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return Shape(out);
}

}  // namespace nnex
