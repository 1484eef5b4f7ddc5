// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/loops_typed.cpp"
#include <hwy/foreach_target.h>

#include "kernels/reduce/fold-inl.h"
#include "kernels/simd/builds.h"
#include "kernels/simd/plain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {

/// Doubles add by 16 partials, as floats do, and round every product; whole numbers wrap, so their order is free.
template <class T>
HWY_INLINE T reduce_typed(ReduceKind kind, const T* x, size_t n) {
  if (kind == ReduceKind::max) return extreme_of_row<true>(x, n);
  if (kind == ReduceKind::min) return extreme_of_row<false>(x, n);
  constexpr size_t kPartials = std::is_floating_point_v<T> ? 16 : 256 / sizeof(T);
  return with_fold<Exact, T, T>(kind, [&](T start, auto take, auto join)
                                          HWY_ATTR { return fold_partials<T, kPartials>(x, n, start, take, join); });
}

#if !HWY_HAVE_FLOAT64
/// The same of doubles, one at a time, where vectors have none.
struct PlainFold {
  ReduceKind kind;
  double start = 0;

  explicit PlainFold(ReduceKind k) : kind(k) {
    if (kind == ReduceKind::product) start = 1;
    if (kind == ReduceKind::max) start = kLowest<double>;
    if (kind == ReduceKind::min) start = kHighest<double>;
  }
  double join(double a, double b) const {
    if (kind == ReduceKind::product) return a * b;
    if (kind == ReduceKind::max) return a > b || a != a ? a : b;
    if (kind == ReduceKind::min) return a < b || a != a ? a : b;
    return a + b;
  }
  double take(double a, double x) const {
    if (kind == ReduceKind::sum_squares || kind == ReduceKind::l2) x = x * x;
    return join(a, kind == ReduceKind::sum_abs ? __builtin_fabs(x) : x);
  }
  double row(const double* x, size_t n) const {
    const size_t partials = kind == ReduceKind::max || kind == ReduceKind::min ? 32 : 16;
    double p[32];
    for (size_t j = 0; j < partials; ++j) p[j] = start;
    for (size_t i = 0; i < n; ++i) p[i % partials] = take(p[i % partials], x[i]);
    for (size_t far = partials / 2; far > 0; far /= 2)
      for (size_t j = 0; j < far; ++j) p[j] = join(p[j], p[j + far]);
    return p[0];
  }
  double column(const double* x, size_t stride, size_t rows) const {
    double total = start;
    for (size_t r0 = 0; r0 < rows; r0 += kChainRows) {
      double chain = start;
      for (size_t r = r0; r < HWY_MIN(rows, r0 + kChainRows); ++r) chain = take(chain, x[r * stride]);
      total = r0 == 0 ? chain : join(total, chain);
    }
    return total;
  }
};
#endif

#define NNEX_TYPED(type, suffix)                                                                                      \
  type reduce_##suffix(ReduceKind kind, const type* x, size_t n) { return reduce_typed(kind, x, n); }                 \
  void reduce_columns_##suffix(ReduceKind kind, const type* x, size_t stride, size_t rows, type* y, size_t columns) { \
    reduce_columns<Exact>(kind, x, stride, rows, y, columns);                                                         \
  }
#if HWY_HAVE_FLOAT64
NNEX_TYPED(double, f64)
#else
double reduce_f64(ReduceKind kind, const double* x, size_t n) { return PlainFold(kind).row(x, n); }
void reduce_columns_f64(ReduceKind kind, const double* x, size_t stride, size_t rows, double* y, size_t columns) {
  for (size_t c = 0; c < columns; ++c) y[c] = PlainFold(kind).column(x + c, stride, rows);
}
#endif
NNEX_TYPED(int32_t, i32)
NNEX_TYPED(int64_t, i64)
NNEX_TYPED(uint8_t, u8)
NNEX_TYPED(int8_t, i8)
#undef NNEX_TYPED

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
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
}  // namespace nnex::kernels::simd
#endif
