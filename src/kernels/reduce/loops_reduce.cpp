// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/loops_reduce.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/rows-inl.h"
#include "kernels/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// How a kind takes an element into a partial and joins two partials; both for vectors of any length.
struct Add {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Add(a, b);
  }
};
struct Times {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Mul(a, b);
  }
};
struct Greater {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return max_f32(d, a, b);
  }
};
struct Less {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return min_f32(d, a, b);
  }
};
struct AddAbs {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V x) const {
    return hn::Add(a, hn::Abs(x));
  }
};
template <class M>
struct AddSquare {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V x) const {
    return M::madd(x, x, a);
  }
};
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

/// The same of what may be joined in any order: four partials at a time, since each waits long for the one before.
template <class Take>
HWY_INLINE float fold_row_wide(const float* x, size_t n, float start, Take take) {
  const F32 d;
  const size_t lanes = hn::Lanes(d);
  Partials p[4] = {Partials(start), Partials(start), Partials(start), Partials(start)};
  size_t i = 0;
  for (; i + 64 <= n; i += 64)
    for (size_t q = 0; q < 4; ++q)
      for (size_t k = 0; k < Partials::kVectors; ++k)
        p[q].v[k] = take(d, p[q].v[k], hn::LoadU(d, x + i + q * 16 + k * lanes));
  each_sixteen(x + i, n - i, start, [&](size_t k, VF32 v, size_t) HWY_ATTR { p[0].v[k] = take(d, p[0].v[k], v); });
  for (size_t k = 0; k < Partials::kVectors; ++k) {
    p[0].v[k] = take(d, p[0].v[k], p[1].v[k]);
    p[2].v[k] = take(d, p[2].v[k], p[3].v[k]);
    p[0].v[k] = take(d, p[0].v[k], p[2].v[k]);
  }
  return p[0].tree(take);
}

/// Calls use(start, take, join) for the kind.
template <class M, class R, class Use>
HWY_INLINE R with_fold(ReduceKind kind, Use use) {
  const float inf = __builtin_huge_valf();
  switch (kind) {
    case ReduceKind::product:
      return use(1.0F, Times(), Times());
    case ReduceKind::max:
      return use(-inf, Greater(), Greater());
    case ReduceKind::min:
      return use(inf, Less(), Less());
    case ReduceKind::l2:
    case ReduceKind::sum_squares:
      return use(0.0F, AddSquare<M>(), Add());
    case ReduceKind::sum_abs:
      return use(0.0F, AddAbs(), Add());
    case ReduceKind::sum:
    case ReduceKind::mean:
    case ReduceKind::count:
      break;
  }
  return use(0.0F, Add(), Add());
}

template <class M>
HWY_INLINE float reduce_row(ReduceKind kind, const float* x, size_t n) {
  const float inf = __builtin_huge_valf();
  if (kind == ReduceKind::max) return fold_row_wide(x, n, -inf, Greater());
  if (kind == ReduceKind::min) return fold_row_wide(x, n, inf, Less());
  return with_fold<M, float>(
      kind, [&](float start, auto take, auto join) HWY_ATTR { return fold_row(x, n, start, start, take, join); });
}

float reduce_f32(ReduceKind kind, const float* x, size_t n) { return reduce_row<Fused>(kind, x, n); }
float reduce_f32_exact(ReduceKind kind, const float* x, size_t n) { return reduce_row<Exact>(kind, x, n); }

float sum_squares_about_f32(const float* x, size_t n, float centre) {
  return fold_row(x, n, 0.0F, centre, AddSquareAbout<Fused>{centre}, Add());
}
float sum_squares_about_f32_exact(const float* x, size_t n, float centre) {
  return fold_row(x, n, 0.0F, centre, AddSquareAbout<Exact>{centre}, Add());
}

constexpr size_t kChainRows = 128;  // a column's chain is cut here; reduce.h promises it

/// `vectors` neighbouring vectors of columns, or one part of a vector.
template <size_t vectors, class Take, class Join, class Load, class Store>
HWY_INLINE void fold_columns(const float* x, size_t stride, size_t rows, float start, Take take, Join join, Load load,
                             Store store) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  V total[vectors], chain[vectors];
  HWY_UNROLL(4)
  for (size_t k = 0; k < vectors; ++k) total[k] = chain[k] = hn::Set(d, start);
  for (size_t r0 = 0; r0 < rows; r0 += kChainRows) {
    const size_t r1 = HWY_MIN(rows, r0 + kChainRows);
    for (size_t r = r0; r < r1; ++r) {
      HWY_UNROLL(4)
      for (size_t k = 0; k < vectors; ++k) chain[k] = take(d, chain[k], load(x + r * stride + k * hn::Lanes(d)));
    }
    HWY_UNROLL(4)
    for (size_t k = 0; k < vectors; ++k) {
      total[k] = r0 == 0 ? chain[k] : join(d, total[k], chain[k]);
      chain[k] = hn::Set(d, start);
    }
  }
  for (size_t k = 0; k < vectors; ++k) store(k, total[k]);
}

template <class M>
HWY_INLINE void reduce_columns(ReduceKind kind, const float* x, size_t stride, size_t rows, float* y, size_t columns) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto load = [&](const float* p) HWY_ATTR { return hn::LoadU(d, p); };
  with_fold<M, void>(kind, [&](float start, auto take, auto join) HWY_ATTR {
    size_t c = 0;
    const auto store = [&](size_t k, hn::Vec<hn::ScalableTag<float>> v)
                           HWY_ATTR { hn::StoreU(v, d, y + c + k * lanes); };
    for (; c + 4 * lanes <= columns; c += 4 * lanes)
      fold_columns<4>(x + c, stride, rows, start, take, join, load, store);
    for (; c + lanes <= columns; c += lanes) fold_columns<1>(x + c, stride, rows, start, take, join, load, store);
    if (c < columns) {
      const size_t n = columns - c;
      fold_columns<1>(
          x + c, stride, rows, start, take, join, [&](const float* p) HWY_ATTR { return load_part(d, p, n); },
          [&](size_t, hn::Vec<hn::ScalableTag<float>> v) HWY_ATTR { store_part(v, d, y + c, n); });
    }
  });
}

void reduce_columns_f32(ReduceKind kind, const float* x, size_t stride, size_t rows, float* y, size_t columns) {
  reduce_columns<Fused>(kind, x, stride, rows, y, columns);
}
void reduce_columns_f32_exact(ReduceKind kind, const float* x, size_t stride, size_t rows, float* y, size_t columns) {
  reduce_columns<Exact>(kind, x, stride, rows, y, columns);
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

}  // namespace nnex::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::simd {
NNEX_SIMD_BUILDS(reduce_f32);
NNEX_SIMD_BUILDS(reduce_f32_exact);
NNEX_SIMD_BUILDS(sum_squares_about_f32);
NNEX_SIMD_BUILDS(sum_squares_about_f32_exact);
NNEX_SIMD_BUILDS(reduce_columns_f32);
NNEX_SIMD_BUILDS(reduce_columns_f32_exact);
NNEX_SIMD_BUILDS(find_f32);
}  // namespace nnex::simd
#endif
