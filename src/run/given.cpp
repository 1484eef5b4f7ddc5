#include "run/given.h"

#include <algorithm>
#include <functional>

#include "tensor/kept.h"

namespace nnex::run {

void GivenMemory::take(std::span<const Value> values) {
  pieces_.clear();
  const auto add = [&](const Tensor& t) {
    if (t.bytes() > 0 && t.data()) pieces_.emplace_back(t.data(), t.data() + t.bytes());
    return false;
  };
  for (const Value& v : values) (void)any_tensor(v, add);
  std::sort(pieces_.begin(), pieces_.end(), std::less<>());
  size_t count = 0;
  for (const Piece& piece : pieces_) {
    if (count > 0 && piece.first < pieces_[count - 1].second)
      pieces_[count - 1].second = std::max(pieces_[count - 1].second, piece.second);
    else
      pieces_[count++] = piece;
  }
  pieces_.resize(count);
}

bool GivenMemory::holds(const Tensor& t) const {
  if (t.bytes() == 0 || pieces_.empty()) return false;
  // The first piece that ends behind the tensor's begin.
  const auto at = std::upper_bound(pieces_.begin(), pieces_.end(), t.data(),
                                   [](const std::byte* begin, const Piece& piece) { return begin < piece.second; });
  return at != pieces_.end() && at->first < t.data() + t.bytes();
}

Result<Value> GivenMemory::apart(const Value& v) const {
  return with_copies(v, [&](const Tensor& t) { return holds(t); });
}

}  // namespace nnex::run
