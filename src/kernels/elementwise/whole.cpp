#include "kernels/elementwise/whole.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "kernels/elementwise/pairs.h"
#include "kernels/split.h"

namespace nnex::kernels {
namespace {

/// y[i] = f(x[i]) for n elements of type T, of a function object without state.
template <class T, class F>
void map_loop(const void* x, void* y, int64_t n) {
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(y);
  for (int64_t i = 0; i < n; ++i) to[i] = F{}(from[i]);
}

/// Bytes may alias whatever a closure refers to: the pointers and bounds stand in registers here.
template <class T>
void clamp_part(const T* x, T* y, int64_t n, T low, T high) {
  for (int64_t i = 0; i < n; ++i) y[i] = std::min(std::max(x[i], low), high);
}

/// Calls the loop for parts of `n` elements of so many bytes.
void map_parts(Team& team, const void* x, void* y, int64_t n, int64_t bytes,
               void (*loop)(const void*, void*, int64_t)) {
  const auto* const from = static_cast<const std::byte*>(x);
  auto* const to = static_cast<std::byte*>(y);
  split(team, n, n * bytes * 2, 64,
        [&](int64_t begin, int64_t end) { loop(from + begin * bytes, to + begin * bytes, end - begin); });
}

/// Whether x is not a number, of a type that may have such.
template <class T>
constexpr bool is_nan([[maybe_unused]] T x) {
  if constexpr (std::is_floating_point_v<T>)
    return __builtin_isnan(x);
  else
    return false;
}

template <class T>
struct Wrapped {
  using type = std::make_unsigned_t<T>;
};
template <>
struct Wrapped<double> {
  using type = double;
};
/// Unsigned arithmetic wraps without undefined behaviour; doubles stay what they are.
template <class T>
using Wraps = typename Wrapped<T>::type;

/// What products of narrow numbers are computed in: those of two shorts pass an int.
template <class T>
using Products = std::conditional_t<(sizeof(T) < 4), uint32_t, Wraps<T>>;

/// Of numbers below 2^53 through a double, whose quotient truncates to the right whole number: that makes vectors.
template <class T>
T quotient(T x, T y) {
  if constexpr (std::is_same_v<T, double>) {
    return x / y;
  } else if constexpr (sizeof(T) < 8) {
    const bool turns = std::is_signed_v<T> && y == static_cast<T>(-1);
    const T by = (y == 0) | turns ? T(1) : y;
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
void whole_broadcast(Team& team, WholeBinary kind, const Nest& nest, const T* a, const T* b, T* y) {
  using W = Wraps<T>;
  using P = Products<T>;
  constexpr bool whole = !std::is_same_v<T, double>;
  const auto apply = [&](auto f) { each_pair(team, nest, a, b, y, f); };
  switch (kind) {
    case WholeBinary::add:
      return apply([](T u, T v) { return static_cast<T>(static_cast<W>(u) + static_cast<W>(v)); });
    case WholeBinary::sub:
      return apply([](T u, T v) { return static_cast<T>(static_cast<W>(u) - static_cast<W>(v)); });
    case WholeBinary::mul:
      return apply([](T u, T v) { return static_cast<T>(static_cast<P>(u) * static_cast<P>(v)); });
    case WholeBinary::div:
      return apply([](T u, T v) { return quotient(u, v); });
    case WholeBinary::min:
      return apply([](T u, T v) { return u < v || is_nan(u) ? u : v; });
    case WholeBinary::max:
      return apply([](T u, T v) { return u > v || is_nan(u) ? u : v; });
    default:
      break;
  }
  if constexpr (whole) switch (kind) {
      case WholeBinary::floor_mod:
        return apply([](T u, T v) {
          const T r = remainder(u, v);
          return r != 0 && (r < T(0)) != (v < T(0)) ? static_cast<T>(r + v) : r;
        });
      case WholeBinary::trunc_mod:
        return apply([](T u, T v) { return remainder(u, v); });
      case WholeBinary::bit_and:
        return apply([](T u, T v) { return static_cast<T>(u & v); });
      case WholeBinary::bit_or:
        return apply([](T u, T v) { return static_cast<T>(u | v); });
      case WholeBinary::bit_xor:
        return apply([](T u, T v) { return static_cast<T>(u ^ v); });
      case WholeBinary::shift_left:
        return apply([](T u, T v) { return shifted(u, v, true); });
      case WholeBinary::shift_right:
        return apply([](T u, T v) { return shifted(u, v, false); });
      default:
        break;
    }
}

template <class T>
void whole_map(Team& team, WholeUnary kind, const T* x, T* y, int64_t n) {
  using W = Wraps<T>;
  using P = Products<T>;
  const auto apply = [&]<class F>(F) { map_parts(team, x, y, n, sizeof(T), map_loop<T, F>); };
  switch (kind) {
    case WholeUnary::neg:
      return apply([](T u) {
        return static_cast<T>(std::is_same_v<T, double> ? -u : static_cast<T>(W(0) - static_cast<W>(u)));
      });
    case WholeUnary::abs:
      if constexpr (std::is_same_v<T, double>)
        return apply([](T u) { return __builtin_fabs(u); });
      else if constexpr (std::is_same_v<T, int64_t>)  // a jump for each number otherwise
        return apply([](T u) {
          return static_cast<T>((static_cast<W>(u) ^ static_cast<W>(u >> 63)) - static_cast<W>(u >> 63));
        });
      else
        return apply([](T u) { return u < T(0) ? static_cast<T>(W(0) - static_cast<W>(u)) : u; });
    case WholeUnary::sign:
      return apply([](T u) { return u > T(0) ? T(1) : u < T(0) ? static_cast<T>(-1) : u; });
    case WholeUnary::square:
      return apply([](T u) { return static_cast<T>(static_cast<P>(u) * static_cast<P>(u)); });
    case WholeUnary::relu:
      return apply([](T u) { return u > T(0) || is_nan(u) ? u : T(0); });
    case WholeUnary::bit_not:
      if constexpr (!std::is_same_v<T, double>) return apply([](T u) { return static_cast<T>(~u); });
  }
}

template <class T>
void whole_clamp(Team& team, T low, T high, bool low_wins, const T* x, T* y, int64_t n) {
  if (low > high) (low_wins ? high : low) = low_wins ? low : high;
  split(team, n, n * int64_t{sizeof(T)} * 2, 64,
        [&](int64_t begin, int64_t end) { clamp_part(x + begin, y + begin, end - begin, low, high); });
}

#define NNEX_WHOLE(T)                                                                     \
  template void whole_broadcast(Team&, WholeBinary, const Nest&, const T*, const T*, T*); \
  template void whole_map(Team&, WholeUnary, const T*, T*, int64_t);
#define NNEX_INTEGER(T) NNEX_WHOLE(T) template void whole_clamp(Team&, T, T, bool, const T*, T*, int64_t);
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
