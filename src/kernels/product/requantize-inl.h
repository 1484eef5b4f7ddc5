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

/// What Requantize says, as vectors. Rounding keeps the order, so that what is limited first need not be afterwards;
/// the limits are a few hundred at most, where adding 1.5 * 2^23 rounds to even and leaves the whole number in the low
/// bits.
struct Requantized {
  hn::Vec<hn::RebindToFloat<SumTag>> low, high;
  hn::Vec<SumTag> zero;
  HWY_INLINE explicit Requantized(const Requantize& f)
      : low(hn::Set(hn::RebindToFloat<SumTag>(), static_cast<float>(f.low - f.zero))),
        high(hn::Set(hn::RebindToFloat<SumTag>(), static_cast<float>(f.high - f.zero))),
        zero(hn::Set(SumTag(), f.zero - 0x4b400000)) {}

  HWY_INLINE hn::Vec<hn::Rebind<uint8_t, SumTag>> of(hn::Vec<SumTag> sums,
                                                     hn::Vec<hn::RebindToFloat<SumTag>> scale) const {
    const SumTag d;
    const hn::RebindToFloat<SumTag> df;
    const auto scaled = hn::Min(hn::Max(hn::Mul(hn::ConvertTo(df, sums), scale), low), high);
    const auto whole = hn::BitCast(d, hn::Add(scaled, hn::Set(df, 12582912.0F)));
    const auto byte = hn::BitCast(hn::RebindToUnsigned<SumTag>(), hn::Add(whole, zero));
    return hn::TruncateTo(hn::Rebind<uint8_t, SumTag>(), byte);
  }
};

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
