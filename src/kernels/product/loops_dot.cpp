// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/product/loops_dot.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DotTag = hn::ScalableTag<float>;
using DotVector = hn::Vec<DotTag>;
constexpr size_t kDotLanes = hn::MaxLanes(DotTag());

/// One row.
template <class M>
HWY_INLINE float dot_row(const float* a, const float* b, size_t k) {
  const hn::CappedTag<float, 1> d;
  auto sum = hn::Zero(d);
  for (size_t i = 0; i < k; ++i) sum = M::madd(hn::Set(d, a[i]), hn::Set(d, b[i]), sum);
  return hn::GetLane(sum);
}

#if HWY_TARGET != HWY_SCALAR
/// Four numbers of rows 0, 4, 8, ... in the vector's blocks of four.
HWY_INLINE hn::Vec<hn::CappedTag<float, 4>> four_of_rows(hn::CappedTag<float, 4> d, const float* a, size_t) {
  return hn::LoadU(d, a);
}
template <class D>
HWY_INLINE hn::Vec<D> four_of_rows(D d, const float* a, size_t stride) {
  const hn::Half<D> half;
  const size_t rows = hn::MaxLanes(half);
  return hn::Combine(d, four_of_rows(half, a + rows * stride, stride), four_of_rows(half, a, stride));
}

/// Four columns of as many rows as a vector has lanes are transposed in registers and added to each row's chain.
template <class M>
HWY_INLINE DotVector add_four_columns(const float* a, size_t stride, const float* b, DotVector sum) {
  const DotTag d;
  const DotVector r0 = four_of_rows(d, a, stride), r1 = four_of_rows(d, a + stride, stride);
  const DotVector r2 = four_of_rows(d, a + 2 * stride, stride), r3 = four_of_rows(d, a + 3 * stride, stride);
  const DotVector even = hn::InterleaveLower(d, r0, r2), odd = hn::InterleaveLower(d, r1, r3);
  const DotVector even_up = hn::InterleaveUpper(d, r0, r2), odd_up = hn::InterleaveUpper(d, r1, r3);
  sum = M::madd(hn::InterleaveLower(d, even, odd), hn::Set(d, b[0]), sum);
  sum = M::madd(hn::InterleaveUpper(d, even, odd), hn::Set(d, b[1]), sum);
  sum = M::madd(hn::InterleaveLower(d, even_up, odd_up), hn::Set(d, b[2]), sum);
  return M::madd(hn::InterleaveUpper(d, even_up, odd_up), hn::Set(d, b[3]), sum);
}

/// kVectors times as many rows as a vector has lanes, every lane the chain of one row. A cache line of each row is read
/// at once, and those after it are fetched meanwhile: no prefetcher follows so many rows. So are as many lines of the
/// rows that come next, where rows lie dense in the order in which memory gives them fastest.
template <class M, size_t kVectors>
HWY_INLINE void dot_rows_of(const float* a, size_t stride, const float* b, float* y, size_t k) {
  constexpr size_t kLine = 16, kAhead = 2 * kLine;
  const DotTag d;
  DotVector sum[kVectors];
  HWY_UNROLL(4)
  for (size_t v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  constexpr size_t kRows = kVectors * kDotLanes;
  const bool dense = stride < k + k / 4;
  const size_t to_next = dense ? kLine : stride, to_later = dense ? kRows * kLine : kLine;
  const float* next = a + kRows * stride;
  size_t i = 0;
  for (; i + kLine <= k; i += kLine, next += to_later) {
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v) {
      const float* const rows = a + v * kDotLanes * stride + i;
      for (size_t r = 0; r < kDotLanes; ++r) hwy::Prefetch(rows + r * stride + kAhead);
      for (size_t r = 0; r < kDotLanes; ++r) __builtin_prefetch(next + (v * kDotLanes + r) * to_next, 0, 2);
      for (size_t c = 0; c < kLine; c += 4) sum[v] = add_four_columns<M>(rows + c, stride, b + i + c, sum[v]);
    }
  }
  for (; i + 4 <= k; i += 4) {
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v)
      sum[v] = add_four_columns<M>(a + v * kDotLanes * stride + i, stride, b + i, sum[v]);
  }
  for (; i < k; ++i) {
    for (size_t v = 0; v < kVectors; ++v) {
      HWY_ALIGN float column[kDotLanes];
      for (size_t r = 0; r < kDotLanes; ++r) column[r] = a[(v * kDotLanes + r) * stride + i];
      sum[v] = M::madd(hn::Load(d, column), hn::Set(d, b[i]), sum[v]);
    }
  }
  HWY_UNROLL(4)
  for (size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, y + v * kDotLanes);
}
#endif

template <class M>
HWY_INLINE void dot_rows(const float* a, size_t stride, const float* b, float* y, size_t rows, size_t k) {
  size_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr size_t kAtOnce = kDotLanes >= 8 ? 2 : 4;
  for (; r + kAtOnce * kDotLanes <= rows; r += kAtOnce * kDotLanes)
    dot_rows_of<M, kAtOnce>(a + r * stride, stride, b, y + r, k);
  for (; r + kDotLanes <= rows; r += kDotLanes) dot_rows_of<M, 1>(a + r * stride, stride, b, y + r, k);
  if (r < rows && rows >= kDotLanes) {  // the last ones again with those before them
    r = rows - kDotLanes;
    return dot_rows_of<M, 1>(a + r * stride, stride, b, y + r, k);
  }
#endif
  for (; r < rows; ++r) y[r] = dot_row<M>(a + r * stride, b, k);
}

void dot_rows_f32(const float* a, size_t stride, const float* b, float* y, size_t rows, size_t k) {
  dot_rows<Fused>(a, stride, b, y, rows, k);
}
void dot_rows_f32_exact(const float* a, size_t stride, const float* b, float* y, size_t rows, size_t k) {
  dot_rows<Portable>(a, stride, b, y, rows, k);
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(dot_rows_f32);
NNEX_SIMD_BUILDS(dot_rows_f32_exact);
}  // namespace nnex::kernels::simd
#endif
