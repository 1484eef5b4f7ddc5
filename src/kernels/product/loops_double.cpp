// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/product/loops_double.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_HAVE_FLOAT64
/// kRows rows of z from column j on, two vectors of them, or the first `part` of one.
template <class M, size_t kRows>
HWY_INLINE void tile_f64(const DoubleProduct& p, size_t i, size_t j, size_t part) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  const double* a[kRows];
  V left[kRows], right[kRows];
  for (size_t r = 0; r < kRows; ++r) {
    a[r] = p.a + (i + r) * p.a_row;
    left[r] = right[r] = hn::Zero(d);
  }
  const double* b = p.b + j;
  for (size_t q = 0; q < p.k; ++q, b += p.b_row) {
    const V b0 = part ? load_part(d, b, part) : hn::LoadU(d, b);
    const V b1 = part ? b0 : hn::LoadU(d, b + lanes);
    for (size_t r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, a[r][q * p.a_column]);
      left[r] = M::madd(x, b0, left[r]);
      if (!part) right[r] = M::madd(x, b1, right[r]);
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    double* z = p.z + (i + r) * p.z_row + j;
    if (part) {
      store_part(left[r], d, z, part);
    } else {
      hn::StoreU(left[r], d, z);
      hn::StoreU(right[r], d, z + lanes);
    }
  }
}

/// A tile's columns for all rows: b's part of them stays in cache.
template <class M>
HWY_INLINE void columns_f64(const DoubleProduct& p, size_t j, size_t part) {
  size_t i = 0;
  for (; i + 6 <= p.m; i += 6) tile_f64<M, 6>(p, i, j, part);
  for (; i + 2 <= p.m; i += 2) tile_f64<M, 2>(p, i, j, part);
  if (i < p.m) tile_f64<M, 1>(p, i, j, part);
}

template <class M>
HWY_INLINE void product(const DoubleProduct& p) {
  const hn::ScalableTag<double> d;
  const size_t lanes = hn::Lanes(d);
  size_t j = 0;
  for (; j + 2 * lanes <= p.n; j += 2 * lanes) columns_f64<M>(p, j, 0);
  for (; j < p.n; j += lanes) columns_f64<M>(p, j, p.n - j < lanes ? p.n - j : lanes);
}
#else
template <class M>
HWY_INLINE void product(const DoubleProduct& p) {
  for (size_t i = 0; i < p.m; ++i)
    for (size_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (size_t q = 0; q < p.k; ++q) sum += p.a[i * p.a_row + q * p.a_column] * p.b[q * p.b_row + j];
      p.z[i * p.z_row + j] = sum;
    }
}
#endif

void product_f64(const DoubleProduct& p) { product<Fused>(p); }
void product_f64_exact(const DoubleProduct& p) { product<Exact>(p); }

}  // namespace nnex::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::simd {
NNEX_SIMD_BUILDS(product_f64);
NNEX_SIMD_BUILDS(product_f64_exact);
}  // namespace nnex::simd
#endif
