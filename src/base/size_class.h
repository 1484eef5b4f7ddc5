#pragma once
// Sizes that memory is asked for in, so that what grows from run to run finds the memory of the run before.

#include <cstdint>

namespace nnex {

/// The bytes to ask for where so many are needed: from 16 KiB on a multiple of an eighth of the power of two at or
/// below it. Blocks of growing sizes are then alike until one needs an eighth more, and leave no gaps that nothing fits
/// in; what is asked for in excess is never touched.
constexpr int64_t size_class(int64_t bytes) {
  if (bytes < 16 << 10) return bytes;
  int64_t power = 16 << 10;
  while (power <= bytes / 2) power *= 2;
  const int64_t step = power / 8;
  return bytes > INT64_MAX - step ? bytes : (bytes + step - 1) / step * step;
}

}  // namespace nnex
