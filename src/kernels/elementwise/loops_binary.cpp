// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/loops_binary.cpp"
#include <hwy/foreach_target.h>

#include <cstring>
#include <iterator>
#include <type_traits>

#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"
#include "kernels/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// y[i] = f(a[i], b[i]); the operand the form names as scalar is one number.
template <class D, class T, class F>
HWY_INLINE void map2(D d, Form form, const T* a, const T* b, T* y, size_t n, F f) {
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  if (form == Form::vector_vector) {
    for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
    if (i < n) store_part(f(load_part(d, a + i, n - i), load_part(d, b + i, n - i)), d, y + i, n - i);
  } else if (form == Form::vector_scalar) {
    const auto vb = hn::Set(d, *b);
    for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, a + i), vb), d, y + i);
    if (i < n) store_part(f(load_part(d, a + i, n - i), vb), d, y + i, n - i);
  } else {
    const auto va = hn::Set(d, *a);
    for (; i + lanes <= n; i += lanes) hn::StoreU(f(va, hn::LoadU(d, b + i)), d, y + i);
    if (i < n) store_part(f(va, load_part(d, b + i, n - i)), d, y + i, n - i);
  }
}

// a^b for finite a > 0 and b that is no NaN: 2^(b log2 a) in double precision, wide enough to round once to float. The
// loop over vectors and the one number do the same operations.

constexpr double kRoundsToWhole = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves the whole number in the low bits
constexpr int64_t kRootHalf = 0x3fe6a09e667f3bcd;      // the mantissa is taken from [sqrt(1/2), sqrt(2))
constexpr double kLogTerms[] = {1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0};
constexpr double kExpTerms[] = {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                                1.0 / 120,      1.0 / 24,      1.0 / 6,      1.0 / 2,     1.0,        1.0};
constexpr double kTwiceLog2E = 2.8853900817779268, kLog2 = 0.69314718055994531;

HWY_INLINE double from_bits(uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, 8);
  return x;
}

HWY_INLINE float pow_of_positive(float a, float b) {
  uint64_t bits;
  const double wide = a;
  std::memcpy(&bits, &wide, 8);
  const int64_t exponent = (static_cast<int64_t>(bits) - kRootHalf) >> 52;
  const double m = from_bits(bits - (static_cast<uint64_t>(exponent) << 52));
  const double t = (m - 1.0) / (m + 1.0), z = t * t;
  double p = kLogTerms[0];
  for (size_t i = 1; i < std::size(kLogTerms); ++i) p = p * z + kLogTerms[i];
  const double log2 = static_cast<double>(exponent) + t * p * kTwiceLog2E;
  double power = static_cast<double>(b) * log2;
  power = power < -200.0 ? -200.0 : power > 200.0 ? 200.0 : power;
  const double n = (power + kRoundsToWhole) - kRoundsToWhole;
  const double r = (power - n) * kLog2;
  double e = kExpTerms[0];
  for (size_t i = 1; i < std::size(kExpTerms); ++i) e = e * r + kExpTerms[i];
  return static_cast<float>(e * from_bits(static_cast<uint64_t>(static_cast<int64_t>(n) + 1023) << 52));
}

// Where vectors are emulated a double beyond every float becomes the largest one, not infinity.
#undef NNEX_HAS_DOUBLES
#define NNEX_HAS_DOUBLES (HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

#if NNEX_HAS_DOUBLES
using DD = hn::ScalableTag<double>;
using DHalf = hn::Rebind<float, DD>;

HWY_INLINE hn::Vec<DHalf> pow_of_positive(hn::Vec<DHalf> a, hn::Vec<DHalf> b) {
  const DD d;
  const hn::RebindToUnsigned<DD> du;
  const auto magic = hn::Set(d, kRoundsToWhole);
  const auto bits = hn::BitCast(du, hn::PromoteTo(d, a));
  // The exponent, 1,024 up, so that nothing is below 0.
  const auto raised = hn::ShiftRight<52>(hn::Add(bits, hn::Set(du, (uint64_t{1024} << 52) - uint64_t{kRootHalf})));
  const auto exponent = hn::Sub(raised, hn::Set(du, 1024));
  const auto m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(exponent)));
  const auto one = hn::Set(d, 1.0);
  const auto t = hn::Div(hn::Sub(m, one), hn::Add(m, one)), z = hn::Mul(t, t);
  auto p = hn::Set(d, kLogTerms[0]);
  for (size_t i = 1; i < std::size(kLogTerms); ++i) p = hn::Add(hn::Mul(p, z), hn::Set(d, kLogTerms[i]));
  const auto whole = hn::Sub(hn::BitCast(d, hn::Add(exponent, hn::BitCast(du, magic))), magic);
  const auto log2 = hn::Add(whole, hn::Mul(hn::Mul(t, p), hn::Set(d, kTwiceLog2E)));
  auto power = hn::Mul(hn::PromoteTo(d, b), log2);
  power = hn::Min(hn::Max(power, hn::Set(d, -200.0)), hn::Set(d, 200.0));
  const auto sum = hn::Add(power, magic);
  const auto r = hn::Mul(hn::Sub(power, hn::Sub(sum, magic)), hn::Set(d, kLog2));
  auto e = hn::Set(d, kExpTerms[0]);
  for (size_t i = 1; i < std::size(kExpTerms); ++i) e = hn::Add(hn::Mul(e, r), hn::Set(d, kExpTerms[i]));
  const auto scale =
      hn::ShiftLeft<52>(hn::Add(hn::Sub(hn::BitCast(du, sum), hn::BitCast(du, magic)), hn::Set(du, 1023)));
  return hn::DemoteTo(DHalf(), hn::Mul(e, hn::BitCast(d, scale)));
}
#endif

HWY_INLINE float pow_f32(float a, float b) {
  if (b == 0.0F || a == 1.0F) return 1.0F;
  if (a != a) return a;
  if (b != b) return b;
  const float inf = __builtin_huge_valf();
  const float size_a = a < 0 ? -a : a + 0.0F, size_b = b < 0 ? -b : b;
  const bool whole = size_b >= 16777216.0F || static_cast<float>(static_cast<int32_t>(size_b)) == size_b;
  const bool odd = whole && size_b < 16777216.0F && (static_cast<int32_t>(size_b) & 1);
  const bool negative = a < 0 || (a == 0 && 1.0F / a < 0);
  if (a < 0 && size_a < inf && !whole) return __builtin_nanf("");
  float y;
  if (size_a == 0 || size_a == inf) {
    y = (size_a == 0) == (b < 0) ? inf : 0.0F;
  } else {
    y = size_a == 1.0F ? 1.0F : pow_of_positive(size_a, b);
  }
  return negative && odd ? -y : y;
}

/// Vectors where every base is positive and finite and every power a finite number, else one by one.
HWY_INLINE void pow_all(Form form, const float* a, const float* b, float* y, size_t n) {
  const size_t step_a = form != Form::scalar_vector, step_b = form != Form::vector_scalar;
  size_t i = 0;
#if NNEX_HAS_DOUBLES
  const DHalf d;
  const size_t lanes = hn::Lanes(d);
  const auto most = hn::Set(d, 3.402823466e38F), zero = hn::Zero(d);
  for (; i + lanes <= n; i += lanes) {
    const auto u = step_a ? hn::LoadU(d, a + i) : hn::Set(d, *a);
    const auto v = step_b ? hn::LoadU(d, b + i) : hn::Set(d, *b);
    const auto usual = hn::And(hn::And(hn::Gt(u, zero), hn::Le(u, most)), hn::Le(hn::Abs(v), most));
    if (hn::AllTrue(d, usual))
      hn::StoreU(pow_of_positive(u, v), d, y + i);
    else
      for (size_t k = i; k < i + lanes; ++k) y[k] = pow_f32(a[k * step_a], b[k * step_b]);
  }
#endif
  for (; i < n; ++i) y[i] = pow_f32(a[i * step_a], b[i * step_b]);
}

void binary_f32(BinaryKind kind, Form form, const float* a, const float* b, float* y, size_t n) {
  const hn::ScalableTag<float> d;
#define NNEX_CASE(name, formula) \
  case BinaryKind::name:         \
    return map2(d, form, a, b, y, n, [&](auto u, auto v) HWY_ATTR { return formula; })
  switch (kind) {
    NNEX_CASE(add, hn::Add(u, v));
    NNEX_CASE(sub, hn::Sub(u, v));
    NNEX_CASE(mul, hn::Mul(u, v));
    NNEX_CASE(div, hn::Div(u, v));
    NNEX_CASE(min, min_f32(d, u, v));
    NNEX_CASE(max, max_f32(d, u, v));
    NNEX_CASE(lesser, hn::IfThenElse(hn::Lt(u, v), u, v));
    NNEX_CASE(greater, hn::IfThenElse(hn::Gt(u, v), u, v));
    NNEX_CASE(prelu, where_negative(d, u, hn::Mul(u, v)));
    case BinaryKind::pow:
      return pow_all(form, a, b, y, n);
    case BinaryKind::count:
      break;
  }
#undef NNEX_CASE
}

/// y[i] = whether f holds of a[i] and b[i], for at least a vector of 32-bit lanes; the last may be done twice.
template <class T, class F>
HWY_INLINE void truths(const T* a, const T* b, uint8_t* y, size_t n, F f) {
  const hn::ScalableTag<T> d;
#if HWY_TARGET == HWY_SCALAR
  for (size_t i = 0; i < n; ++i) y[i] = hn::AllTrue(d, f(hn::Set(d, a[i]), hn::Set(d, b[i])));
#else
  const hn::ScalableTag<uint32_t> di;
  const hn::Rebind<uint8_t, decltype(di)> d8;
  const auto at = [&](size_t i) HWY_ATTR {
    return hn::BitCast(di, hn::VecFromMask(d, f(hn::LoadU(d, a + i), hn::LoadU(d, b + i))));
  };
  const size_t lanes = hn::Lanes(di);
  const auto bits = [&](size_t i) HWY_ATTR {
    auto mask = at(i);
    if constexpr (sizeof(T) == 8) mask = hn::ConcatEven(di, at(i + hn::Lanes(d)), mask);
    return hn::And(mask, hn::Set(di, 1U));
  };
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const hn::Vec<decltype(di)> four[4] = {bits(i), bits(i + lanes), bits(i + 2 * lanes), bits(i + 3 * lanes)};
    store_as_bytes(four, y + i);
  }
  for (; i < n; i += lanes) {
    const size_t o = HWY_MIN(i, n - lanes);
    hn::StoreU(hn::TruncateTo(d8, bits(o)), d8, y + o);
  }
#endif
}

/// u <= v, of whole numbers for which not all instruction sets have it.
template <class V>
HWY_INLINE auto no_more(V u, V v) {
  if constexpr (std::is_floating_point_v<hn::TFromD<hn::DFromV<V>>>)
    return hn::Le(u, v);
  else
    return hn::Not(hn::Lt(v, u));
}

template <class T>
HWY_NOINLINE void compare_whole(CompareKind kind, const T* a, const T* b, uint8_t* y, size_t n) {
#define NNEX_CASE(name, formula) \
  case CompareKind::name:        \
    return truths(a, b, y, n, [](auto u, auto v) HWY_ATTR { return formula; })
  switch (kind) {
    NNEX_CASE(eq, hn::Eq(u, v));
    NNEX_CASE(ne, hn::Not(hn::Eq(u, v)));  // Ne is false on NaN on some instruction sets
    NNEX_CASE(lt, hn::Lt(u, v));
    NNEX_CASE(le, no_more(u, v));
    default:
      break;
  }
#undef NNEX_CASE
}

/// Less than a vector goes through copies; greater is less the other way round.
template <class T>
HWY_INLINE void compare(CompareKind kind, const T* a, const T* b, uint8_t* y, size_t n) {
  if (kind == CompareKind::gt || kind == CompareKind::ge)
    return compare(kind == CompareKind::gt ? CompareKind::lt : CompareKind::le, b, a, y, n);
  constexpr size_t kMost = hn::MaxLanes(hn::ScalableTag<int32_t>());
  const size_t lanes = hn::Lanes(hn::ScalableTag<int32_t>());
  if (n >= lanes) return compare_whole(kind, a, b, y, n);
  T left[kMost] = {}, right[kMost] = {};
  uint8_t few[kMost];
  std::memcpy(left, a, n * sizeof(T));
  std::memcpy(right, b, n * sizeof(T));
  compare_whole(kind, left, right, few, lanes);
  std::memcpy(y, few, n);
}

void compare_f32(CompareKind kind, const float* a, const float* b, uint8_t* y, size_t n) { compare(kind, a, b, y, n); }
void compare_i32(CompareKind kind, const int32_t* a, const int32_t* b, uint8_t* y, size_t n) {
  compare(kind, a, b, y, n);
}
void compare_i64(CompareKind kind, const int64_t* a, const int64_t* b, uint8_t* y, size_t n) {
  compare(kind, a, b, y, n);
}

void select_u32(const uint8_t* which, const uint32_t* a, const uint32_t* b, uint32_t* y, size_t n, size_t step_a,
                size_t step_b) {
  const hn::ScalableTag<uint32_t> d;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  const size_t lanes = hn::Lanes(d);
  if (n == 0) return;
  const auto va = hn::Set(d, *a), vb = hn::Set(d, *b);
  const auto choose = [&](auto bytes, auto u, auto v)
                          HWY_ATTR { return hn::IfThenElse(hn::Ne(hn::PromoteTo(d, bytes), hn::Zero(d)), u, v); };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(choose(hn::LoadU(d8, which + i), step_a ? hn::LoadU(d, a + i) : va, step_b ? hn::LoadU(d, b + i) : vb),
               d, y + i);
  if (i < n)
    store_part(choose(load_part(d8, which + i, n - i), step_a ? load_part(d, a + i, n - i) : va,
                      step_b ? load_part(d, b + i, n - i) : vb),
               d, y + i, n - i);
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(binary_f32);
NNEX_SIMD_BUILDS(compare_f32);
NNEX_SIMD_BUILDS(compare_i32);
NNEX_SIMD_BUILDS(compare_i64);
NNEX_SIMD_BUILDS(select_u32);
}  // namespace nnex::kernels::simd
#endif
