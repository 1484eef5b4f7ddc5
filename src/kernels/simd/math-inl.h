// Functions of a vector of float32, in polynomials of our own: no libm. M is Fused or Exact (map-inl.h); with one M the
// bits are the same wherever its multiply-add is. Included by files under simd/ inside foreach_target; the guard
// toggles once for each instruction set.

#if defined(NNEX_KERNELS_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NNEX_KERNELS_SIMD_MATH_INL_H_
#undef NNEX_KERNELS_SIMD_MATH_INL_H_
#else
#define NNEX_KERNELS_SIMD_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Coefficients are minimax fits of relative error, rounded to float; the bounds below were measured over all floats
// (AVX2 and plain multiply-then-add) against double precision.

/// (e^(k r) - 1 - k r) / r^2 for |k r| <= ln(2)/2, k a power of 2.
template <class M, int k = 1, class D, class V = hn::Vec<D>>
HWY_INLINE V exp_tail(D d, V r) {
  constexpr float k2 = k * k, k3 = k2 * k, k4 = k3 * k, k5 = k4 * k, k6 = k5 * k;
  V q = hn::Set(d, k6 * 1.381453825160861e-3F);
  q = M::madd(q, r, hn::Set(d, k5 * 8.36874544620514e-3F));
  q = M::madd(q, r, hn::Set(d, k4 * 4.166838899254799e-2F));
  q = M::madd(q, r, hn::Set(d, k3 * 1.666652113199234e-1F));
  return M::madd(q, r, hn::Set(d, k2 * 4.999999403953552e-1F));
}

/// The larger of x and min, and the smaller of x and max; a NaN of x stays.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V at_least(D d, V x, float min) {
  const V limit = hn::Set(d, min);
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Max(limit, x);  // the machine's own gives its second operand where there is a NaN
#else
  return hn::IfThenElse(hn::Lt(x, limit), limit, x);
#endif
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V at_most(D d, V x, float max) {
  const V limit = hn::Set(d, max);
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Min(limit, x);
#else
  return hn::IfThenElse(hn::Gt(x, limit), limit, x);
#endif
}

/// x = n ln 2 + r with whole n: `n_bits` holds n + kBias in its low 23 bits, r is what remains. |x| <= 128.
template <class D, int kBias, class V = hn::Vec<D>>
struct ExpParts {
  hn::Vec<hn::RebindToSigned<D>> n_bits;
  V r;
};
constexpr int kFloatBias = 127;               ///< Of a float's exponent.
constexpr float kRoundingBase = 12582912.0F;  ///< 1.5 * 2^23: a sum with it keeps whole numbers alone, in its low bits;
                                              ///< a shift by 23 drops its own.

/// x - n ln 2.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V exp_rest(D d, V x, V n) {
  const V r = M::nmadd(n, hn::Set(d, 0.693359375F), x);  // 10 bits: the product is exact
  return M::nmadd(n, hn::Set(d, -2.12194440e-4F), r);
}

/// `base` is kRoundingBase and the bias.
template <class M, int kBias = kFloatBias, class D, class V = hn::Vec<D>>
HWY_INLINE ExpParts<D, kBias> exp_reduce(D d, V x, V base) {
  const V sum = M::madd(x, hn::Set(d, 1.44269504F), base);
  return {hn::BitCast(hn::RebindToSigned<D>(), sum), exp_rest<M>(d, x, hn::Sub(sum, base))};
}
template <class M, int kBias = kFloatBias, class D, class V = hn::Vec<D>>
HWY_INLINE ExpParts<D, kBias> exp_reduce(D d, V x) {
  return exp_reduce<M, kBias>(d, x, hn::Set(d, kRoundingBase + static_cast<float>(kBias)));
}

/// 2^(n + kBias - 127), which is a float and no subnormal.
template <class D, int kBias>
HWY_INLINE hn::Vec<D> power_of(D d, const ExpParts<D, kBias>& parts) {
  return hn::BitCast(d, hn::ShiftLeft<23>(parts.n_bits));
}

/// e^r - 1.
template <class M, class D, int kBias>
HWY_INLINE hn::Vec<D> expm1_of_rest(D d, const ExpParts<D, kBias>& parts) {
  return M::madd(exp_tail<M>(d, parts.r), hn::Mul(parts.r, parts.r), parts.r);
}

#if HWY_TARGET == HWY_AVX3
/// p 2^n for whole n, rounded once: the machine's own instruction.
template <size_t N>
HWY_INLINE hn::Vec128<float, N> scaled_by_power(hn::Vec128<float, N> p, hn::Vec128<float, N> n) {
  return hn::Vec128<float, N>{_mm_scalef_ps(p.raw, n.raw)};
}
HWY_INLINE hn::Vec256<float> scaled_by_power(hn::Vec256<float> p, hn::Vec256<float> n) {
  return hn::Vec256<float>{_mm256_scalef_ps(p.raw, n.raw)};
}
HWY_INLINE hn::Vec512<float> scaled_by_power(hn::Vec512<float> p, hn::Vec512<float> n) {
  return hn::Vec512<float>{_mm512_scalef_ps(p.raw, n.raw)};
}
#endif

/// 2^n e^r for n in [-126, 127].
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V exp_of_parts(D d, const ExpParts<D, kFloatBias>& parts) {
#if HWY_TARGET == HWY_AVX3
  const V p = hn::Add(expm1_of_rest<M>(d, parts), hn::Set(d, 1.0F));
  const V base = hn::Set(d, kRoundingBase + static_cast<float>(kFloatBias));
  return scaled_by_power(p, hn::Sub(hn::BitCast(d, parts.n_bits), base));  // of any n
#else
  const V scale = power_of(d, parts);
  return M::madd(expm1_of_rest<M>(d, parts), scale, scale);
#endif
}

/// e^x within 1 ulp, subnormal results included; inf above 88.72, 0 below -103.97.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V exp_f32(D d, V x) {
  const V inside = at_most(d, at_least(d, x, -104.0F), 89.0F);
#if HWY_TARGET == HWY_AVX3
  return exp_of_parts<M>(d, exp_reduce<M>(d, inside));
#else
  // n reaches from -150 to 128, a float's exponent from -126 to 127: 2^(n + 24) or 2^(n - 1) is a factor, the rest
  // another.
  const V base = hn::IfNegativeThenElse(inside, hn::Set(d, kRoundingBase + static_cast<float>(kFloatBias + 24)),
                                        hn::Set(d, kRoundingBase + static_cast<float>(kFloatBias - 1)));
  const V back = hn::IfNegativeThenElse(inside, hn::Set(d, 1.0F / 16777216.0F), hn::Set(d, 2.0F));
  const auto parts = exp_reduce<M>(d, inside, base);
  const V scale = power_of(d, parts);
  return hn::Mul(M::madd(expm1_of_rest<M>(d, parts), scale, scale), back);
#endif
}

/// e^x for x in [-87, 88], within 1 ulp: no special values.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V exp_inside(D d, V x) {
  return exp_of_parts<M>(d, exp_reduce<M>(d, x));
}

/// e^x for x <= 0 within 1 ulp; below -87.7 it is 0, so that hardly a sum of exponentials meets subnormals: the factor
/// 2^-127 is 0. NaN stays.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V exp_of_negative(D d, V x) {
  const auto parts = exp_reduce<M>(d, at_least(d, x, -88.0F));
  const V scale = power_of(d, parts);
  return M::madd(expm1_of_rest<M>(d, parts), scale, scale);
}

/// e^x - 1 within 2 ulp.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V expm1_f32(D d, V x) {
  const V inside = at_most(d, at_least(d, x, -18.0F), 89.0F);
  const auto parts = exp_reduce<M, kFloatBias - 1>(d, inside);
  const V half_scale = power_of(d, parts);  // 2^(n - 1): 2^128 is no float, 2^127 is
  const V half = M::madd(half_scale, expm1_of_rest<M>(d, parts), hn::Sub(half_scale, hn::Set(d, 0.5F)));
  return hn::Add(half, half);
}

/// Natural logarithm within 1 ulp; log(0) = -inf, of a negative number NaN.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V log_f32(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto small = hn::Lt(x, hn::Set(d, 1.17549435e-38F));
  const V scaled = hn::IfThenElse(small, hn::Mul(x, hn::Set(d, 33554432.0F)), x);  // 2^25
  const auto bits = hn::BitCast(di, scaled);
  // The exponent is counted so that the mantissa lies in [sqrt(1/2), sqrt(2)).
  const auto above = hn::Sub(bits, hn::Set(di, 0x3f3504f3));
  const auto e = hn::ShiftRight<23>(above);
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e)));
  const V exponent = hn::Sub(hn::ConvertTo(d, e), hn::IfThenElseZero(small, hn::Set(d, 25.0F)));
  const V f = hn::Sub(m, hn::Set(d, 1.0F));
  const V f2 = hn::Mul(f, f);
  V q = hn::Set(d, -7.635588198900223e-2F);
  q = M::madd(q, f, hn::Set(d, 1.276330053806305e-1F));
  q = M::madd(q, f, hn::Set(d, -1.3160595297813416e-1F));
  q = M::madd(q, f, hn::Set(d, 1.4201557636260986e-1F));
  q = M::madd(q, f, hn::Set(d, -1.6623297333717346e-1F));
  q = M::madd(q, f, hn::Set(d, 2.0001232624053955e-1F));
  q = M::madd(q, f, hn::Set(d, -2.50008225440979e-1F));
  q = M::madd(q, f, hn::Set(d, 3.333333134651184e-1F));
  V y = hn::Mul(hn::Mul(q, f), f2);
  y = M::madd(exponent, hn::Set(d, -2.12194440e-4F), y);
  y = M::nmadd(hn::Set(d, 0.5F), f2, y);
  y = hn::Add(y, f);
  y = M::madd(exponent, hn::Set(d, 0.693359375F), y);
  const V inf = hn::Set(d, __builtin_huge_valf());
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(inf), y);
  y = hn::IfThenElse(hn::Eq(x, inf), inf, y);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, __builtin_nanf("")), hn::IfThenElse(hn::IsNaN(x), x, y));
}

/// log(1 + e) for e in [0, 1], within 2 ulp: 2 artanh(e / (2 + e)).
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V log1p_of_unit(D d, V e) {
  const V t = hn::Div(e, hn::Add(e, hn::Set(d, 2.0F)));
  const V z = hn::Mul(t, t);
  V q = hn::Set(d, 2.801603376865387e-1F);
  q = M::madd(q, z, hn::Set(d, 2.8001049160957336e-1F));
  q = M::madd(q, z, hn::Set(d, 4.0021568536758423e-1F));
  q = M::madd(q, z, hn::Set(d, 6.66664183139801e-1F));
  return M::madd(hn::Mul(q, z), t, hn::Add(t, t));
}

/// tanh within 3 ulp: with m = 1 - e^(-2|x|) it is m / (2 - m), which loses nothing near 0. -2|x| is n ln 2 + 2 r, and
/// e^(2 r) - 1 is r w. A float is near enough to ln(2)/2: where n is large, e^(-2|x|) is small.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V tanh_f32(D d, V x) {
  const V sign = hn::And(x, hn::SignBit(d));
  const V inside = at_least(d, hn::Or(x, hn::SignBit(d)), -9.25F);
  const V base = hn::Set(d, kRoundingBase + static_cast<float>(kFloatBias));
  const V sum = M::madd(inside, hn::Set(d, 2.88539008F), base);
  const V r = M::nmadd(hn::Sub(sum, base), hn::Set(d, 3.465735912322998e-1F), inside);
  const V w = M::madd(exp_tail<M, 2>(d, r), r, hn::Set(d, 2.0F));
  const V scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(hn::RebindToSigned<D>(), sum)));
  const V m = M::nmadd(hn::Mul(scale, r), w, hn::Sub(hn::Set(d, 1.0F), scale));
  return hn::Or(hn::Div(m, hn::Sub(hn::Set(d, 2.0F), m)), sign);
}

/// The error function within 2 ulp: an odd polynomial up to 0.85, from there 1 - e^(a polynomial).
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V erf_f32(D d, V x) {
  const V a = at_most(d, hn::Abs(x), 3.95F);
  const V z = hn::Mul(a, a);
  V p = hn::Set(d, -6.315254722721875e-4F);
  p = M::madd(p, z, hn::Set(d, 5.051119718700647e-3F));
  p = M::madd(p, z, hn::Set(d, -2.6802565902471542e-2F));
  p = M::madd(p, z, hn::Set(d, 1.1282718181610107e-1F));
  p = M::madd(p, z, hn::Set(d, -3.761257231235504e-1F));
  p = M::madd(p, z, hn::Set(d, 1.283791065216064e-1F));
  const V near = M::madd(p, a, a);  // 2/sqrt(pi) = 1 + 0.128...: the sum rounds once
  V h = hn::Set(d, 2.025284484261647e-4F);
  h = M::madd(h, a, hn::Set(d, -3.1071887351572514e-3F));
  h = M::madd(h, a, hn::Set(d, 2.247900888323784e-2F));
  h = M::madd(h, a, hn::Set(d, -1.044480949640274e-1F));
  h = M::madd(h, a, hn::Set(d, -6.366015672683716e-1F));
  h = M::madd(h, a, hn::Set(d, -1.1280155181884766F));
  h = M::madd(h, a, hn::Set(d, -1.1469565652078018e-4F));
  const V far = hn::Sub(hn::Set(d, 1.0F), exp_inside<M>(d, h));
  return hn::CopySign(hn::IfThenElse(hn::Lt(a, hn::Set(d, 0.85F)), near, far), x);
}

/// 1 / (1 + e^-x) within 3 ulp, subnormal results included: e^x / (1 + e^x), both sides 2^24 times as large, so that
/// e^x is no subnormal and the division alone rounds.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid_f32(D d, V x) {
  const auto parts = exp_reduce<M, kFloatBias + 24>(d, at_most(d, at_least(d, x, -104.0F), 20.0F));
  const V scale = power_of(d, parts);
  const V e = M::madd(expm1_of_rest<M>(d, parts), scale, scale);
  return hn::Div(e, hn::Add(hn::Set(d, 16777216.0F), e));
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
