#pragma once
// Walking several tensors as one broadcast shape, a row at a time.

#include <array>
#include <cstdint>
#include <vector>

#include "base/try.h"
#include "nnex/shape.h"

namespace nnex {

/// The order in which N operands are read when each is stretched to the shape `to`. Axes that all of them walk evenly
/// are joined, so that dense operands are one row.
template <size_t N>
class BroadcastWalk {
 public:
  using Offsets = std::array<int64_t, N>;

  /// Every operand broadcasts to `to` (numpy: extents meet from the last axis).
  BroadcastWalk(const Shape& to, const std::array<const Shape*, N>& operands) {
    Offsets pace;  // elements between neighbours along the axis at hand, were it not stretched
    pace.fill(1);
    for (int64_t i = 0; i < to.rank(); ++i) {
      const int64_t extent = to[to.rank() - 1 - i];
      Axis axis{extent, {}};
      for (size_t k = 0; k < N; ++k) {
        const Shape& s = *operands[k];
        const int64_t own = i < s.rank() ? s[s.rank() - 1 - i] : 1;
        axis.step[k] = own == 1 ? 0 : pace[k];
        pace[k] *= own;
      }
      count_ *= extent;
      if (extent != 1) join(axis);
    }
    if (axes_.empty()) axes_.push_back({1, {}});
  }

  /// Calls row(at, from, n, step) for every innermost row: elements at .. at+n-1 of the result read operand k at
  /// from[k], from[k] + step[k], ...
  template <class F>
  void rows(F row) const {
    if (count_ == 0) return;
    const int64_t n = axes_[0].extent;
    const Offsets step = axes_[0].step;
    std::vector<int64_t> index(axes_.size());
    Offsets from{};
    for (int64_t at = 0; at < count_; at += n) {
      row(at, static_cast<const Offsets&>(from), n, step);
      for (size_t a = 1; a < axes_.size(); ++a) {
        for (size_t k = 0; k < N; ++k) from[k] += axes_[a].step[k];
        if (++index[a] < axes_[a].extent) break;
        index[a] = 0;
        for (size_t k = 0; k < N; ++k) from[k] -= axes_[a].step[k] * axes_[a].extent;
      }
    }
  }

 private:
  struct Axis {
    int64_t extent;
    Offsets step;
  };

  void join(const Axis& axis) {
    if (!axes_.empty()) {
      Axis& inner = axes_.back();
      bool even = true;
      for (size_t k = 0; k < N; ++k) even = even && axis.step[k] == inner.step[k] * inner.extent;
      if (even) {
        inner.extent *= axis.extent;
        return;
      }
    }
    axes_.push_back(axis);
  }

  std::vector<Axis> axes_;  // innermost first
  int64_t count_ = 1;
};

}  // namespace nnex
