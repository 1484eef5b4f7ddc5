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

/// A vector of results whose windows are one apart: step(kept, next) folds.
template <class Step>
HWY_INLINE Line pool_near(const PoolLines& p, const float* x, Step step) {
  const LineTag d;
  Line kept = hn::LoadU(d, x);
  for (size_t r = 0; r < p.rows; ++r)
    for (size_t t = r == 0; t < p.taps; ++t) kept = step(kept, hn::LoadU(d, x + r * p.row_step + t * p.dilation));
  return kept;
}

#if HWY_TARGET != HWY_SCALAR
/// The same of windows two apart, two taps at a time; of an odd count the last is read with the one before it.
template <class Step>
HWY_INLINE Line pool_far(const PoolLines& p, const float* x, Step step) {
  const LineTag d;
  Line kept, a, b;
  hn::LoadInterleaved2(d, x, kept, b);
  kept = step(kept, b);
  for (size_t r = 0; r < p.rows; ++r) {
    const float* const row = x + r * p.row_step;
    size_t t = r == 0 ? 2 : 0;
    for (; t + 2 <= p.taps; t += 2) {
      hn::LoadInterleaved2(d, row + t, a, b);
      kept = step(step(kept, a), b);
    }
    if (t == p.taps) continue;
    hn::LoadInterleaved2(d, row + t - 1, a, b);
    kept = step(kept, b);
  }
  return kept;
}
#else
template <class Step>
HWY_INLINE Line pool_far(const PoolLines& p, const float* x, Step step) {
  return pool_near(p, x, step);  // vectors of one lane
}
#endif

template <class Step>
HWY_INLINE Line pool_vector(const PoolLines& p, const float* x, Step step) {
  return p.stride == 1 ? pool_near(p, x, step) : pool_far(p, x, step);
}

/// next > kept ? next : kept, which is x86's own rule.
HWY_INLINE Line greater_of(Line next, Line kept) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Max(next, kept);
#else
  return hn::IfThenElse(hn::Gt(next, kept), next, kept);
#endif
}

/// By comparisons alone, which keep a NaN that comes first but none that comes later: then all is folded again.
HWY_INLINE Line greatest(const PoolLines& p, const float* x) {
  const LineTag d;
  auto nan = hn::FirstN(d, 0);
  const Line v = pool_vector(p, x, [&](Line kept, Line next) HWY_ATTR {
    nan = hn::Or(nan, hn::IsNaN(next));
    return greater_of(next, kept);
  });
  if (HWY_LIKELY(hn::AllFalse(d, nan))) return v;
  return pool_vector(p, x, [&](Line kept, Line next) HWY_ATTR { return max_f32(d, next, kept); });
}

/// The last vector of a line may overlap the one before it.
template <bool maximum>
HWY_INLINE void pool_line(const PoolLines& p, const float* x, float* y) {
  const LineTag d;
  const size_t lanes = hn::Lanes(d);
  if (p.n < lanes) {
    for (size_t o = 0; o < p.n; ++o) y[o] = pool_one<maximum>(p, x + o * p.stride);
    return;
  }
  const Line by = hn::Set(d, p.divisor);
  for (size_t i = 0; i < p.n; i += lanes) {
    const size_t o = HWY_MIN(i, p.n - lanes);
    const float* const from = x + o * p.stride;
    if constexpr (maximum) {
      hn::StoreU(greatest(p, from), d, y + o);
    } else {
      const Line sum = pool_vector(p, from, [](Line kept, Line next) HWY_ATTR { return hn::Add(kept, next); });
      hn::StoreU(hn::Div(sum, by), d, y + o);
    }
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
