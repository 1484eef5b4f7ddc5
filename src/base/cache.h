#pragma once
// What the processor keeps near.

#include <cstdint>

namespace nnex {

/// Bytes of the largest cache that a thread's loads go through, at most 32 MiB; 8 MiB where the system does not say.
int64_t cache_bytes();

}  // namespace nnex
