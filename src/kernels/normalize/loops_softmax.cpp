// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalize/loops_softmax.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/math-inl.h"
#include "kernels/simd/plain-inl.h"
#include "kernels/simd/rows-inl.h"
#include "kernels/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The greatest number of a row; with NaN among them any value, since their exponentials make everything NaN. In four
/// chains: one would wait for itself.
HWY_INLINE float greatest(const float* x, size_t n) {
  const F32 d;
  constexpr int kChains = 4;
  const size_t lanes = hn::Lanes(d);
  VF32 top[kChains];
  HWY_UNROLL(4)
  for (int k = 0; k < kChains; ++k) top[k] = hn::Set(d, -__builtin_huge_valf());
  size_t i = 0;
  for (; i + kChains * lanes <= n; i += kChains * lanes) {
    HWY_UNROLL(4)
    for (int k = 0; k < kChains; ++k) top[k] = hn::Max(top[k], hn::LoadU(d, x + i + static_cast<size_t>(k) * lanes));
  }
  for (; i + lanes <= n; i += lanes) top[0] = hn::Max(top[0], hn::LoadU(d, x + i));
  if (i < n && n >= lanes) {
    top[1] = hn::Max(top[1], hn::LoadU(d, x + n - lanes));
  } else if (i < n) {
    top[0] = hn::IfThenElse(hn::FirstN(d, n), load_part(d, x, n), top[0]);
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(top[0], top[1]), hn::Max(top[2], top[3]))));
}

/// The sum of a row's exponentials, less the greatest each; keep(e, offset) takes them.
template <class M, class Keep>
HWY_INLINE float sum_of_exp(const float* x, size_t n, float max, Keep keep) {
  const F32 d;
  const VF32 top = hn::Set(d, max);
  Partials p(0.0F);
  each_sixteen(x, n, -__builtin_huge_valf(), [&](size_t k, VF32 v, size_t at) HWY_ATTR {
    const VF32 e = exp_of_negative<M>(d, hn::Sub(v, top));
    p.v[k] = hn::Add(p.v[k], e);
    keep(e, at);
  });
  return join_sums(p);
}

/// By itself: with its branches what calls it would not be put into the loop that calls that.
HWY_NOINLINE void store_last(VF32 e, float* y, size_t n) { store_part(e, F32(), y, n); }

/// Calls use(first row, rows) for groups of rows that stay in the first level cache. What one row waits for (its
/// greatest number, its sum) another fills.
constexpr size_t kGroup = 16;
template <class Use>
HWY_INLINE void each_group(size_t n, size_t rows, Use use) {
  constexpr size_t kNear = 4096;  // floats
  const size_t at_once = HWY_MAX(1, HWY_MIN(kGroup, kNear / HWY_MAX(n, 1)));
  for (size_t first = 0; first < rows; first += at_once) use(first, HWY_MIN(at_once, rows - first));
}

template <class M>
HWY_INLINE void softmax_rows(const float* all_x, float* all_y, size_t n, size_t rows) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(F32());
  each_group(n, rows, [&](size_t first, size_t count) HWY_ATTR {
    const float* const x = all_x + first * n;
    float* const y = all_y + first * n;
    alignas(64) float max[kGroup], factor[kGroup] = {};
    for (size_t r = 0; r < count; ++r) max[r] = greatest(x + r * n, n);
    for (size_t r = 0; r < count; ++r)
      factor[r] = sum_of_exp<M>(x + r * n, n, max[r], [&](VF32 e, size_t at) HWY_ATTR {
        if (at + lanes <= n) {
          hn::StoreU(e, F32(), y + r * n + at);
        } else if (at < n) {
          store_last(e, y + r * n + at, n - at);
        }
      });
    for (size_t r = 0; r < count; r += hn::Lanes(d))
      hn::Store(hn::Div(hn::Set(d, 1.0F), hn::Load(d, factor + r)), d, factor + r);
    for (size_t r = 0; r < count; ++r) {
      const auto scale = hn::Set(d, factor[r]);
      map(d, y + r * n, y + r * n, n, [&](auto v) HWY_ATTR { return hn::Mul(v, scale); });
    }
  });
}

template <class M>
HWY_INLINE void log_softmax_rows(const float* all_x, float* all_y, size_t n, size_t rows) {
  const hn::ScalableTag<float> d;
  each_group(n, rows, [&](size_t first, size_t count) HWY_ATTR {
    const float* const x = all_x + first * n;
    float* const y = all_y + first * n;
    alignas(64) float max[kGroup], sum[kGroup] = {};
    for (size_t r = 0; r < count; ++r) {
      max[r] = greatest(x + r * n, n);
      sum[r] = sum_of_exp<M>(x + r * n, n, max[r], [](VF32, size_t) {});
    }
    for (size_t r = 0; r < count; r += hn::Lanes(d)) hn::Store(log_f32<M>(d, hn::Load(d, sum + r)), d, sum + r);
    for (size_t r = 0; r < count; ++r) {
      const auto log_sum = hn::Set(d, sum[r]), shift = hn::Set(d, max[r]);
      map(d, x + r * n, y + r * n, n, [&](auto v) HWY_ATTR { return hn::Sub(hn::Sub(v, shift), log_sum); });
    }
  });
}

template <class M>
HWY_INLINE float log_sum_exp_row(const float* x, size_t n) {
  const float max = greatest(x, n);
  if (!(max - max == 0)) {  // not finite
    float sum = max;
    for (size_t i = 0; i < n; ++i) sum = x[i] == x[i] ? sum : x[i];
    return sum;
  }
  const hn::CappedTag<float, 1> one;
  const float sum = sum_of_exp<M>(x, n, max, [](VF32, size_t) {});
  return max + hn::GetLane(log_f32<M>(one, hn::Set(one, sum)));
}

float log_sum_exp_f32(const float* x, size_t n) { return log_sum_exp_row<Fused>(x, n); }
float log_sum_exp_f32_exact(const float* x, size_t n) { return log_sum_exp_row<Portable>(x, n); }
void softmax_f32(const float* x, float* y, size_t n, size_t rows) { softmax_rows<Fused>(x, y, n, rows); }
void softmax_f32_exact(const float* x, float* y, size_t n, size_t rows) { softmax_rows<Portable>(x, y, n, rows); }
void log_softmax_f32(const float* x, float* y, size_t n, size_t rows) { log_softmax_rows<Fused>(x, y, n, rows); }
void log_softmax_f32_exact(const float* x, float* y, size_t n, size_t rows) {
  log_softmax_rows<Portable>(x, y, n, rows);
}

/// One vector of columns (or a part of one): load(p) and store(v, p) say how.
template <class M, class Load, class Store>
HWY_INLINE void softmax_column(bool logarithm, const float* x, float* y, size_t stride, size_t rows, Load load,
                               Store store) {
  const hn::ScalableTag<float> d;
  auto top = load(x);
  for (size_t r = 1; r < rows; ++r) top = max_f32(d, top, load(x + r * stride));
  auto sum = hn::Zero(d);
  for (size_t r = 0; r < rows; ++r) {
    const auto e = exp_of_negative<M>(d, hn::Sub(load(x + r * stride), top));
    sum = hn::Add(sum, e);
    if (!logarithm) store(e, y + r * stride);
  }
  if (logarithm) {
    const auto log_sum = log_f32<M>(d, sum);
    for (size_t r = 0; r < rows; ++r) store(hn::Sub(hn::Sub(load(x + r * stride), top), log_sum), y + r * stride);
  } else {
    const auto scale = hn::Div(hn::Set(d, 1.0F), sum);
    for (size_t r = 0; r < rows; ++r) store(hn::Mul(load(y + r * stride), scale), y + r * stride);
  }
}

template <class M>
HWY_INLINE void softmax_of_columns(bool logarithm, const float* x, float* y, size_t stride, size_t rows,
                                   size_t columns) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  if (rows == 0) return;
  size_t c = 0;
  for (; c + lanes <= columns; c += lanes)
    softmax_column<M>(
        logarithm, x + c, y + c, stride, rows, [&](const float* p) HWY_ATTR { return hn::LoadU(d, p); },
        [&](V v, float* p) HWY_ATTR { hn::StoreU(v, d, p); });
  const size_t n = columns - c;
  if (n > 0)
    softmax_column<M>(
        logarithm, x + c, y + c, stride, rows, [&](const float* p) HWY_ATTR { return load_part(d, p, n); },
        [&](V v, float* p) HWY_ATTR { store_part(v, d, p, n); });
}

void softmax_columns_f32(bool logarithm, const float* x, float* y, size_t stride, size_t rows, size_t columns) {
  softmax_of_columns<Fused>(logarithm, x, y, stride, rows, columns);
}
void softmax_columns_f32_exact(bool logarithm, const float* x, float* y, size_t stride, size_t rows, size_t columns) {
  softmax_of_columns<Portable>(logarithm, x, y, stride, rows, columns);
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(softmax_f32);
NNEX_SIMD_BUILDS(softmax_f32_exact);
NNEX_SIMD_BUILDS(log_softmax_f32);
NNEX_SIMD_BUILDS(log_softmax_f32_exact);
NNEX_SIMD_BUILDS(log_sum_exp_f32);
NNEX_SIMD_BUILDS(log_sum_exp_f32_exact);
NNEX_SIMD_BUILDS(softmax_columns_f32);
NNEX_SIMD_BUILDS(softmax_columns_f32_exact);
}  // namespace nnex::kernels::simd
#endif
