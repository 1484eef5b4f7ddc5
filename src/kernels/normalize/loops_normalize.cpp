// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalize/loops_normalize.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE float join_sums(const Partials& p) {
  return p.tree([](auto, auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
}

/// One vector, or a part of one, of y = ((x - mean) * inv_std) * scale + offset.
template <class M, class V, class Load>
HWY_INLINE V normalized(V x, V mean, V inv_std, const NormalizeRow& row, size_t i, Load load) {
  const hn::ScalableTag<float> d;
  const V away = hn::Mul(row.centred ? hn::Sub(x, mean) : x, inv_std);
  if (!row.scale) return row.offset ? hn::Add(away, load(row.offset + i)) : away;
  if (!row.offset) return hn::Mul(away, load(row.scale + i));
  (void)d;
  return M::madd(away, load(row.scale + i), load(row.offset + i));
}

template <class M>
HWY_INLINE void normalize_row(const NormalizeRow& row, size_t n) {
  const F32 d;
  const hn::ScalableTag<float> dy;
  const float* x = row.x;
  if (row.residual) {
    float* sum = row.sum ? row.sum : row.y;
    const size_t lanes = hn::Lanes(dy);
    size_t i = 0;
    for (; i + lanes <= n; i += lanes)
      hn::StoreU(hn::Add(hn::LoadU(dy, x + i), hn::LoadU(dy, row.residual + i)), dy, sum + i);
    if (i < n)
      store_part(hn::Add(load_part(dy, x + i, n - i), load_part(dy, row.residual + i, n - i)), dy, sum + i, n - i);
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
  const size_t lanes = hn::Lanes(dy);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(
        normalized<M>(hn::LoadU(dy, x + i), vm, vi, row, i, [&](const float* p) HWY_ATTR { return hn::LoadU(dy, p); }),
        dy, row.y + i);
  if (i < n)
    store_part(normalized<M>(load_part(dy, x + i, n - i), vm, vi, row, i,
                             [&](const float* p) HWY_ATTR { return load_part(dy, p, n - i); }),
               dy, row.y + i, n - i);
}

void normalize_f32(const NormalizeRow& row, size_t n) { normalize_row<Fused>(row, n); }
void normalize_f32_exact(const NormalizeRow& row, size_t n) { normalize_row<Exact>(row, n); }

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(normalize_f32);
NNEX_SIMD_BUILDS(normalize_f32_exact);
}  // namespace nnex::kernels::simd
#endif
