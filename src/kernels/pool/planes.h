#pragma once
// Pooling of planes where they lie: x [batch, channels, spatial...].

#include <cstddef>
#include <cstdint>

#include "base/threads.h"
#include "kernels/pool/pool.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// Planes are read where they lie. Where windows reach beyond the input, and where long lines of them are two apart and
/// share values, some lines at a time are copied with their border; in steps of two the even values before the odd
/// ones.
class PoolPlanes {
 public:
  PoolPlanes(const simd::Loops& loops, const PoolWindow& window, bool maximum);

  /// Whether loops take the windows and the padded plane is small. Averages are of one or two axes.
  bool fit() const { return fits_; }
  /// Bytes of workspace that run() needs with a team of `threads`.
  int64_t workspace(int threads) const;

  /// Max: the greatest tap inside the input, as max_pool() without zeros_count.
  void max(const simd::Loops& loops, Team& team, const float* x, float* y, std::byte* workspace) const;
  /// As average_pool().
  void average(const simd::Loops& loops, Team& team, PoolDivisor divisor, const float* x, float* y,
               std::byte* workspace) const;

 private:
  int64_t parts(int threads) const;
  int64_t scratch_floats() const;
  int64_t slab() const;
  int64_t copied_floats() const;
  int64_t down_floats() const;
  int64_t band_rows(int64_t lines) const;
  void copy_in(const simd::Loops& loops, const float* x, int64_t first, int64_t rows, float outside, float* to) const;
  void fold(const simd::Loops& loops, bool maximum, float divisor, const float* divisors, const float* from,
            float* across, int64_t lines, int64_t planes, float* y) const;
  void pool(const simd::Loops& loops, bool maximum, float divisor, const float* divisors, const float* x,
            int64_t planes, float* scratch, float* y) const;
  bool max_down(const simd::Loops& loops, const float* x, int64_t planes, float* folded, float* y) const;
  void max_planes(const simd::Loops& loops, const float* x, int64_t planes, float* scratch, float* y) const;
  int64_t at_once() const;
  template <class F>
  void each_channel(Team& team, std::byte* workspace, float outside, F f) const;

  PoolWindow window_;
  int64_t rows_ = 0, pitch_ = 0;  // of the plane that windows see
  bool fits_ = false;
  bool volumes_ = false;  // windows over three axes
  bool copies_ = false;
  int64_t band_ = 0;                         // output lines whose input is copied at once; all where nothing is
  int64_t phase_ = 0;                        // floats of a copied line's even values; 0: they lie side by side
  bool separable_ = false;                   // a maximum along rows, then down columns, takes fewer loads
  int64_t down_lines_ = 0, down_pitch_ = 0;  // of a maximum down columns first, then along rows; 0: none is
};

/// The greatest tap inside the input and its place, of planes where they lie; NaN wins, of equal ones the first. An
/// empty window gives -inf and -1. What an index counts is as in ops/pool.h. y or at may be null. Windows are of one or
/// two axes.
enum class PoolIndex : uint8_t { window, tensor, tensor_column_major };
void max_pool_indices(Team& team, const PoolWindow& window, PoolIndex index, const float* x, float* y, int64_t* at);

}  // namespace nnex::kernels
