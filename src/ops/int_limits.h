#pragma once
// Limits of integer element types, for kernels that run widened.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "nnex/dtype.h"

namespace nnex {

/// Smallest and largest value of an integer (or bool) element type; u64 ends at its own maximum.
struct IntLimits {
  int64_t low = std::numeric_limits<int64_t>::min();
  uint64_t high = std::numeric_limits<int64_t>::max();
};

inline IntLimits int_limits(DType type) {
  if (type == DType::boolean) return {0, 1};
  const int width = bits(type);
  if (is_unsigned_int(type)) return {0, width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1};
  if (!is_signed_int(type) || width >= 64) return {};
  return {-(int64_t{1} << (width - 1)), (uint64_t{1} << (width - 1)) - 1};
}

/// An integer from a double: truncated, saturated to `type`'s range, NaN is 0. T is i64 or u64 and holds the range.
template <class T>
T saturated_int(double x, DType type) {
  const IntLimits r = int_limits(type);
  if (x != x) return 0;
  if (x >= static_cast<double>(r.high)) return static_cast<T>(r.high);
  if (x <= static_cast<double>(r.low)) return static_cast<T>(r.low);
  return static_cast<T>(x);
}

}  // namespace nnex
