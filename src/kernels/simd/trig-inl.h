// Sine and cosine of a vector of float32, any magnitude, and their inverses; M is Fused or Exact (map-inl.h).
// Included by files under simd/ inside foreach_target; the guard toggles once for each instruction set.

#if defined(NNEX_KERNELS_SIMD_TRIG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NNEX_KERNELS_SIMD_TRIG_INL_H_
#undef NNEX_KERNELS_SIMD_TRIG_INL_H_
#else
#define NNEX_KERNELS_SIMD_TRIG_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// x = n pi/2 + r with |r| <= pi/4; of n only the last two bits matter.
struct Quadrant {
  int32_t n;
  float r;
};

/// For finite |x| >= 2^26: the bits of 2/pi that matter, times the 24-bit mantissa, modulo 4 (after Payne and Hanek).
HWY_INLINE Quadrant reduce_huge(float x) {
  static constexpr uint32_t kTwoOverPi[8] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                             0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  const uint32_t first =
      ((bits >> 23) & 0xff) - 150 - 2;  // |x| = m 2^e: bits of weight 2^-(e - 2) and above give multiples of 4
  const uint64_t m = (bits & 0x7fffff) | 0x800000;
  const auto word = [&](uint32_t i) HWY_ATTR {
    const uint64_t pair = (uint64_t{kTwoOverPi[first / 32 + i]} << 32) | kTwoOverPi[first / 32 + i + 1];
    return static_cast<uint32_t>(pair >> (32 - first % 32));
  };
  const uint64_t low = m * word(2), middle = m * word(1) + (low >> 32), high = m * word(0) + (middle >> 32);
  const uint64_t product = (high << 32) | (middle & 0xffffffff);  // x 2/pi modulo 4, in units of 2^-62
  const uint64_t nearest = (product + (uint64_t{1} << 61)) >> 62;
  const double rest = static_cast<double>(static_cast<int64_t>(product - (nearest << 62)));
  const double r = rest * (1.5707963267948966 / 4611686018427387904.0);
  const int32_t n = static_cast<int32_t>(nearest & 3);
  return x < 0 ? Quadrant{-n, static_cast<float>(-r)} : Quadrant{n, static_cast<float>(r)};
}

/// For |x| beyond what the vector reduction serves; infinities give NaN.
HWY_INLINE Quadrant reduce_large(float x) {
  const float size = x < 0 ? -x : x;
  if (size > 3.402823466e38F) return {0, __builtin_nanf("")};
  if (size >= 67108864.0F) return reduce_huge(x);
  const double wide = x, n = (wide * 0.63661977236758134 + 6755399441055744.0) - 6755399441055744.0;
  const double first = n * 1.570796325802803, r = (wide - first) - n * 9.920935796805404e-10;
  return {static_cast<int32_t>(static_cast<int64_t>(n) & 3), static_cast<float>(r)};
}

/// sin(x + quarter pi/2), within 2 ulp or 2^-40 of the true value, whichever is more.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V sin_shifted(D d, V x, int32_t quarter) {
  const hn::RebindToSigned<D> di;
  const V sum = M::madd(x, hn::Set(d, 0.63661977F), hn::Set(d, 12582912.0F));
  const V whole = hn::Sub(sum, hn::Set(d, 12582912.0F));
  auto n = hn::BitCast(di, sum);  // its low bits are the whole number
  // pi/2 in pieces of 11 bits: products with whole numbers up to 2^13 are exact.
  V r = M::nmadd(whole, hn::Set(d, 1.5703125F), x);
  r = M::nmadd(whole, hn::Set(d, 4.837512969970703e-4F), r);
  r = M::nmadd(whole, hn::Set(d, 7.549533620476723e-8F), r);
  r = M::nmadd(whole, hn::Set(d, 2.563344151594519e-12F), r);
  const auto large = hn::Gt(hn::Abs(x), hn::Set(d, 12800.0F));
  if (HWY_UNLIKELY(!hn::AllFalse(d, large))) {
    alignas(64) float from[HWY_MAX_BYTES / 4], rest[HWY_MAX_BYTES / 4];
    alignas(64) int32_t count[HWY_MAX_BYTES / 4];
    hn::Store(x, d, from);
    hn::Store(r, d, rest);
    hn::Store(n, di, count);
    for (size_t i = 0; i < hn::Lanes(d); ++i) {
      if (!(from[i] > 12800.0F || from[i] < -12800.0F)) continue;
      const Quadrant q = reduce_large(from[i]);
      count[i] = q.n;
      rest[i] = q.r;
    }
    r = hn::Load(d, rest);
    n = hn::Load(di, count);
  }
  n = hn::Add(n, hn::Set(di, quarter));
  const V z = hn::Mul(r, r);
  V s = hn::Set(d, -1.951463200384751e-4F);
  s = M::madd(s, z, hn::Set(d, 8.332155644893646e-3F));
  s = M::madd(s, z, hn::Set(d, -1.6666655242443085e-1F));
  s = hn::IfThenElse(hn::Eq(r, hn::Zero(d)), r, M::madd(hn::Mul(s, z), r, r));  // keeps -0
  V c = hn::Set(d, 2.4432411009911448e-5F);
  c = M::madd(c, z, hn::Set(d, -1.3887309469282627e-3F));
  c = M::madd(c, z, hn::Set(d, 4.166664555668831e-2F));
  c = M::madd(hn::Mul(c, z), z, M::nmadd(hn::Set(d, 0.5F), z, hn::Set(d, 1.0F)));
  const auto one = hn::Set(di, 1), two = hn::Set(di, 2);
  const auto odd = hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(di, hn::Eq(hn::And(n, one), one))));
  const auto sign = hn::ShiftLeft<30>(hn::And(n, two));
  return hn::BitCast(d, hn::Xor(hn::BitCast(di, hn::IfThenElse(odd, c, s)), sign));
}

template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V sin_f32(D d, V x) {
  return sin_shifted<M>(d, x, 0);
}
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V cos_f32(D d, V x) {
  return sin_shifted<M>(d, x, 1);
}

/// asin(r) for r in [0, 1/2], z = r r: a minimax fit of relative error 5e-9.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V asin_of_half(D d, V r, V z) {
  V q = hn::Set(d, 4.216628521680832e-2F);
  q = M::madd(q, z, hn::Set(d, 2.4179525673389435e-2F));
  q = M::madd(q, z, hn::Set(d, 4.547037556767464e-2F));
  q = M::madd(q, z, hn::Set(d, 7.495297491550446e-2F));
  q = M::madd(q, z, hn::Set(d, 1.6666752099990845e-1F));
  return M::madd(hn::Mul(q, z), r, r);
}

/// |x| above 1/2 is r = sqrt((1 - |x|) / 2), of which asin is needed: asin |x| = pi/2 - 2 asin r.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V asin_of_part(D d, V a, hn::Mask<D> large) {
  const V rest = M::nmadd(hn::Set(d, 0.5F), a, hn::Set(d, 0.5F));
  const V z = hn::IfThenElse(large, rest, hn::Mul(a, a));
  return asin_of_half<M>(d, hn::IfThenElse(large, hn::Sqrt(rest), a), z);
}

/// asin within 2 ulp; NaN outside [-1, 1].
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V asin_f32(D d, V x) {
  const V a = hn::Abs(x);
  const auto large = hn::Gt(a, hn::Set(d, 0.5F));
  const V p = asin_of_part<M>(d, a, large);
  const V y = hn::IfThenElse(large, M::nmadd(hn::Set(d, 2.0F), p, hn::Set(d, 1.57079637F)), p);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(y, x));
}

/// acos within 2 ulp; NaN outside [-1, 1].
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V acos_f32(D d, V x) {
  const V a = hn::Abs(x);
  const auto large = hn::Gt(a, hn::Set(d, 0.5F));
  const V p = asin_of_part<M>(d, a, large);
  const V twice = hn::Add(p, p);
  // pi and pi/2 in two pieces: acos is as small as what is subtracted from them is large.
  const V behind = hn::Sub(hn::Set(d, 3.14159274F), hn::Add(twice, hn::Set(d, 8.74227766e-8F)));
  const V ahead = hn::Sub(hn::Set(d, 1.57079637F), hn::Add(hn::CopySign(p, x), hn::Set(d, 4.37113883e-8F)));
  const V y = hn::IfThenElse(large, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), behind, twice), ahead);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

/// atan within 2 ulp: of 1 / |x| where |x| is above 1.
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V atan_f32(D d, V x) {
  const V a = hn::Abs(x), one = hn::Set(d, 1.0F);
  const auto large = hn::Gt(a, one);
  const V t = hn::IfThenElse(large, hn::Div(one, a), a);
  const V z = hn::Mul(t, t);
  V q = hn::Set(d, -1.793593866750598e-3F);
  q = M::madd(q, z, hn::Set(d, 1.0914481244981289e-2F));
  q = M::madd(q, z, hn::Set(d, -3.1177613884210587e-2F));
  q = M::madd(q, z, hn::Set(d, 5.795735865831375e-2F));
  q = M::madd(q, z, hn::Set(d, -8.403436839580536e-2F));
  q = M::madd(q, z, hn::Set(d, 1.0952181369066238e-1F));
  q = M::madd(q, z, hn::Set(d, -1.4264240860939026e-1F));
  q = M::madd(q, z, hn::Set(d, 1.9998548924922943e-1F));
  q = M::madd(q, z, hn::Set(d, -3.3333298563957214e-1F));
  const V p = M::madd(hn::Mul(q, z), t, t);
  const V y = hn::IfThenElse(large, hn::Sub(hn::Set(d, 1.57079637F), p), p);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(y, x));
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
