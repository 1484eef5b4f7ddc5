// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/loops_double.cpp"
#include <hwy/foreach_target.h>

#include <cstring>

#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_HAVE_FLOAT64
namespace dn = hwy::HWY_NAMESPACE;
using DoubleTag = hn::ScalableTag<double>;
using DoubleVector = hn::Vec<DoubleTag>;

/// The bits of v moved up by 52, as a double.
HWY_INLINE DoubleVector to_exponent(DoubleVector v) {
  const hn::RebindToUnsigned<DoubleTag> du;
  return hn::BitCast(DoubleTag(), hn::ShiftLeft<52>(hn::BitCast(du, v)));
}

template <class F>
HWY_INLINE void map_doubles(const double* x, double* y, size_t n, F f) {
  map(DoubleTag(), x, y, n, f);
}
#else
/// One number at a time where vectors have no doubles.
struct DoubleTag {};
using DoubleVector = double;
namespace dn {
inline double Set(DoubleTag, double v) { return v; }
inline double Add(double a, double b) { return a + b; }
inline double Sub(double a, double b) { return a - b; }
inline double Mul(double a, double b) { return a * b; }
inline double Div(double a, double b) { return a / b; }
inline double Neg(double a) { return -a; }
inline double Abs(double a) { return __builtin_fabs(a); }
inline double Floor(double a) { return __builtin_floor(a); }
inline double Sqrt(double a) { return __builtin_sqrt(a); }
inline double CopySign(double a, double b) { return __builtin_copysign(a, b); }
inline bool IsNaN(double a) { return a != a; }
inline bool Lt(double a, double b) { return a < b; }
inline bool Gt(double a, double b) { return a > b; }
inline double IfThenElse(bool m, double a, double b) { return m ? a : b; }
inline double IfThenZeroElse(bool m, double a) { return m ? 0.0 : a; }
}  // namespace dn

inline double to_exponent(double v) {
  uint64_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  bits <<= 52;
  std::memcpy(&v, &bits, sizeof bits);
  return v;
}

template <class F>
HWY_INLINE void map_doubles(const double* x, double* y, size_t n, F f) {
  for (size_t i = 0; i < n; ++i) y[i] = f(x[i]);
}
#endif

/// e^x as 2^k (1 + p), for |x| < 760: k whole, |p| < 0.42 within an ulp of its own.
struct DoublePower {
  using V = DoubleVector;
  V k, p;

  explicit HWY_INLINE DoublePower(V x) {
    const DoubleTag d;
    const V magic = dn::Set(d, 6755399441055744.0);  // 1.5 * 2^52: adding it rounds
    k = dn::Sub(dn::Add(dn::Mul(x, dn::Set(d, 1.4426950408889634)), magic), magic);
    // ln 2 in two parts: the product with the first, of 33 bits, is exact.
    const V high = dn::Sub(x, dn::Mul(k, dn::Set(d, 6.93147180369123816490e-01)));
    const V r = dn::Sub(high, dn::Mul(k, dn::Set(d, 1.90821492927058770002e-10)));
    // Taylor's series: 1/14! r^14 is below 2^-55 of r for |r| < 0.35.
    V sum = dn::Set(d, 1.0 / 6227020800);
    const double inverse[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                              1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5};
    HWY_UNROLL(11)
    for (double c : inverse) sum = dn::Add(dn::Mul(sum, r), dn::Set(d, c));
    p = dn::Add(r, dn::Mul(dn::Mul(r, r), sum));
  }

  /// 2^n for whole |n| < 1023.
  static HWY_INLINE V two_to(V n) {
    const DoubleTag d;
    const V biased = dn::Add(n, dn::Set(d, 4503599627370496.0 + 1023));  // 2^52: the low bits are the number
    return to_exponent(biased);
  }
};

/// From -746 to 710, beyond which results are 0 and infinity.
HWY_INLINE DoubleVector exp_f64(DoubleVector x) {
  const DoubleTag d;
  const auto low = dn::Set(d, -746.0), high = dn::Set(d, 710.0);
  const auto inside = dn::IfThenElse(dn::Lt(x, low), low, dn::IfThenElse(dn::Gt(x, high), high, x));
  const DoublePower e(dn::IfThenZeroElse(dn::IsNaN(x), inside));
  // In two steps: 2^k alone may be beyond the range where the result is not.
  const auto half = dn::Floor(dn::Mul(e.k, dn::Set(d, 0.5)));
  const auto scaled = dn::Mul(dn::Add(e.p, dn::Set(d, 1.0)), DoublePower::two_to(half));
  return dn::IfThenElse(dn::IsNaN(x), x, dn::Mul(scaled, DoublePower::two_to(dn::Sub(e.k, half))));
}

/// With u = e^(2 |x|) - 1: tanh |x| = u / (u + 2), which keeps small results.
HWY_INLINE DoubleVector tanh_f64(DoubleVector x) {
  const DoubleTag d;
  const auto limit = dn::Set(d, 22.0);  // from there on it is 1
  const auto size = dn::Abs(x);
  const auto inside = dn::IfThenElse(dn::Lt(size, limit), size, limit);
  const DoublePower e(dn::Add(inside, inside));
  const auto two_to_k = DoublePower::two_to(e.k);
  const auto u = dn::Add(dn::Mul(two_to_k, e.p), dn::Sub(two_to_k, dn::Set(d, 1.0)));
  const auto y = dn::CopySign(dn::Div(u, dn::Add(u, dn::Set(d, 2.0))), x);
  return dn::IfThenElse(dn::IsNaN(x), x, y);
}

HWY_INLINE DoubleVector sigmoid_f64(DoubleVector x) {
  const auto one = dn::Set(DoubleTag(), 1.0);
  return dn::Div(one, dn::Add(one, exp_f64(dn::Neg(x))));
}

void unary_f64(UnaryKind kind, const double* x, double* y, size_t n) {
  switch (kind) {
    case UnaryKind::exp:
      return map_doubles(x, y, n, [](DoubleVector v) HWY_ATTR { return exp_f64(v); });
    case UnaryKind::tanh:
      return map_doubles(x, y, n, [](DoubleVector v) HWY_ATTR { return tanh_f64(v); });
    case UnaryKind::sigmoid:
      return map_doubles(x, y, n, [](DoubleVector v) HWY_ATTR { return sigmoid_f64(v); });
    default:
      return map_doubles(x, y, n, [](DoubleVector v) HWY_ATTR { return dn::Sqrt(v); });
  }
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(unary_f64);
}  // namespace nnex::kernels::simd
#endif
