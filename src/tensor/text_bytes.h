#pragma once
// How many bytes texts take: tensors of them count their objects alone.

#include <algorithm>
#include <cstdint>
#include <span>

#include "nnex/tensor.h"

namespace nnex {

/// Bytes of a tensor's texts; 0 of other types.
inline int64_t text_bytes(const Tensor& t) {
  int64_t sum = 0;
  if (t.dtype() == DType::str)
    for (const std::string& s : t.strings()) sum += static_cast<int64_t>(s.size());
  return sum;
}

/// The most bytes of the longest text that an operator makes of these inputs, which may be null: one of each, joined.
inline int64_t longest_text(std::span<const Tensor* const> inputs) {
  int64_t sum = 0;
  for (const Tensor* t : inputs) {
    if (!t || t->dtype() != DType::str) continue;
    size_t longest = 0;
    for (const std::string& s : t->strings()) longest = std::max(longest, s.size());
    sum += static_cast<int64_t>(longest);
  }
  return sum;
}

}  // namespace nnex
