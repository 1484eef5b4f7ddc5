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

/// The first n < Lanes(d) elements at p, then zeros; reads nothing behind them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_part(D d, const T* p, size_t n) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN T padded[HWY_MAX_BYTES / sizeof(T)] = {};
  std::memcpy(padded, p, n * sizeof(T));
  return hn::Load(d, padded);
#else
  return hn::MaskedLoad(hn::FirstN(d, n), d, p);
#endif
}

/// Writes the first n < Lanes(d) lanes of v to p.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_part(hn::Vec<D> v, D d, T* p, size_t n) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN T padded[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v, d, padded);
  std::memcpy(p, padded, n * sizeof(T));
#else
  hn::BlendedStore(v, hn::FirstN(d, n), d, p);
#endif
}

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
