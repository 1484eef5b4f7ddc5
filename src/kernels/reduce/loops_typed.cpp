// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/loops_typed.cpp"
#include <hwy/foreach_target.h>

#include "kernels/reduce/fold-inl.h"
#include "kernels/simd/builds.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::simd::HWY_NAMESPACE {

/// Doubles add by 16 partials, as floats do, and round every product; whole numbers wrap, so their order is free.
template <class T>
HWY_INLINE T reduce_typed(ReduceKind kind, const T* x, size_t n) {
  if (kind == ReduceKind::max) return extreme_of_row<true>(x, n);
  if (kind == ReduceKind::min) return extreme_of_row<false>(x, n);
  constexpr size_t kPartials = std::is_floating_point_v<T> ? 16 : 256 / sizeof(T);
  return with_fold<Exact, T, T>(kind, [&](T start, auto take, auto join)
                                          HWY_ATTR { return fold_partials<T, kPartials>(x, n, start, take, join); });
}

#define NNEX_TYPED(type, suffix)                                                                                      \
  type reduce_##suffix(ReduceKind kind, const type* x, size_t n) { return reduce_typed(kind, x, n); }                 \
  void reduce_columns_##suffix(ReduceKind kind, const type* x, size_t stride, size_t rows, type* y, size_t columns) { \
    reduce_columns<Exact>(kind, x, stride, rows, y, columns);                                                         \
  }
NNEX_TYPED(double, f64)
NNEX_TYPED(int32_t, i32)
NNEX_TYPED(int64_t, i64)
NNEX_TYPED(uint8_t, u8)
NNEX_TYPED(int8_t, i8)
#undef NNEX_TYPED

}  // namespace nnex::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::simd {
NNEX_SIMD_BUILDS(reduce_f64);
NNEX_SIMD_BUILDS(reduce_i32);
NNEX_SIMD_BUILDS(reduce_i64);
NNEX_SIMD_BUILDS(reduce_u8);
NNEX_SIMD_BUILDS(reduce_i8);
NNEX_SIMD_BUILDS(reduce_columns_f64);
NNEX_SIMD_BUILDS(reduce_columns_i32);
NNEX_SIMD_BUILDS(reduce_columns_i64);
NNEX_SIMD_BUILDS(reduce_columns_u8);
NNEX_SIMD_BUILDS(reduce_columns_i8);
}  // namespace nnex::simd
#endif
