// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/loops_lines.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"
#include "kernels/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using LineTag = hn::ScalableTag<float>;
using Line = hn::Vec<LineTag>;

/// Of equal ones the earlier stays, NaN wins.
template <bool maximum>
HWY_INLINE Line folded(Line kept, Line next) {
  if constexpr (maximum) return max_f32(LineTag(), next, kept);
  return hn::Add(kept, next);
}
template <bool maximum>
HWY_INLINE float folded(float kept, float next) {
  if constexpr (maximum) return next > kept || next != next ? next : kept;
  return kept + next;
}

/// One result by itself.
template <bool maximum>
HWY_INLINE float pool_one(const PoolLines& p, const float* x) {
  float kept = x[0];
  for (size_t r = 0; r < p.rows; ++r)
    for (size_t t = 0; t < p.taps; ++t)
      if (r + t > 0) kept = folded<maximum>(kept, x[r * p.row_step + t * p.dilation]);
  return maximum ? kept : kept / p.divisor;
}

/// A vector of results whose windows are one apart.
template <bool maximum>
HWY_INLINE Line pool_near(const PoolLines& p, const float* x) {
  const LineTag d;
  Line kept = hn::LoadU(d, x);
  for (size_t r = 0; r < p.rows; ++r)
    for (size_t t = r == 0; t < p.taps; ++t)
      kept = folded<maximum>(kept, hn::LoadU(d, x + r * p.row_step + t * p.dilation));
  return kept;
}

#if HWY_TARGET != HWY_SCALAR
/// The same of windows two apart, two taps at a time; of an odd count the last is read with the one before it.
template <bool maximum>
HWY_INLINE Line pool_far(const PoolLines& p, const float* x) {
  const LineTag d;
  Line kept, a, b;
  hn::LoadInterleaved2(d, x, kept, b);
  kept = folded<maximum>(kept, b);
  for (size_t r = 0; r < p.rows; ++r) {
    const float* const row = x + r * p.row_step;
    size_t t = r == 0 ? 2 : 0;
    for (; t + 2 <= p.taps; t += 2) {
      hn::LoadInterleaved2(d, row + t, a, b);
      kept = folded<maximum>(folded<maximum>(kept, a), b);
    }
    if (t == p.taps) continue;
    hn::LoadInterleaved2(d, row + t - 1, a, b);
    kept = folded<maximum>(kept, b);
  }
  return kept;
}
#else
template <bool maximum>
HWY_INLINE Line pool_far(const PoolLines& p, const float* x) {
  return pool_near<maximum>(p, x);  // vectors of one lane
}
#endif

/// The last vector of a line may overlap the one before it.
template <bool maximum>
HWY_INLINE void pool_line(const PoolLines& p, const float* x, float* y) {
  const LineTag d;
  const size_t lanes = hn::Lanes(d);
  const Line by = hn::Set(d, p.divisor);
  if (p.n < lanes) {
    for (size_t o = 0; o < p.n; ++o) y[o] = pool_one<maximum>(p, x + o * p.stride);
    return;
  }
  for (size_t i = 0; i < p.n; i += lanes) {
    const size_t o = HWY_MIN(i, p.n - lanes);
    const float* const from = x + o * p.stride;
    const Line v = p.stride == 1 ? pool_near<maximum>(p, from) : pool_far<maximum>(p, from);
    hn::StoreU(maximum ? v : hn::Div(v, by), d, y + o);
  }
}

void pool_lines_f32(const PoolLines& p) {
  for (size_t line = 0; line < p.lines; ++line) {
    if (p.maximum) {
      pool_line<true>(p, p.x + line * p.x_step, p.y + line * p.y_step);
    } else {
      pool_line<false>(p, p.x + line * p.x_step, p.y + line * p.y_step);
    }
  }
}

}  // namespace nnex::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::simd {
NNEX_SIMD_BUILDS(pool_lines_f32);
}  // namespace nnex::simd
#endif
