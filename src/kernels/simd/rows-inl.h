// Folding a row of float32 by the fixed rule: 16 partials, partial j over elements j, j + 16, ..., then one tree.
// Included by files under simd/ inside foreach_target; the guard toggles once for each instruction set.

#if defined(NNEX_KERNELS_SIMD_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NNEX_KERNELS_SIMD_ROWS_INL_H_
#undef NNEX_KERNELS_SIMD_ROWS_INL_H_
#else
#define NNEX_KERNELS_SIMD_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;
using VF32 = hn::Vec<F32>;

/// The 16 partials, in as many vectors as they fill.
struct Partials {
  static constexpr size_t kVectors = 16 / HWY_MIN(HWY_LANES(float), 16);
  VF32 v[kVectors];

  explicit HWY_INLINE Partials(float value) {
    HWY_UNROLL(16)
    for (size_t k = 0; k < kVectors; ++k) v[k] = hn::Set(F32(), value);
  }

  /// Joins partial j with j + 8, then 4, 2, 1, by op on vectors of one lane's meaning.
  template <class Op>
  HWY_INLINE float tree(Op op) const {
    const F32 d;
    alignas(64) float a[32];
    for (size_t k = 0; k < kVectors; ++k) hn::Store(v[k], d, a + k * hn::Lanes(d));
    const hn::CappedTag<float, 8> d8;
    const hn::CappedTag<float, 4> d4;
    const hn::CappedTag<float, 1> d1;
    for (size_t j = 0; j < 8; j += hn::Lanes(d8))
      hn::StoreU(op(d8, hn::LoadU(d8, a + j), hn::LoadU(d8, a + 8 + j)), d8, a + j);
    for (size_t j = 0; j < 4; j += hn::Lanes(d4))
      hn::StoreU(op(d4, hn::LoadU(d4, a + j), hn::LoadU(d4, a + 4 + j)), d4, a + j);
    const auto low = op(d1, hn::LoadU(d1, a), hn::LoadU(d1, a + 2)),
               high = op(d1, hn::LoadU(d1, a + 1), hn::LoadU(d1, a + 3));
    return hn::GetLane(op(d1, low, high));
  }
};

/// Calls step(k, vector of 16-element group, offset) over a row: partial vector k takes x[offset ...]. The last group
/// is padded with `pad`, and `count` says how many of its elements are real.
template <class Step>
HWY_INLINE void each_sixteen(const float* x, size_t n, float pad, Step step) {
  const F32 d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    HWY_UNROLL(16)
    for (size_t k = 0; k < Partials::kVectors; ++k) step(k, hn::LoadU(d, x + i + k * lanes), i + k * lanes);
  }
  if (i < n) {
    alignas(64) float padded[16];
    for (size_t j = 0; j < 16; ++j) padded[j] = j < n - i ? x[i + j] : pad;
    for (size_t k = 0; k < Partials::kVectors; ++k) step(k, hn::Load(d, padded + k * lanes), i + k * lanes);
  }
}

}  // namespace nnex::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
