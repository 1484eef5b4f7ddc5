#pragma once
// How node kernels see axes: x as [outer, n, inner], where n are the elements that belong together.

#include <optional>
#include <vector>

#include "nnex/shape.h"

namespace nnex::kernels {

struct Middle {
  int64_t outer = 1, n = 1, inner = 1;
};

/// x seen with the marked axes in the middle; nothing where, extents of 1 aside, they do not stand together.
inline std::optional<Middle> middle_of(const Shape& x, const std::vector<bool>& marked) {
  Middle m;
  bool inside = false, after = false;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (x[axis] == 1) continue;
    if (marked[static_cast<size_t>(axis)]) {
      if (after) return std::nullopt;
      inside = true;
      m.n *= x[axis];
    } else {
      after |= inside;
      (inside ? m.inner : m.outer) *= x[axis];
    }
  }
  return m;
}

/// The same for one axis, which may count from the last.
inline Middle middle_of(const Shape& x, int64_t axis) {
  Middle m;
  if (axis < 0) axis += x.rank();
  for (int64_t i = 0; i < x.rank(); ++i) (i < axis ? m.outer : i == axis ? m.n : m.inner) *= x[i];
  return m;
}

}  // namespace nnex::kernels
