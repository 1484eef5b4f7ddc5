// What element-wise loops share: parts of a vector, the multiply-add of both kinds, and map().
// Included by files under simd/ inside foreach_target; the guard toggles once for each instruction set.

#if defined(NNEX_KERNELS_SIMD_MAP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NNEX_KERNELS_SIMD_MAP_INL_H_
#undef NNEX_KERNELS_SIMD_MAP_INL_H_
#else
#define NNEX_KERNELS_SIMD_MAP_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A value that several instructions use is loaded once: g++ would make it an operand in memory of each.
template <class V>
HWY_INLINE void keep_in_register(V& v) {
#if HWY_ARCH_X86 && HWY_NATIVE_FMA && HWY_COMPILER_GCC_ACTUAL
  asm("" : "+v"(v.raw));
#else
  (void)v;
#endif
}

/// Multiply, then add: two roundings, the same bits everywhere.
struct Exact {
  /// a * b + c
  template <class V>
  static HWY_INLINE V madd(V a, V b, V c) {
    return hn::Add(hn::Mul(a, b), c);
  }
  /// c - a * b
  template <class V>
  static HWY_INLINE V nmadd(V a, V b, V c) {
    return hn::Sub(c, hn::Mul(a, b));
  }
};

#if HWY_NATIVE_FMA
/// Multiply-add with one rounding.
struct Fused {
  template <class V>
  static HWY_INLINE V madd(V a, V b, V c) {
    return hn::MulAdd(a, b, c);
  }
  template <class V>
  static HWY_INLINE V nmadd(V a, V b, V c) {
    return hn::NegMulAdd(a, b, c);
  }
};
#else
using Fused = Exact;  // the machine has none
#endif

/// What the twins `name_exact` multiply by. Those of AVX-512 are not run (loops.cpp): they are the same functions.
#if HWY_TARGET == HWY_AVX3
using Portable = Fused;
#else
using Portable = Exact;
#endif

/// Whether parts of vectors are loaded where they lie. AVX2 does so with elements of 32 and 64 bits.
template <class D, class T = hn::TFromD<D>>
constexpr bool kLoadsParts =
    !HWY_MEM_OPS_MIGHT_FAULT || (HWY_TARGET == HWY_AVX2 && sizeof(T) >= 4 && hn::MaxLanes(D()) * sizeof(T) >= 16);

/// The first n < Lanes(d) elements at p, then zeros; reads nothing behind them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_part(D d, const T* p, size_t n) {
  if constexpr (kLoadsParts<D>) {
    return hn::MaskedLoad(hn::FirstN(d, n), d, p);
  } else {
    HWY_ALIGN T padded[HWY_MAX_BYTES / sizeof(T)] = {};
    std::memcpy(padded, p, n * sizeof(T));
    return hn::Load(d, padded);
  }
}

/// Writes the first n < Lanes(d) lanes of v to p. Where no instruction does so, or a slow one (AVX2's takes some twelve
/// cycles on AMD), by halves of what is left.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_part(hn::Vec<D> v, D d, T* p, size_t n) {
#if HWY_MEM_OPS_MIGHT_FAULT
  constexpr size_t kLanesOfHalf = hn::MaxLanes(D()) / 2;
  if constexpr (kLanesOfHalf == 0) {
    if (n > 0) hn::StoreU(v, d, p);
  } else {
    const hn::Half<D> half;
    if (n >= kLanesOfHalf) {
      hn::StoreU(hn::LowerHalf(half, v), half, p);
      store_part(hn::UpperHalf(half, v), half, p + kLanesOfHalf, n - kLanesOfHalf);
    } else {
      store_part(hn::LowerHalf(half, v), half, p, n);
    }
  }
#else
  hn::BlendedStore(v, hn::FirstN(d, n), d, p);
#endif
}

#if HWY_TARGET != HWY_SCALAR
/// Stores four vectors of uint32, all below 256, as bytes one after another.
template <class V>
HWY_INLINE void store_as_bytes(const V (&v)[4], uint8_t* y) {
#if HWY_TARGET == HWY_AVX2
  const __m256i low = _mm256_packus_epi32(v[0].raw, v[1].raw), high = _mm256_packus_epi32(v[2].raw, v[3].raw);
  const __m256i halves = _mm256_packus_epi16(low, high);  // of each vector its first half, then of each its second
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm256_permutevar8x32_epi32(halves, order));
#elif HWY_TARGET == HWY_SSE4
  const __m128i low = _mm_packus_epi32(v[0].raw, v[1].raw), high = _mm_packus_epi32(v[2].raw, v[3].raw);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm_packus_epi16(low, high));
#else
  const hn::DFromV<V> d;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  HWY_UNROLL(4)
  for (size_t k = 0; k < 4; ++k) hn::StoreU(hn::TruncateTo(d8, v[k]), d8, y + k * hn::Lanes(d));
#endif
}
#endif

/// y[i] = f(x[i]) for i in [0, n): whole vectors, then the last part by the same formula. x and y may be the same
/// buffer.
template <class D, class T, class F>
HWY_INLINE void map(D d, const T* x, T* y, size_t n, F f) {
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, y + i);
  if (i < n) store_part(f(load_part(d, x + i, n - i)), d, y + i, n - i);
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
