// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/resize/loops_gather.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using GatherTag = hn::ScalableTag<float>;

/// The product of one tap where its place is not below 0.
HWY_INLINE hn::Vec<GatherTag> tap(const float* x, hn::Vec<hn::RebindToSigned<GatherTag>> at,
                                  hn::Vec<GatherTag> weight) {
  const GatherTag d;
  const hn::RebindToSigned<GatherTag> di;
  const auto found = hn::GatherIndex(d, x, hn::Max(at, hn::Zero(di)));
  const auto outside = hn::BitCast(d, hn::BroadcastSignBit(at));
  return hn::Mul(weight, hn::AndNot(outside, found));
}

void gather_taps_f32(const float* x, const int32_t* at, const float* weights, size_t stride, size_t count, float* y,
                     size_t n) {
  const GatherTag d;
  const hn::RebindToSigned<GatherTag> di;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    auto sum = hn::Zero(d);
    for (size_t t = 0; t < count; ++t)
      sum = hn::Add(sum, tap(x, hn::LoadU(di, at + t * stride + i), hn::LoadU(d, weights + t * stride + i)));
    hn::StoreU(sum, d, y + i);
  }
  if (i == n) return;
  auto sum = hn::Zero(d);
  for (size_t t = 0; t < count; ++t)
    sum =
        hn::Add(sum, tap(x, load_part(di, at + t * stride + i, n - i), load_part(d, weights + t * stride + i, n - i)));
  store_part(sum, d, y + i, n - i);
}

void pick_bytes(const uint8_t* x, const int32_t* from, const uint8_t* places, uint8_t* y, size_t n) {
#if HWY_TARGET == HWY_SCALAR
  for (size_t i = 0;; i += kPickBytes) {
    const size_t at = HWY_MIN(i, n - kPickBytes);
    for (size_t k = 0; k < kPickBytes; ++k) y[at + k] = x[*from + places[k]];
    if (at + kPickBytes == n) return;
    ++from, places += kPickBytes;
  }
#else
  const hn::Full128<uint8_t> d;
  for (size_t i = 0;; i += kPickBytes) {
    const size_t at = HWY_MIN(i, n - kPickBytes);
    hn::StoreU(hn::TableLookupBytes(hn::LoadU(d, x + *from), hn::LoadU(d, places)), d, y + at);
    if (at + kPickBytes == n) return;
    ++from, places += kPickBytes;
  }
#endif
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(gather_taps_f32);
NNEX_SIMD_BUILDS(pick_bytes);
}  // namespace nnex::kernels::simd
#endif
