#pragma once
// Pooling of planes where they lie: x [batch, channels, spatial...], windows over one or two spatial axes.

#include <cstddef>
#include <cstdint>

#include "base/threads.h"
#include "kernels/pool/pool.h"
#include "kernels/simd/loops.h"

namespace nnex {

/// How a plane is copied: padded, each stride's phases by themselves, so that every tap of all windows of a plane is one
/// run of values.
class PoolPlanes {
 public:
  explicit PoolPlanes(const PoolWindow& window);

  /// Whether the windows are of one or two axes, few taps, and the padded plane is small.
  bool fit() const { return fits_; }
  /// Bytes of workspace that run() needs with a team of `threads`.
  int64_t workspace(int threads) const;

  /// Max: the greatest tap inside the input, as max_pool() without zeros_count.
  void max(const simd::Loops& loops, Team& team, const float* x, float* y, std::byte* workspace) const;
  /// As average_pool().
  void average(const simd::Loops& loops, Team& team, PoolDivisor divisor, const float* x, float* y,
               std::byte* workspace) const;

 private:
  struct Scratch {
    float* plane;   ///< [row phase][column phase][rows_][pitch_]
    float* across;  ///< Of max: the greatest along each row's windows; else none.
    float* result;  ///< [out rows][pitch_]
  };

  int64_t parts(int threads) const;
  int64_t plane_floats() const { return window_.stride[1] * window_.stride[2] * rows_ * pitch_; }
  int64_t scratch_floats() const;
  Scratch scratch(std::byte* workspace, int64_t part) const;
  /// Where row r and column c of the padded plane lie.
  int64_t place(int64_t r, int64_t c) const;
  void copy_in(const float* x, float* plane) const;
  void copy_out(const float* result, float* y) const;
  void fold(const simd::Loops& loops, bool maximum, const Scratch& s, float divisor, float* to) const;
  void fold_across(const simd::Loops& loops, const Scratch& s, float* to) const;
  template <class F>
  void each_plane(Team& team, std::byte* workspace, float outside, F f) const;

  PoolWindow window_;
  int64_t rows_ = 0, pitch_ = 0;  // of a phase
  bool fits_ = false;
  bool separable_ = false;  // a maximum along rows, then down columns, takes fewer loads
};

/// The greatest tap inside the input and its place, of planes where they lie; NaN wins, of equal ones the first. An empty
/// window gives -inf and -1. What an index counts is as in ops/pool.h. y or at may be null. The windows fit PoolPlanes.
enum class PoolIndex : uint8_t { window, tensor, tensor_column_major };
void max_pool_indices(Team& team, const PoolWindow& window, PoolIndex index, const float* x, float* y, int64_t* at);

}  // namespace nnex
