// float16 and bfloat16 as vectors of float32.
// Included by files of loops inside foreach_target; the guard toggles once for each instruction set.

#if defined(NNEX_KERNELS_SIMD_HALVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NNEX_KERNELS_SIMD_HALVES_INL_H_
#undef NNEX_KERNELS_SIMD_HALVES_INL_H_
#else
#define NNEX_KERNELS_SIMD_HALVES_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The float32 that bits of float16 stand for: exact, subnormals too.
template <class D, class V>
HWY_INLINE hn::Vec<D> from_f16(D d, V halves) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), halves));
#else
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::PromoteTo(du, halves);
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000U)));
  const auto size = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7fffU)));
  const auto scaled = hn::Mul(hn::BitCast(d, size), hn::Set(d, 5.192296858534828e33F));  // 2^112, subnormals too
  const auto special = hn::BitCast(d, hn::Or(size, hn::Set(du, 0x7f800000U)));
  const auto magnitude = hn::IfThenElse(hn::Ge(scaled, hn::Set(d, 65536.0F)), special, scaled);
  return hn::BitCast(d, hn::Or(hn::BitCast(du, magnitude), sign));
#endif
}

/// The same of bfloat16.
template <class D, class V>
HWY_INLINE hn::Vec<D> from_bf16(D d, V halves) {
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D>(), halves)));
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
