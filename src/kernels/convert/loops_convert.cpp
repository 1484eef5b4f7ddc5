// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert/loops_convert.cpp"
#include <hwy/foreach_target.h>

#include <type_traits>

#include "kernels/simd/builds.h"
#include "kernels/simd/halves-inl.h"
#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// y[i] = f(x[i]) where x and y have elements of different size: DX and DY have the same number of lanes.
template <class DX, class DY, class TX, class TY, class F>
HWY_INLINE void map_to(DX dx, DY dy, const TX* x, TY* y, size_t n, F f) {
  const size_t lanes = hn::Lanes(dy);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(dx, x + i), i), dy, y + i);
  if (i < n) store_part(f(load_part(dx, x + i, n - i), i), dy, y + i, n - i);
}

/// y[i] = f(x[i]), numbers below 256 in uint32.
template <class D, class TX, class F>
HWY_INLINE void map_to_bytes(D d, const TX* x, uint8_t* y, size_t n, F f) {
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const size_t lanes = hn::Lanes(d);
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    hn::Vec<hn::RebindToUnsigned<D>> v[4];
    HWY_UNROLL(4)
    for (size_t k = 0; k < 4; ++k) v[k] = f(hn::LoadU(d, x + i + k * lanes));
    store_as_bytes(v, y + i);
  }
#endif
  const hn::Rebind<uint8_t, D> d8;
  map_to(d, d8, x + i, y + i, n - i, [&](auto v, size_t) HWY_ATTR { return hn::TruncateTo(d8, f(v)); });
}

/// Whole number nearest to v, ties to even, for |v| < 2^22; adding 1.5 * 2^23 rounds, and its low bits are the number.
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Vec<hn::RebindToSigned<D>> nearest_int(D d, V v) {
  const hn::RebindToSigned<D> di;
  return hn::Sub(hn::BitCast(di, hn::Add(v, hn::Set(d, 12582912.0F))), hn::Set(di, 0x4b400000));
}

#if HWY_TARGET != HWY_SCALAR
/// Whole vectors of bytes by one scale; returns how many. The product with 1 / scale stands for the quotient where no
/// other whole number can be nearest: below 512 it is within 2^-13 of it, and beyond everything saturates.
template <class T>
HWY_INLINE size_t quantize_bytes(const float* x, float scale, int32_t zero, T* y, size_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  using V = hn::Vec<decltype(d)>;
  constexpr int32_t kMin = std::is_signed_v<T> ? -128 : 0;
  constexpr float kMagic = 12582912.0F;  // adding it rounds, and the sum's low bits are the number
  const float inverse = 1 / scale, size = inverse < 0 ? -inverse : inverse;
  if (!(size > 0x1p-120F && size < 0x1p120F)) return 0;
  const size_t lanes = hn::Lanes(d);
  const V factor = hn::Set(d, inverse), divisor = hn::Set(d, scale), magic = hn::Set(d, kMagic);
  const V min = hn::Set(d, kMagic + static_cast<float>(kMin - zero)), max = hn::Add(min, hn::Set(d, 255.0F));
  const V sure = hn::Set(d, 0.5F - 0x1p-12F);
  const auto shift = hn::Set(du, static_cast<uint32_t>(zero));
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    V sum[4];
    auto known = hn::FirstN(d, lanes);
    HWY_UNROLL(4)
    for (size_t k = 0; k < 4; ++k) {
      const V q = hn::Mul(hn::LoadU(d, x + i + k * lanes), factor);
      sum[k] = hn::Add(q, magic);
      known = hn::And(known, hn::Lt(hn::Abs(hn::Sub(q, hn::Sub(sum[k], magic))), sure));
    }
    if (HWY_UNLIKELY(!hn::AllTrue(d, known))) {  // NaN is never known
      HWY_UNROLL(4)
      for (size_t k = 0; k < 4; ++k) {
        const V q = hn::Div(hn::LoadU(d, x + i + k * lanes), divisor);
        sum[k] = hn::Add(hn::IfThenZeroElse(hn::IsNaN(q), q), magic);
      }
    }
    hn::Vec<decltype(du)> bytes[4];
    HWY_UNROLL(4)
    for (size_t k = 0; k < 4; ++k) {
      const auto bits = hn::BitCast(du, hn::Min(hn::Max(sum[k], min), max));
      bytes[k] = hn::And(hn::Add(bits, shift), hn::Set(du, 255U));
    }
    store_as_bytes(bytes, reinterpret_cast<uint8_t*>(y) + i);
  }
  return i;
}
#endif

template <class T>
HWY_INLINE void quantize(const float* x, const float* scale, const T* zero, size_t step, T* y, size_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<T, decltype(d)> d8;
  const size_t lanes = hn::Lanes(d);
  if (n == 0) return;
  // Beyond it everything saturates, whatever zero is; DemoteTo passes bytes through 16 bits on some instruction sets.
  const auto limit = hn::Set(d, sizeof(T) == 1 ? 1024.0F : 2097152.0F);
  const auto convert = [&](auto v, auto s, auto z) HWY_ATTR {
    auto q = hn::Div(v, s);
    q = hn::IfThenZeroElse(hn::IsNaN(q), q);
    q = hn::Max(hn::Min(q, limit), hn::Neg(limit));
    return hn::DemoteTo(d8, hn::Add(nearest_int(d, q), hn::PromoteTo(di, z)));
  };
  const auto one_scale = hn::Set(d, *scale);
  const auto one_zero = hn::Set(d8, zero ? *zero : T{0});
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 1)
    if (step == 0) i = quantize_bytes(x, *scale, zero ? *zero : 0, y, n);
#endif
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(convert(hn::LoadU(d, x + i), step ? hn::LoadU(d, scale + i) : one_scale,
                       step && zero ? hn::LoadU(d8, zero + i) : one_zero),
               d8, y + i);
  if (i < n) {
    const size_t left = n - i;
    store_part(convert(load_part(d, x + i, left), step ? load_part(d, scale + i, left) : one_scale,
                       step && zero ? load_part(d8, zero + i, left) : one_zero),
               d8, y + i, left);
  }
}

template <class T>
HWY_INLINE void dequantize(const T* x, const float* scale, const T* zero, size_t step, float* y, size_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<T, decltype(d)> d8;
  const size_t lanes = hn::Lanes(d);
  if (n == 0) return;
  const auto convert = [&](auto v, auto s, auto z) HWY_ATTR {
    return hn::Mul(hn::ConvertTo(d, hn::Sub(hn::PromoteTo(di, v), hn::PromoteTo(di, z))), s);
  };
  const auto one_scale = hn::Set(d, *scale);
  const auto one_zero = hn::Set(d8, zero ? *zero : T{0});
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(convert(hn::LoadU(d8, x + i), step ? hn::LoadU(d, scale + i) : one_scale,
                       step && zero ? hn::LoadU(d8, zero + i) : one_zero),
               d, y + i);
  if (i < n) {
    const size_t left = n - i;
    store_part(convert(load_part(d8, x + i, left), step ? load_part(d, scale + i, left) : one_scale,
                       step && zero ? load_part(d8, zero + i, left) : one_zero),
               d, y + i, left);
  }
}

void quantize_u8(const float* x, const float* scale, const uint8_t* zero, size_t step, uint8_t* y, size_t n) {
  quantize(x, scale, zero, step, y, n);
}
void quantize_s8(const float* x, const float* scale, const int8_t* zero, size_t step, int8_t* y, size_t n) {
  quantize(x, scale, zero, step, y, n);
}
void quantize_u16(const float* x, const float* scale, const uint16_t* zero, size_t step, uint16_t* y, size_t n) {
  quantize(x, scale, zero, step, y, n);
}
void quantize_s16(const float* x, const float* scale, const int16_t* zero, size_t step, int16_t* y, size_t n) {
  quantize(x, scale, zero, step, y, n);
}
void dequantize_u8(const uint8_t* x, const float* scale, const uint8_t* zero, size_t step, float* y, size_t n) {
  dequantize(x, scale, zero, step, y, n);
}
void dequantize_s8(const int8_t* x, const float* scale, const int8_t* zero, size_t step, float* y, size_t n) {
  dequantize(x, scale, zero, step, y, n);
}

// float16 by integers, the same on every instruction set.
using DF = hn::ScalableTag<float>;
using DU = hn::RebindToUnsigned<DF>;
using DH = hn::Rebind<uint16_t, DF>;

/// The 16 bits of the nearest float16 (ties to even) in the low half of each lane.
HWY_INLINE hn::Vec<DU> half_bits(hn::Vec<DF> x) {
  const DF d;
  const DU du;
  const auto bits = hn::BitCast(du, x);
  const auto sign = hn::And(bits, hn::Set(du, 0x80000000U));
  const auto size = hn::Xor(bits, sign);
  // Below 2^-14: adding 0.5 leaves the subnormal's bits, rounded, at the end of the sum.
  const auto small =
      hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(d, size), hn::Set(d, 0.5F))), hn::Set(du, 0x3f000000U));
  const auto odd = hn::And(hn::ShiftRight<13>(size), hn::Set(du, 1U));
  // The exponent's bias drops by 112; 0xfff plus the kept part's last bit rounds to even.
  const auto usual = hn::ShiftRight<13>(hn::Add(hn::Add(size, hn::Set(du, 0xc8000fffU)), odd));
  const hn::RebindToSigned<DF> di;
  const auto above = [&](uint32_t limit) HWY_ATTR {
    return hn::MaskFromVec(
        hn::BitCast(du, hn::VecFromMask(di, hn::Gt(hn::BitCast(di, size), hn::Set(di, static_cast<int32_t>(limit))))));
  };
  auto y = hn::IfThenElse(above(0x387fffffU), usual, small);
  y = hn::IfThenElse(above(0x477fefffU), hn::Set(du, 0x7c00U), y);  // from 65520 on: infinity
  y = hn::IfThenElse(above(0x7f800000U), hn::Set(du, 0x7e00U), y);
  return hn::Or(y, hn::ShiftRight<16>(sign));
}

/// Truncates lanes below 2^16 to their low half.
HWY_INLINE hn::Vec<DH> low_halves(hn::Vec<DU> v) {
  const hn::RebindToSigned<DF> di;
  const DH d16;
  return hn::DemoteTo(d16, hn::BitCast(di, v));
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
/// The machine's own conversion rounds alike; NaN is made the one that the integers make.
HWY_INLINE hn::Vec<DH> half_of(hn::Vec<DF> v) {
  const DF d;
  const DU du;
  const auto sign = hn::And(hn::BitCast(du, v), hn::Set(du, 0x80000000U));
  const auto nan = hn::BitCast(d, hn::Or(sign, hn::Set(du, 0x7fc00000U)));
  const hn::Rebind<hwy::float16_t, DF> half;
  return hn::BitCast(DH(), hn::DemoteTo(half, hn::IfThenElse(hn::IsNaN(v), nan, v)));
}
#else
HWY_INLINE hn::Vec<DH> half_of(hn::Vec<DF> v) { return low_halves(half_bits(v)); }
#endif

void f16_from_f32(const float* x, uint16_t* y, size_t n) {
  map_to(DF(), DH(), x, y, n, [&](auto v, size_t) HWY_ATTR { return half_of(v); });
}

void f32_from_f16(const uint16_t* x, float* y, size_t n) {
  map_to(DH(), DF(), x, y, n, [&](auto h, size_t) HWY_ATTR { return from_f16(DF(), h); });
}

void bf16_from_f32(const float* x, uint16_t* y, size_t n) {
  const DF d;
  const DU du;
  map_to(d, DH(), x, y, n, [&](auto v, size_t) HWY_ATTR {
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U));
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(du, 0x7fffU)), odd));
    const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(du, 0x40U));
    const auto nan = hn::MaskFromVec(hn::BitCast(du, hn::VecFromMask(d, hn::IsNaN(v))));
    return low_halves(hn::IfThenElse(nan, quiet, rounded));
  });
}

void f32_from_bf16(const uint16_t* x, float* y, size_t n) {
  map_to(DH(), DF(), x, y, n, [&](auto h, size_t) HWY_ATTR { return from_bf16(DF(), h); });
}

void i32_from_f32(const float* x, int32_t* y, size_t n) {
  const hn::RebindToSigned<DF> di;
  // ConvertTo saturates.
  map_to(DF(), di, x, y, n,
         [&](auto v, size_t) HWY_ATTR { return hn::ConvertTo(di, hn::IfThenZeroElse(hn::IsNaN(v), v)); });
}
/// As C converts where that is defined; beyond it saturates, and NaN is 0.
HWY_INLINE int64_t whole_of(float v) {
  return v >= 9223372036854775808.0F   ? INT64_MAX
         : v < -9223372036854775808.0F ? INT64_MIN
         : v == v                      ? static_cast<int64_t>(v)
                                       : int64_t{0};
}

void i64_from_f32(const float* x, int64_t* y, size_t n) {
  size_t i = 0;
#if HWY_TARGET == HWY_AVX3  // the others have no instruction
  const hn::ScalableTag<int64_t> di;
  const hn::ScalableTag<double> dd;
  const hn::Rebind<float, decltype(dd)> half;
  for (; i + hn::Lanes(di) <= n; i += hn::Lanes(di)) {
    const auto v = hn::LoadU(half, x + i);
    hn::StoreU(hn::ConvertTo(di, hn::PromoteTo(dd, hn::IfThenZeroElse(hn::IsNaN(v), v))), di, y + i);
  }
#elif HWY_TARGET != HWY_SCALAR  // most numbers have 32 bits
  const DF d;
  const hn::RebindToSigned<DF> d32;
  const hn::ScalableTag<int64_t> di;
  const size_t lanes = hn::Lanes(d);
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(hn::Abs(v), hn::Set(d, 2147483648.0F))))) {
      for (size_t j = i; j < i + lanes; ++j) y[j] = whole_of(x[j]);
      continue;
    }
    const auto whole = hn::ConvertTo(d32, v);
    hn::StoreU(hn::PromoteTo(di, hn::LowerHalf(whole)), di, y + i);
    hn::StoreU(hn::PromoteTo(di, hn::UpperHalf(hn::Half<decltype(d32)>(), whole)), di, y + i + lanes / 2);
  }
#endif
  for (; i < n; ++i) y[i] = whole_of(x[i]);
}
void f32_from_i32(const int32_t* x, float* y, size_t n) {
  const DF d;
  map_to(hn::RebindToSigned<DF>(), d, x, y, n, [&](auto v, size_t) HWY_ATTR { return hn::ConvertTo(d, v); });
}
void f32_from_i64(const int64_t* x, float* y, size_t n) {
  size_t i = 0;
#if HWY_TARGET == HWY_AVX3  // the others have no instruction that rounds once
  const hn::ScalableTag<int64_t> di;
  const hn::Rebind<float, decltype(di)> half;
  for (; i + hn::Lanes(di) <= n; i += hn::Lanes(di))
    hn::StoreU(hn::Vec256<float>{_mm512_cvtepi64_ps(hn::LoadU(di, x + i).raw)}, half, y + i);
#elif HWY_TARGET != HWY_SCALAR  // most numbers have 32 bits
  const DF d;
  const hn::RebindToSigned<DF> d32;
  const size_t lanes = hn::Lanes(d);
  for (; i + lanes <= n; i += lanes) {
    hn::Vec<decltype(d32)> low, high;
    hn::LoadInterleaved2(d32, reinterpret_cast<const int32_t*>(x + i), low, high);
    if (HWY_LIKELY(hn::AllTrue(d32, hn::Eq(high, hn::ShiftRight<31>(low)))))
      hn::StoreU(hn::ConvertTo(d, low), d, y + i);
    else
      for (size_t j = i; j < i + lanes; ++j) y[j] = static_cast<float>(x[j]);
  }
#endif
  for (; i < n; ++i) y[i] = static_cast<float>(x[i]);
}
void u8_from_f32(const float* x, uint8_t* y, size_t n) {
  const DF d;
  const DU du;
  const auto max = hn::Set(d, 255.0F);
  map_to_bytes(d, x, y, n, [&](auto v) HWY_ATTR {
#if HWY_TARGET == HWY_AVX2
    // A maximum with NaN is its second operand, and nothing is left that an int32 does not hold.
    const auto inside = hn::Min(hn::Max(v, hn::Zero(d)), max);
    return hn::Vec<DU>{_mm256_cvttps_epi32(inside.raw)};
#else
    const auto inside = hn::IfThenElseZero(hn::Gt(v, hn::Zero(d)), v);  // NaN gives 0
    return hn::BitCast(du, hn::ConvertTo(hn::RebindToSigned<DF>(), hn::Min(inside, max)));
#endif
  });
}
void bool_from_f32(const float* x, uint8_t* y, size_t n) {
  const DF d;
  const DU du;
  const auto one = hn::BitCast(d, hn::Set(du, 1U));
  map_to_bytes(d, x, y, n,
               [&](auto v) HWY_ATTR { return hn::BitCast(du, hn::IfThenZeroElse(hn::Eq(v, hn::Zero(d)), one)); });
}
void f32_from_f64(const double* x, float* y, size_t n) {
  size_t i = 0;
#if HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128  // whose conversion saturates
  const hn::ScalableTag<double> dd;
  const hn::Rebind<float, decltype(dd)> d;
  for (; i + hn::Lanes(dd) <= n; i += hn::Lanes(dd)) hn::StoreU(hn::DemoteTo(d, hn::LoadU(dd, x + i)), d, y + i);
#endif
  for (; i < n; ++i) y[i] = static_cast<float>(x[i]);
}
void i64_from_i32(const int32_t* x, int64_t* y, size_t n) {
  const hn::ScalableTag<int64_t> dy;
  map_to(hn::Rebind<int32_t, decltype(dy)>(), dy, x, y, n,
         [&](auto v, size_t) HWY_ATTR { return hn::PromoteTo(dy, v); });
}
void bool_from_i64(const int64_t* x, uint8_t* y, size_t n) {
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::RebindToSigned<DF> di;
  const hn::Rebind<uint8_t, DF> d8;
  for (; i + hn::Lanes(di) <= n; i += hn::Lanes(di)) {
    hn::Vec<decltype(di)> low, high;
    hn::LoadInterleaved2(di, reinterpret_cast<const int32_t*>(x + i), low, high);
    const auto zero = hn::Eq(hn::Or(low, high), hn::Zero(di));
    hn::StoreU(hn::DemoteTo(d8, hn::IfThenZeroElse(zero, hn::Set(di, 1))), d8, y + i);
  }
#endif
  for (; i < n; ++i) y[i] = static_cast<uint8_t>(x[i] != 0);
}
void f32_from_u8(const uint8_t* x, float* y, size_t n) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  map_to(hn::Rebind<uint8_t, DF>(), d, x, y, n,
         [&](auto v, size_t) HWY_ATTR { return hn::ConvertTo(d, hn::PromoteTo(di, v)); });
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(quantize_u8);
NNEX_SIMD_BUILDS(quantize_s8);
NNEX_SIMD_BUILDS(quantize_u16);
NNEX_SIMD_BUILDS(quantize_s16);
NNEX_SIMD_BUILDS(dequantize_u8);
NNEX_SIMD_BUILDS(dequantize_s8);
NNEX_SIMD_BUILDS(f16_from_f32);
NNEX_SIMD_BUILDS(f32_from_f16);
NNEX_SIMD_BUILDS(bf16_from_f32);
NNEX_SIMD_BUILDS(f32_from_bf16);
NNEX_SIMD_BUILDS(i32_from_f32);
NNEX_SIMD_BUILDS(i64_from_f32);
NNEX_SIMD_BUILDS(f32_from_i32);
NNEX_SIMD_BUILDS(f32_from_i64);
NNEX_SIMD_BUILDS(f32_from_f64);
NNEX_SIMD_BUILDS(i64_from_i32);
NNEX_SIMD_BUILDS(u8_from_f32);
NNEX_SIMD_BUILDS(f32_from_u8);
NNEX_SIMD_BUILDS(bool_from_f32);
NNEX_SIMD_BUILDS(bool_from_i64);
}  // namespace nnex::kernels::simd
#endif
