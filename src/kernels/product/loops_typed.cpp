// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/product/loops_typed.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"
#include "kernels/simd/plain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kDepth = 128;  // rows of b that tiles walk at once

/// Rows [begin, end) of b, two vectors of their columns from one on; `part`: that many columns of one vector.
template <class T>
struct Panel {
  const T* b = nullptr;
  size_t row = 0, begin = 0, end = 0, part = 0;
};

/// kRows rows of z from row i on: what they are so far (0 at first) and the panel's products.
template <class M, size_t kRows, class T>
HWY_INLINE void tile(const TypedProduct<T>& p, size_t i, size_t j, const Panel<T>& panel) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d), part = panel.part;
  const T* a[kRows];
  T* z[kRows];
  V left[kRows], right[kRows];
  HWY_UNROLL(6)
  for (size_t r = 0; r < kRows; ++r) {
    a[r] = p.a + (i + r) * p.a_row;
    z[r] = p.z + (i + r) * p.z_row + j;
    left[r] = right[r] = hn::Zero(d);
    if (panel.begin == 0) continue;
    left[r] = part ? load_part(d, z[r], part) : hn::LoadU(d, z[r]);
    if (!part) right[r] = hn::LoadU(d, z[r] + lanes);
  }
  const T* b = panel.b;
  for (size_t q = panel.begin; q < panel.end; ++q, b += panel.row) {
    const V b0 = part ? load_part(d, b, part) : hn::LoadU(d, b);
    const V b1 = part ? b0 : hn::LoadU(d, b + lanes);
    HWY_UNROLL(6)
    for (size_t r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, a[r][q * p.a_column]);
      left[r] = M::madd(x, b0, left[r]);
      if (!part) right[r] = M::madd(x, b1, right[r]);
    }
  }
  HWY_UNROLL(6)
  for (size_t r = 0; r < kRows; ++r) {
    if (part) {
      store_part(left[r], d, z[r], part);
    } else {
      hn::StoreU(left[r], d, z[r]);
      hn::StoreU(right[r], d, z[r] + lanes);
    }
  }
}

template <class M, class T>
HWY_INLINE void all_rows(const TypedProduct<T>& p, size_t j, const Panel<T>& panel) {
  size_t i = 0;
  for (; i + 6 <= p.m; i += 6) tile<M, 6>(p, i, j, panel);
  for (; i + 2 <= p.m; i += 2) tile<M, 2>(p, i, j, panel);
  if (i < p.m) tile<M, 1>(p, i, j, panel);
}

/// A tile's columns for all rows, by rows [q, end) of b. Many rows find that part side by side: where it lies its lines
/// may all fall into few sets of a cache.
template <class M, class T>
HWY_INLINE void columns(const TypedProduct<T>& p, size_t j, size_t part, size_t q, size_t end) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN T copy[kDepth * 2 * hn::MaxLanes(decltype(d)())];
  const bool copies = p.m >= 12 && !part;
  const T* const b = p.b + q * p.b_row + j;
  for (size_t r = 0; copies && r < end - q; ++r) {
    hn::Store(hn::LoadU(d, b + r * p.b_row), d, copy + r * 2 * lanes);
    hn::Store(hn::LoadU(d, b + r * p.b_row + lanes), d, copy + (r * 2 + 1) * lanes);
  }
  all_rows<M>(p, j, Panel<T>{copies ? copy : b, copies ? 2 * lanes : p.b_row, q, end, part});
}

template <class M, class T>
HWY_INLINE void product(const TypedProduct<T>& p) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t q = 0;
  do {  // what many rows have of a few columns stays near while all of b's columns go by
    const size_t end = HWY_MIN(p.k, q + kDepth);
    size_t j = 0;
    for (; j + 2 * lanes <= p.n; j += 2 * lanes) columns<M>(p, j, 0, q, end);
    for (; j < p.n; j += lanes) columns<M>(p, j, p.n - j < lanes ? p.n - j : lanes, q, end);
    q = end;
  } while (q < p.k);
}

#if HWY_HAVE_FLOAT64
void product_f64(const TypedProduct<double>& p) { product<Fused>(p); }
void product_f64_exact(const TypedProduct<double>& p) { product<Portable>(p); }
#else
void product_f64(const TypedProduct<double>& p) {
  for (size_t i = 0; i < p.m; ++i)
    for (size_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (size_t q = 0; q < p.k; ++q) sum += p.a[i * p.a_row + q * p.a_column] * p.b[q * p.b_row + j];
      p.z[i * p.z_row + j] = sum;
    }
}
void product_f64_exact(const TypedProduct<double>& p) { product_f64(p); }
#endif
void product_i32(const TypedProduct<int32_t>& p) { product<Exact>(p); }
void product_i64(const TypedProduct<int64_t>& p) { product<Exact>(p); }

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(product_f64);
NNEX_SIMD_BUILDS(product_f64_exact);
NNEX_SIMD_BUILDS(product_i32);
NNEX_SIMD_BUILDS(product_i64);
}  // namespace nnex::kernels::simd
#endif
