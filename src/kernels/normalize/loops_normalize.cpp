// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalize/loops_normalize.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// y[i] = f(x[i], load) for a row: load(p) is of p[i].
template <class F>
HWY_INLINE void map_row(const float* x, float* y, size_t n, F f) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(f(hn::LoadU(d, x + i), [&](const float* p) HWY_ATTR { return hn::LoadU(d, p + i); }), d, y + i);
  if (i < n)
    store_part(f(load_part(d, x + i, n - i), [&](const float* p) HWY_ATTR { return load_part(d, p + i, n - i); }), d,
               y + i, n - i);
}

template <class M>
HWY_INLINE void normalize_row(const NormalizeRow& row, size_t n) {
  const F32 d;
  const hn::ScalableTag<float> dy;
  const float* x = row.x;
  if (row.residual) {
    float* sum = row.sum ? row.sum : row.y;
    map_row(x, sum, n, [&](auto v, auto load) HWY_ATTR { return hn::Add(v, load(row.residual)); });
    x = sum;
  }
  float mean = 0;
  if (row.centred) {
    Partials p(0.0F);
    each_sixteen(x, n, 0.0F, [&](size_t k, VF32 v, size_t) HWY_ATTR { p.v[k] = hn::Add(p.v[k], v); });
    mean = join_sums(p) / static_cast<float>(n);
  }
  Partials p(0.0F);
  const VF32 centre = hn::Set(d, mean);
  each_sixteen(x, n, mean, [&](size_t k, VF32 v, size_t) HWY_ATTR {
    const VF32 away = hn::Sub(v, centre);
    p.v[k] = M::madd(away, away, p.v[k]);
  });
  const float variance = join_sums(p) / static_cast<float>(n);
  const hn::CappedTag<float, 1> d1;
  const float inv_std = 1.0F / hn::GetLane(hn::Sqrt(hn::Set(d1, variance + row.epsilon)));
  if (row.stats) {
    row.stats[0] = mean;
    row.stats[1] = inv_std;
  }
  if (!row.y) return;
  const auto vm = hn::Set(dy, mean), vi = hn::Set(dy, inv_std);
  const float *scale = row.scale, *offset = row.offset;
  // A mean that was not asked for is 0.
  const auto away = [&](auto v) HWY_ATTR { return hn::Mul(hn::Sub(v, vm), vi); };
  if (scale && offset)
    map_row(x, row.y, n, [&](auto v, auto load) HWY_ATTR { return M::madd(away(v), load(scale), load(offset)); });
  else if (scale)
    map_row(x, row.y, n, [&](auto v, auto load) HWY_ATTR { return hn::Mul(away(v), load(scale)); });
  else if (offset)
    map_row(x, row.y, n, [&](auto v, auto load) HWY_ATTR { return hn::Add(away(v), load(offset)); });
  else
    map_row(x, row.y, n, [&](auto v, auto) HWY_ATTR { return away(v); });
}

void normalize_f32(const NormalizeRow& row, size_t n) { normalize_row<Fused>(row, n); }
void normalize_f32_exact(const NormalizeRow& row, size_t n) { normalize_row<Portable>(row, n); }

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(normalize_f32);
NNEX_SIMD_BUILDS(normalize_f32_exact);
}  // namespace nnex::kernels::simd
#endif
