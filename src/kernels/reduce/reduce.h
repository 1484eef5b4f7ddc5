#pragma once
// Reductions of tensors.

#include <cstdint>
#include <span>

#include "base/threads.h"
#include "kernels/reduce/reduce_kind.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// A reduction prepared for one shape: x of `shape` folded along `axes` (distinct, not negative). Axes that stand
/// together fold as one; each further group is one more pass over the shrunken tensor.
class AxisFold {
 public:
  AxisFold(ReduceKind kind, std::span<const int64_t> shape, std::span<const int64_t> axes);

  /// Bytes of workspace that run() needs for elements of so many bytes (0 for one group of axes).
  int64_t workspace(int64_t element) const;
  /// False for a shape with more groups of axes than an AxisFold holds; then it must not run.
  bool ok() const { return ok_; }
  /// y is dense, without the folded axes; workspace is aligned to an element. T: float or double; of int32_t, int64_t,
  /// uint8_t and int8_t sums, which wrap, their means and extremes.
  template <class T>
  void run(const simd::Loops& loops, Team& team, const T* x, T* y, void* workspace) const;

 private:
  static constexpr int kMaxStages = 4;
  struct Stage {
    int64_t outer = 1, n = 1, inner = 1;
  };

  ReduceKind kind_;
  Stage stages_[kMaxStages] = {};
  int count_ = 0;
  int64_t folded_ = 1;  // elements folded into one
  bool ok_ = true;
};

/// y[o, i] = kind over k of x[o, k, i], for x of shape [outer, n, inner].
void reduce_middle(const simd::Loops& loops, Team& team, ReduceKind kind, const float* x, float* y, int64_t outer,
                   int64_t n, int64_t inner);

/// y[o, i] = the k of the greatest (or least) x[o, k, i]; the first NaN wins; of ties the first, or the last. n >= 1.
void arg_extreme(const simd::Loops& loops, Team& team, bool greatest, bool last_of_ties, const float* x, int64_t* y,
                 int64_t outer, int64_t n, int64_t inner);

}  // namespace nnex::kernels
