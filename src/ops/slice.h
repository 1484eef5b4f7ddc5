#pragma once

#include <cstdint>
#include <utility>

namespace nnex {

/// First element and count of a slice of an axis of n elements; stride is not 0.
std::pair<int64_t, int64_t> slice_range(int64_t n, int64_t begin, int64_t end, int64_t stride);

}  // namespace nnex
