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
namespace nnex::kernels::simd::HWY_NAMESPACE {
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
#if HWY_TARGET == HWY_SCALAR
    const F32 d;
    VF32 a[16];
    for (size_t j = 0; j < 16; ++j) a[j] = v[j];
    for (size_t far = 8; far > 0; far /= 2)
      for (size_t j = 0; j < far; ++j) a[j] = op(d, a[j], a[j + far]);
    return hn::GetLane(a[0]);
#else
    const hn::CappedTag<float, 4> d4;
    const auto four = to_four(v, op);
    const auto two = op(d4, four, hn::Shuffle1032(four));
    return hn::GetLane(op(d4, two, hn::Shuffle2301(two)));
#endif
  }

 private:
#if HWY_TARGET != HWY_SCALAR
  using Four = hn::Vec<hn::CappedTag<float, 4>>;

  /// Partials 0 to 3 after two joins, from four vectors of 4, two of 8, one of 16.
  template <class V, class Op>
  static HWY_INLINE Four to_four(const V (&v)[4], Op op) {
    const hn::CappedTag<float, 4> d4;
    return op(d4, op(d4, v[0], v[2]), op(d4, v[1], v[3]));
  }
  template <class V, class Op>
  static HWY_INLINE Four to_four(const V (&v)[2], Op op) {
    const hn::CappedTag<float, 8> d8;
    return halves_joined(op(d8, v[0], v[1]), op);
  }
  template <class V, class Op>
  static HWY_INLINE Four to_four(const V (&v)[1], Op op) {
    const hn::CappedTag<float, 8> d8;
    return halves_joined(op(d8, hn::LowerHalf(d8, v[0]), hn::UpperHalf(d8, v[0])), op);
  }
  template <class V, class Op>
  static HWY_INLINE Four halves_joined(V eight, Op op) {
    const hn::CappedTag<float, 4> d4;
    return op(d4, hn::LowerHalf(d4, eight), hn::UpperHalf(d4, eight));
  }
#endif
};

/// The sum of 16 partial sums.
HWY_INLINE float join_sums(const Partials& p) {
  return p.tree([](auto, auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
}

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
  if (i == n) return;
  const size_t left = n - i;
  const VF32 pads = hn::Set(d, pad);
  HWY_UNROLL(2)  // all of AVX2's and AVX-512's: then partials stay in registers
  for (size_t k = 0; k < Partials::kVectors; ++k) {
    const size_t first = k * lanes;
    VF32 part = pads;
    if (left >= first + lanes)
      part = hn::LoadU(d, x + i + first);
    else if (left > first)
      part = hn::IfThenElse(hn::FirstN(d, left - first), load_part(d, x + i + first, left - first), pads);
    step(k, part, i + first);
  }
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
