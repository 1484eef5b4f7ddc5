// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/loops_double.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// e^x as 2^k (1 + p), for |x| < 760: k whole, |p| < 0.42 within an ulp of its own.
struct DoublePower {
  using D = hn::ScalableTag<double>;
  using V = hn::Vec<D>;
  V k, p;

  explicit HWY_INLINE DoublePower(V x) {
    const D d;
    const V magic = hn::Set(d, 6755399441055744.0);  // 1.5 * 2^52: adding it rounds
    k = hn::Sub(hn::Add(hn::Mul(x, hn::Set(d, 1.4426950408889634)), magic), magic);
    // ln 2 in two parts: the product with the first, of 33 bits, is exact.
    const V high = hn::Sub(x, hn::Mul(k, hn::Set(d, 6.93147180369123816490e-01)));
    const V r = hn::Sub(high, hn::Mul(k, hn::Set(d, 1.90821492927058770002e-10)));
    // Taylor's series: 1/14! r^14 is below 2^-55 of r for |r| < 0.35.
    V sum = hn::Set(d, 1.0 / 6227020800);
    const double inverse[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                              1.0 / 5040,      1.0 / 720,      1.0 / 120,     1.0 / 24,     1.0 / 6, 0.5};
    HWY_UNROLL(11)
    for (double c : inverse) sum = hn::Add(hn::Mul(sum, r), hn::Set(d, c));
    p = hn::Add(r, hn::Mul(hn::Mul(r, r), sum));
  }

  /// 2^n for whole |n| < 1023.
  static HWY_INLINE V two_to(V n) {
    const D d;
    const hn::RebindToUnsigned<D> du;
    const V biased = hn::Add(n, hn::Set(d, 4503599627370496.0 + 1023));  // 2^52: the low bits are the number
    return hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(du, biased)));
  }
};

using DoubleVector = DoublePower::V;

/// From -746 to 710, beyond which results are 0 and infinity.
HWY_INLINE DoubleVector exp_f64(DoubleVector x) {
  const DoublePower::D d;
  const auto low = hn::Set(d, -746.0), high = hn::Set(d, 710.0);
  const auto inside = hn::IfThenElse(hn::Lt(x, low), low, hn::IfThenElse(hn::Gt(x, high), high, x));
  const DoublePower e(hn::IfThenZeroElse(hn::IsNaN(x), inside));
  // In two steps: 2^k alone may be beyond the range where the result is not.
  const auto half = hn::Floor(hn::Mul(e.k, hn::Set(d, 0.5)));
  const auto scaled = hn::Mul(hn::Add(e.p, hn::Set(d, 1.0)), DoublePower::two_to(half));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Mul(scaled, DoublePower::two_to(hn::Sub(e.k, half))));
}

/// With u = e^(2 |x|) - 1: tanh |x| = u / (u + 2), which keeps small results.
HWY_INLINE DoubleVector tanh_f64(DoubleVector x) {
  const DoublePower::D d;
  const auto limit = hn::Set(d, 22.0);  // from there on it is 1
  const auto size = hn::Abs(x);
  const auto inside = hn::IfThenElse(hn::Lt(size, limit), size, limit);
  const DoublePower e(hn::Add(inside, inside));
  const auto two_to_k = DoublePower::two_to(e.k);
  const auto u = hn::Add(hn::Mul(two_to_k, e.p), hn::Sub(two_to_k, hn::Set(d, 1.0)));
  const auto y = hn::CopySign(hn::Div(u, hn::Add(u, hn::Set(d, 2.0))), x);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

HWY_INLINE DoubleVector sigmoid_f64(DoubleVector x) {
  const auto one = hn::Set(DoublePower::D(), 1.0);
  return hn::Div(one, hn::Add(one, exp_f64(hn::Neg(x))));
}

void unary_f64(UnaryKind kind, const double* x, double* y, size_t n) {
  const DoublePower::D d;
  switch (kind) {
    case UnaryKind::exp:
      return map(d, x, y, n, [](auto v) HWY_ATTR { return exp_f64(v); });
    case UnaryKind::tanh:
      return map(d, x, y, n, [](auto v) HWY_ATTR { return tanh_f64(v); });
    case UnaryKind::sigmoid:
      return map(d, x, y, n, [](auto v) HWY_ATTR { return sigmoid_f64(v); });
    default:
      return map(d, x, y, n, [](auto v) HWY_ATTR { return hn::Sqrt(v); });
  }
}

}  // namespace nnex::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::simd {
NNEX_SIMD_BUILDS(unary_f64);
}  // namespace nnex::simd
#endif
