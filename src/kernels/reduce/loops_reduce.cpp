// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/loops_reduce.cpp"
#include <hwy/foreach_target.h>

#include "kernels/reduce/fold-inl.h"
#include "kernels/simd/builds.h"
#include "kernels/simd/plain-inl.h"
#include "kernels/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class M>
struct AddSquareAbout {
  float centre;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V x) const {
    const V away = hn::Sub(x, hn::Set(d, centre));
    return M::madd(away, away, a);
  }
};

template <class Take, class Join>
HWY_INLINE float fold_row(const float* x, size_t n, float start, float pad, Take take, Join join) {
  const F32 d;
  Partials p(start);
  each_sixteen(x, n, pad, [&](size_t k, VF32 v, size_t) HWY_ATTR { p.v[k] = take(d, p.v[k], v); });
  return p.tree(join);
}

template <class M>
HWY_INLINE float reduce_row(ReduceKind kind, const float* x, size_t n) {
  if (kind == ReduceKind::max) return extreme_of_row<true>(x, n);
  if (kind == ReduceKind::min) return extreme_of_row<false>(x, n);
  return with_fold<M, float, float>(
      kind, [&](float start, auto take, auto join) HWY_ATTR { return fold_row(x, n, start, start, take, join); });
}

float reduce_f32(ReduceKind kind, const float* x, size_t n) { return reduce_row<Fused>(kind, x, n); }
float reduce_f32_exact(ReduceKind kind, const float* x, size_t n) { return reduce_row<Portable>(kind, x, n); }

float sum_squares_about_f32(const float* x, size_t n, float centre) {
  return fold_row(x, n, 0.0F, centre, AddSquareAbout<Fused>{centre}, Add());
}
float sum_squares_about_f32_exact(const float* x, size_t n, float centre) {
  return fold_row(x, n, 0.0F, centre, AddSquareAbout<Portable>{centre}, Add());
}

void reduce_columns_f32(ReduceKind kind, const float* x, size_t stride, size_t rows, float* y, size_t columns) {
  reduce_columns<Fused>(kind, x, stride, rows, y, columns);
}
void reduce_columns_f32_exact(ReduceKind kind, const float* x, size_t stride, size_t rows, float* y, size_t columns) {
  reduce_columns<Portable>(kind, x, stride, rows, y, columns);
}

void extremes_f32(const float* x, size_t n, float* least, float* greatest) {
  const hn::ScalableTag<float> d;
  constexpr size_t kVectors = 4;
  const size_t lanes = hn::Lanes(d);
  using VFloat = hn::Vec<decltype(d)>;
  VFloat low[kVectors], high[kVectors];
  HWY_UNROLL(4)
  for (size_t k = 0; k < kVectors; ++k) low[k] = hn::Set(d, kHighest<float>), high[k] = hn::Set(d, kLowest<float>);
  auto nan = hn::FirstN(d, 0);
  const auto take = [&](size_t k, VFloat v) HWY_ATTR {
    nan = hn::Or(nan, hn::IsNaN(v));
    low[k] = beyond<false>(d, low[k], v), high[k] = beyond<true>(d, high[k], v);
  };
  size_t i = 0;
  for (; i + kVectors * lanes <= n; i += kVectors * lanes) {
    HWY_UNROLL(4)
    for (size_t k = 0; k < kVectors; ++k) take(k, hn::LoadU(d, x + i + k * lanes));
  }
  for (; i + lanes <= n; i += lanes) take(0, hn::LoadU(d, x + i));
  if (i < n) take(0, hn::IfThenElse(hn::FirstN(d, n - i), load_part(d, x + i, n - i), hn::Set(d, x[i])));
  for (size_t k = 1; k < kVectors; ++k)
    low[0] = beyond<false>(d, low[0], low[k]), high[0] = beyond<true>(d, high[0], high[k]);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const bool any = !hn::AllFalse(d, nan);
  *least =
      any ? kNan : join_lanes(d, low[0], [](auto tag, auto a, auto b) HWY_ATTR { return beyond<false>(tag, a, b); });
  *greatest =
      any ? kNan : join_lanes(d, high[0], [](auto tag, auto a, auto b) HWY_ATTR { return beyond<true>(tag, a, b); });
}

size_t find_f32(const float* x, size_t n, float value) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto wanted = hn::Set(d, value);
  const bool nan = value != value;
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    const intptr_t at = nan ? hn::FindFirstTrue(d, hn::IsNaN(v)) : hn::FindFirstTrue(d, hn::Eq(v, wanted));
    if (at >= 0) return i + static_cast<size_t>(at);
  }
  for (; i < n; ++i)
    if (nan ? x[i] != x[i] : x[i] == value) return i;
  return n;
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(reduce_f32);
NNEX_SIMD_BUILDS(reduce_f32_exact);
NNEX_SIMD_BUILDS(sum_squares_about_f32);
NNEX_SIMD_BUILDS(sum_squares_about_f32_exact);
NNEX_SIMD_BUILDS(reduce_columns_f32);
NNEX_SIMD_BUILDS(reduce_columns_f32_exact);
NNEX_SIMD_BUILDS(find_f32);
NNEX_SIMD_BUILDS(extremes_f32);
}  // namespace nnex::kernels::simd
#endif
