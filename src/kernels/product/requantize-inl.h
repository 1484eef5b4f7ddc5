// Sums of integer products to bytes. Included by files under simd/ inside foreach_target; the guard toggles once for
// each instruction set.

#if defined(NNEX_KERNELS_SIMD_REQUANTIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NNEX_KERNELS_SIMD_REQUANTIZE_INL_H_
#undef NNEX_KERNELS_SIMD_REQUANTIZE_INL_H_
#else
#define NNEX_KERNELS_SIMD_REQUANTIZE_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/product/loops_tile_int.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using SumTag = hn::ScalableTag<int32_t>;

/// The bytes of a vector of sums (Requantize, tile_int.h).
HWY_INLINE hn::Vec<hn::Rebind<uint8_t, SumTag>> requantized(const Requantize& f, hn::Vec<SumTag> sums,
                                                            hn::Vec<hn::RebindToFloat<SumTag>> scale) {
  const SumTag d;
  const hn::RebindToFloat<SumTag> df;
  const hn::RebindToUnsigned<SumTag> du;
  const auto reach = hn::Set(df, 1e6F);  // beyond any byte, within int32
  const auto scaled = hn::Mul(hn::ConvertTo(df, sums), scale);
  const auto whole = hn::NearestInt(hn::Min(hn::Max(scaled, hn::Neg(reach)), reach));
  const auto moved = hn::Add(whole, hn::Set(d, f.zero));
  const auto byte = hn::Min(hn::Max(moved, hn::Set(d, f.low)), hn::Set(d, f.high));
  return hn::TruncateTo(hn::Rebind<uint8_t, SumTag>(), hn::BitCast(du, byte));
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
