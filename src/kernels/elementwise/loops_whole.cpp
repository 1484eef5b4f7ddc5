// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/loops_whole.cpp"
#include <hwy/foreach_target.h>

#include <cstring>
#include <type_traits>

#include "kernels/simd/builds.h"
#include "kernels/simd/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Operands whatever their type, in whole vectors alone: what is left over goes through a copy, so each step is the
/// smallest loop.
struct Whole {
  const uint8_t* a;
  const uint8_t* b;
  size_t b_move;          // bytes from a vector of b to the next
  const uint8_t* limits;  // two numbers, where b is not one for each element
  uint8_t* y;
  size_t bytes;
};

template <class D, class F>
HWY_INLINE void each(D d, Whole w, F f) {
  using T = hn::TFromD<D>;
  const auto at = [](const uint8_t* p) { return reinterpret_cast<const T*>(p); };
  for (size_t i = 0; i < w.bytes; i += hn::Lanes(d) * sizeof(T), w.b += w.b_move)
    hn::StoreU(f(hn::LoadU(d, at(w.a + i)), hn::LoadU(d, at(w.b))), d, reinterpret_cast<T*>(w.y + i));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V product(D d, V a, V b) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(hn::TFromD<D>) == 1) {
    const hn::Repartition<uint16_t, D> wide;
    const auto u = hn::BitCast(wide, a), v = hn::BitCast(wide, b);
    const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(u), hn::ShiftRight<8>(v)));
    return hn::BitCast(d, hn::Or(odd, hn::And(hn::Mul(u, v), hn::Set(wide, 0xff))));
  } else {
    return hn::Mul(a, b);
  }
#else
  using T = hn::TFromD<D>;
  return hn::Set(d, static_cast<T>(hn::GetLane(a) * hn::GetLane(b)));
#endif
}

template <class T>
HWY_NOINLINE void run_whole(WholeStep step, const Whole& w) {
  const hn::ScalableTag<T> d;
#define NNEX_CASE(name, formula) \
  case WholeStep::name:          \
    return each(d, w, [&](auto a, [[maybe_unused]] auto b) HWY_ATTR { return formula; })
  if constexpr (std::is_unsigned_v<T>) switch (step) {
      NNEX_CASE(add, hn::Add(a, b));
      NNEX_CASE(sub, hn::Sub(a, b));
      NNEX_CASE(mul, product(d, a, b));
      NNEX_CASE(neg, hn::Sub(hn::Zero(d), a));
      NNEX_CASE(bit_and, hn::And(a, b));
      NNEX_CASE(bit_or, hn::Or(a, b));
      NNEX_CASE(bit_xor, hn::Xor(a, b));
      default:
        break;
    }
  if constexpr (std::is_integral_v<T>) switch (step) {
      NNEX_CASE(min, hn::Min(a, b));
      NNEX_CASE(max, hn::Max(a, b));
      case WholeStep::clamp: {
        const T* const limits = reinterpret_cast<const T*>(w.limits);
        const auto low = hn::Set(d, limits[0]), high = hn::Set(d, limits[1]);
        return each(d, w, [&](auto a, auto) HWY_ATTR { return hn::Min(hn::Max(a, low), high); });
      }
      default:
        break;
    }
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) switch (step) {
      NNEX_CASE(abs, hn::Max(a, hn::Sub(hn::Zero(d), a)));
      default:
        break;
    }
  if constexpr (std::is_same_v<T, int16_t>) {
    if (step != WholeStep::half_relu && step != WholeStep::half_sign) return;
    const T* const numbers = reinterpret_cast<const T*>(w.limits);
    const auto infinity = hn::Set(d, numbers[0]), one = hn::Set(d, numbers[1]), sizes = hn::Set(d, INT16_MAX);
    switch (step) {
      NNEX_CASE(half_relu, hn::IfThenElse(hn::Gt(hn::And(a, sizes), infinity), a, hn::Max(a, hn::Zero(d))));
      case WholeStep::half_sign:
        return each(d, w, [&](auto a, auto) HWY_ATTR {
          const auto size = hn::And(a, sizes);
          const auto stays = hn::Or(hn::Eq(size, hn::Zero(d)), hn::Gt(size, infinity));
          return hn::IfThenElse(stays, a, hn::Or(hn::AndNot(sizes, a), one));
        });
      default:
        break;
    }
  }
#if HWY_HAVE_FLOAT64
  if constexpr (std::is_same_v<T, double>) {
    const auto one = hn::Set(d, 1.0), zero = hn::Zero(d);
    switch (step) {
      NNEX_CASE(add, hn::Add(a, b));
      NNEX_CASE(sub, hn::Sub(a, b));
      NNEX_CASE(mul, hn::Mul(a, b));
      NNEX_CASE(div, hn::Div(a, b));
      NNEX_CASE(min, hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b));
      NNEX_CASE(max, hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b));
      NNEX_CASE(sign, hn::IfThenElse(hn::Gt(hn::Abs(a), zero), hn::CopySign(one, a), a));
      default:
        break;
    }
  }
#endif
#undef NNEX_CASE
}

/// Of elements of so many bytes. What `run` reads of b where it is one number lies in a vector of its own.
HWY_NOINLINE void whole(void (*run)(WholeStep, const Whole&), WholeStep step, Whole w, size_t element) {
  constexpr size_t kMost = HWY_MAX(hn::MaxLanes(hn::ScalableTag<uint8_t>()), 8);
  const size_t vector = hn::Lanes(hn::ScalableTag<uint8_t>()), rest = w.bytes % vector;
  if (w.bytes == 0) return;
  HWY_ALIGN uint8_t one[kMost], left[kMost] = {}, right[kMost] = {};
  w.bytes -= rest;
  if (w.b_move == 0) {
    for (size_t i = 0; i < vector; i += element) std::memcpy(one + i, w.b, element);
    w.limits = w.b, w.b = one;
  }
  // Read first: y may be an operand.
  std::memcpy(left, w.a + w.bytes, rest);
  if (w.b_move) std::memcpy(right, w.b + w.bytes, rest);
  run(step, w);
  if (rest == 0) return;
  const Whole last = {left, w.b_move ? right : one, 0, w.limits, left, vector};
  run(step, last);
  std::memcpy(w.y + w.bytes, left, rest);
}

#define NNEX_WHOLE(name, T)                                                                   \
  void whole_##name(WholeStep step, const T* a, const T* b, size_t step_b, T* y, size_t n) {  \
    const auto bytes = [](auto* p) { return reinterpret_cast<const uint8_t*>(p); };           \
    whole(run_whole<T>, step,                                                                 \
          {bytes(a), bytes(b), step_b * hn::Lanes(hn::ScalableTag<T>()) * sizeof(T), nullptr, \
           reinterpret_cast<uint8_t*>(y), n * sizeof(T)},                                     \
          sizeof(T));                                                                         \
  }
NNEX_WHOLE(i8, int8_t)
NNEX_WHOLE(i16, int16_t)
NNEX_WHOLE(i32, int32_t)
NNEX_WHOLE(i64, int64_t)
NNEX_WHOLE(u8, uint8_t)
NNEX_WHOLE(u16, uint16_t)
NNEX_WHOLE(u32, uint32_t)
NNEX_WHOLE(u64, uint64_t)
#if HWY_HAVE_FLOAT64
NNEX_WHOLE(f64, double)
#else
void whole_f64(WholeStep step, const double* a, const double* b, size_t step_b, double* y, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const double u = a[i], v = b[i * step_b];
    switch (step) {
      case WholeStep::add:
        y[i] = u + v;
        break;
      case WholeStep::sub:
        y[i] = u - v;
        break;
      case WholeStep::mul:
        y[i] = u * v;
        break;
      case WholeStep::div:
        y[i] = u / v;
        break;
      case WholeStep::min:
        y[i] = u < v || u != u ? u : v;
        break;
      case WholeStep::max:
        y[i] = u > v || u != u ? u : v;
        break;
      default:
        y[i] = u > 0 ? 1.0 : u < 0 ? -1.0 : u;
    }
  }
}
#endif
#undef NNEX_WHOLE

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(whole_i8);
NNEX_SIMD_BUILDS(whole_i16);
NNEX_SIMD_BUILDS(whole_i32);
NNEX_SIMD_BUILDS(whole_i64);
NNEX_SIMD_BUILDS(whole_u8);
NNEX_SIMD_BUILDS(whole_u16);
NNEX_SIMD_BUILDS(whole_u32);
NNEX_SIMD_BUILDS(whole_u64);
NNEX_SIMD_BUILDS(whole_f64);
}  // namespace nnex::kernels::simd
#endif
