#include "kernels/elementwise/whole.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "base/split.h"
#include "kernels/elementwise/pairs.h"

namespace nnex::kernels {
namespace {

simd::WholeLoop<int8_t>* loop_of(const simd::Loops& l, int8_t) { return l.whole_i8; }
simd::WholeLoop<int16_t>* loop_of(const simd::Loops& l, int16_t) { return l.whole_i16; }
simd::WholeLoop<int32_t>* loop_of(const simd::Loops& l, int32_t) { return l.whole_i32; }
simd::WholeLoop<int64_t>* loop_of(const simd::Loops& l, int64_t) { return l.whole_i64; }
simd::WholeLoop<uint8_t>* loop_of(const simd::Loops& l, uint8_t) { return l.whole_u8; }
simd::WholeLoop<uint16_t>* loop_of(const simd::Loops& l, uint16_t) { return l.whole_u16; }
simd::WholeLoop<uint32_t>* loop_of(const simd::Loops& l, uint32_t) { return l.whole_u32; }
simd::WholeLoop<uint64_t>* loop_of(const simd::Loops& l, uint64_t) { return l.whole_u64; }
simd::WholeLoop<double>* loop_of(const simd::Loops& l, double) { return l.whole_f64; }

/// y = step(a, b) of elements T.
template <class T>
[[gnu::noinline]] void pairs(const simd::Loops& loops, Team& team, WholeStep step, const Nest& nest, const void* a,
                             const void* b, void* y) {
  const auto loop = loop_of(loops, T());
  each_pair(team, nest, sizeof(T), sizeof(T), a, b, y, [&](const void* u, const void* v, void* to, int64_t n) {
    loop(step, static_cast<const T*>(u), static_cast<const T*>(v), 1, static_cast<T*>(to), static_cast<size_t>(n));
  });
}

void map_parts(Team& team, int64_t n, int64_t bytes, FunctionRef<void(int64_t begin, int64_t end)> part) {
  split(team, n, n * bytes * 2, 64, part);
}

/// y[i] = step(x[i], b), or within limits b and c.
template <class T>
[[gnu::noinline]] void map(const simd::Loops& loops, Team& team, WholeStep step, const void* x, T b, T c, void* y,
                           int64_t n) {
  const T numbers[] = {b, c};
  const T* const from = static_cast<const T*>(x);
  T* const to = static_cast<T*>(y);
  const auto loop = loop_of(loops, T());
  map_parts(team, n, sizeof(T), [&](int64_t begin, int64_t end) {
    loop(step, from + begin, numbers, 0, to + begin, static_cast<size_t>(end - begin));
  });
}

/// The type of the same width whose arithmetic wraps; the bits of a double.
template <class T>
struct Wrapped {
  using type = std::make_unsigned_t<T>;
};
template <>
struct Wrapped<double> {
  using type = uint64_t;
};
template <class T>
using Wraps = typename Wrapped<T>::type;

/// What products of narrow numbers are computed in: those of two shorts pass an int.
template <class T>
using Products = std::conditional_t<(sizeof(T) < 4), uint32_t, Wraps<T>>;

/// Of numbers below 2^53 through a double, whose quotient truncates to the right whole number: that makes vectors.
template <class T>
T quotient(T x, T y) {
  if constexpr (sizeof(T) < 8) {
    const bool turns = std::is_signed_v<T> && y == static_cast<T>(-1);
    const T by = ((y == 0) | turns) ? T(1) : y;
    const T q = static_cast<T>(static_cast<double>(x) / static_cast<double>(by));
    return y == 0 ? T(0) : turns ? static_cast<T>(Wraps<T>(0) - static_cast<Wraps<T>>(x)) : q;
  } else {
    if (y == 0) return 0;
    if (std::is_signed_v<T> && y == static_cast<T>(-1)) return static_cast<T>(Wraps<T>(0) - static_cast<Wraps<T>>(x));
    return x / y;
  }
}

template <class T>
T remainder(T x, T y) {
  using P = Products<T>;
  return y == 0 ? T(0) : static_cast<T>(static_cast<P>(x) - static_cast<P>(quotient(x, y)) * static_cast<P>(y));
}

/// std::fmod. A quotient below 2^28 times y is exact in a double, and so is what x has more; where the division rounds
/// up to a whole number, that is one y too much.
float float_remainder(float x, float y) {
  const double a = std::fabs(x), b = std::fabs(y), quotient = a / b;
  if (!(quotient < 0x1p28) || !(b < std::numeric_limits<double>::infinity())) return std::fmod(x, y);
  const double rest = a - static_cast<double>(static_cast<int32_t>(quotient)) * b;
  return std::copysign(static_cast<float>(rest < 0 ? rest + b : rest), x);
}

float floor_remainder(float x, float y) {
  const float r = float_remainder(x, y);
  if (r == 0) return std::copysign(r, y);
  return (r < 0) != (y < 0) ? r + y : r;
}

template <class T>
T shifted(T x, T y, bool left) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  const auto by = static_cast<uint64_t>(static_cast<Wide>(y));
  const Wide wide = x;
  if (left) return by >= 64 ? T(0) : static_cast<T>(static_cast<uint64_t>(wide) << by);
  return by >= 64 ? static_cast<T>(wide < Wide(0) ? -1 : 0) : static_cast<T>(wide >> by);
}

}  // namespace

void mod_broadcast(Team& team, bool floor, const Nest& nest, const float* a, const float* b, float* y) {
  if (floor)
    each_pair(team, nest, a, b, y, [](float u, float v) { return floor_remainder(u, v); });
  else
    each_pair(team, nest, a, b, y, [](float u, float v) { return float_remainder(u, v); });
}

template <class T>
void whole_broadcast(const simd::Loops& loops, Team& team, WholeBinary kind, const Nest& nest, const T* a, const T* b,
                     T* y) {
  constexpr bool whole = !std::is_same_v<T, double>;
  using Arithmetic = std::conditional_t<whole, Wraps<T>, T>;  // the same bits whatever the sign is
  switch (kind) {
    case WholeBinary::add:
      return pairs<Arithmetic>(loops, team, WholeStep::add, nest, a, b, y);
    case WholeBinary::sub:
      return pairs<Arithmetic>(loops, team, WholeStep::sub, nest, a, b, y);
    case WholeBinary::mul:
      return pairs<Arithmetic>(loops, team, WholeStep::mul, nest, a, b, y);
    case WholeBinary::min:
      return pairs<T>(loops, team, WholeStep::min, nest, a, b, y);
    case WholeBinary::max:
      return pairs<T>(loops, team, WholeStep::max, nest, a, b, y);
    case WholeBinary::bit_and:
      return pairs<Wraps<T>>(loops, team, WholeStep::bit_and, nest, a, b, y);
    case WholeBinary::bit_or:
      return pairs<Wraps<T>>(loops, team, WholeStep::bit_or, nest, a, b, y);
    case WholeBinary::bit_xor:
      return pairs<Wraps<T>>(loops, team, WholeStep::bit_xor, nest, a, b, y);
    default:
      break;
  }
  if constexpr (whole) {
    const auto apply = [&](auto f) { each_pair(team, nest, a, b, y, f); };
    switch (kind) {
      case WholeBinary::div:
        return apply([](T u, T v) { return quotient(u, v); });
      case WholeBinary::floor_mod:
        return apply([](T u, T v) {
          const T r = remainder(u, v);
          return r != 0 && (r < T(0)) != (v < T(0)) ? static_cast<T>(r + v) : r;
        });
      case WholeBinary::trunc_mod:
        return apply([](T u, T v) { return remainder(u, v); });
      case WholeBinary::shift_left:
        return apply([](T u, T v) { return shifted(u, v, true); });
      default:
        return apply([](T u, T v) { return shifted(u, v, false); });
    }
  } else {
    pairs<T>(loops, team, WholeStep::div, nest, a, b, y);
  }
}

template <class T>
void whole_map(const simd::Loops& loops, Team& team, WholeUnary kind, const T* x, T* y, int64_t n) {
  constexpr bool whole = !std::is_same_v<T, double>;
  using W = Wraps<T>;
  constexpr W kSign = W(1) << (sizeof(T) * 8 - 1);
  const auto run = [&]<class U>(WholeStep step, U b, U c) { map<U>(loops, team, step, x, b, c, y, n); };
  switch (kind) {
    case WholeUnary::neg:
      return whole ? run(WholeStep::neg, W(0), W(0)) : run(WholeStep::bit_xor, kSign, W(0));
    case WholeUnary::abs:
      if constexpr (std::is_signed_v<T> && whole) return run(WholeStep::abs, T(0), T(0));
      return run(WholeStep::bit_and, whole ? static_cast<W>(~W(0)) : static_cast<W>(~kSign), W(0));
    case WholeUnary::sign:
      if constexpr (!whole) return run(WholeStep::sign, T(0), T(0));
      return run(WholeStep::clamp, static_cast<T>(std::is_signed_v<T> ? -1 : 0), T(1));
    case WholeUnary::square: {
      const Nest nest = {.axes = 1, .operands = 2, .elements = n, .extent = {n}, .stride = {{1}, {1}}};
      return whole_broadcast(loops, team, WholeBinary::mul, nest, x, x, y);
    }
    case WholeUnary::relu:
      return run(WholeStep::max, T(0), T(0));
    case WholeUnary::bit_not:
      return run(WholeStep::bit_xor, static_cast<W>(~W(0)), W(0));
  }
}

void half_map(const simd::Loops& loops, Team& team, WholeUnary kind, bool brain, const uint16_t* x, uint16_t* y,
              int64_t n) {
  constexpr uint16_t kSign = 0x8000;
  const int16_t infinity = brain ? 0x7f80 : 0x7c00, one = brain ? 0x3f80 : 0x3c00;
  if (kind == WholeUnary::neg) return map<uint16_t>(loops, team, WholeStep::bit_xor, x, kSign, 0, y, n);
  if (kind == WholeUnary::abs) return map<uint16_t>(loops, team, WholeStep::bit_and, x, kSign - 1, 0, y, n);
  const WholeStep step = kind == WholeUnary::sign ? WholeStep::half_sign : WholeStep::half_relu;
  map<int16_t>(loops, team, step, x, infinity, one, y, n);
}

template <class T>
void whole_clamp(const simd::Loops& loops, Team& team, T low, T high, bool low_wins, const T* x, T* y, int64_t n) {
  if (low > high) (low_wins ? high : low) = low_wins ? low : high;
  map<T>(loops, team, WholeStep::clamp, x, low, high, y, n);
}

#define NNEX_WHOLE(T)                                                                                         \
  template void whole_broadcast(const simd::Loops&, Team&, WholeBinary, const Nest&, const T*, const T*, T*); \
  template void whole_map(const simd::Loops&, Team&, WholeUnary, const T*, T*, int64_t);
#define NNEX_INTEGER(T) \
  NNEX_WHOLE(T) template void whole_clamp(const simd::Loops&, Team&, T, T, bool, const T*, T*, int64_t);
NNEX_INTEGER(int8_t)
NNEX_INTEGER(int16_t)
NNEX_INTEGER(int32_t)
NNEX_INTEGER(int64_t)
NNEX_INTEGER(uint8_t)
NNEX_INTEGER(uint16_t)
NNEX_INTEGER(uint32_t)
NNEX_INTEGER(uint64_t)
NNEX_WHOLE(double)
#undef NNEX_INTEGER
#undef NNEX_WHOLE

}  // namespace nnex::kernels
