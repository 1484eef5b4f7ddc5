#pragma once
// Bytes copied, of which there may be none: memcpy wants pointers that are not null even then.

#include <cstdint>
#include <cstring>

namespace nnex {

inline void copy_bytes(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

}  // namespace nnex
