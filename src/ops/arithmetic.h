#pragma once

#include <array>
#include <string_view>

#include "ops/attrs.h"

namespace nnex {

/// How a number between two integers becomes one.
enum class Rounding : uint8_t {
  half_even,  ///< To the nearest, ties to the even one (ONNX, WebNN).
  half_up,    ///< floor(x + 0.5), the sum not rounded (NNEF).
  half_away,  ///< To the nearest, ties away from zero.
};
constexpr std::array<std::string_view, 3> enumerators(Rounding) { return {"half_even", "half_up", "half_away"}; }

struct RoundAttrs {
  Rounding rounding = Rounding::half_even;
};

enum class Division : uint8_t {
  floor,     ///< The remainder has the sign of the divisor.
  truncate,  ///< The remainder has the sign of the dividend (C's fmod).
};
constexpr std::array<std::string_view, 2> enumerators(Division) { return {"floor", "truncate"}; }

struct ModAttrs {
  Division division = Division::floor;
};

/// Which limit of a clamp wins where low > high.
enum class Crossed : uint8_t { low, high };
constexpr std::array<std::string_view, 2> enumerators(Crossed) { return {"low", "high"}; }

/// What min, max, clamp and relu make of a NaN.
enum class Nans : uint8_t {
  pass,     ///< The result is NaN; as the limit of a clamp it is none (ONNX, WebNN).
  compare,  ///< What comparisons give, which are false of it (NNEF: min(x, y) = select(x < y, x, y), so y).
};
constexpr std::array<std::string_view, 2> enumerators(Nans) { return {"pass", "compare"}; }

struct NansAttrs {
  Nans nans = Nans::pass;
};

struct ClampAttrs {
  Crossed crossed = Crossed::low;
  Nans nans = Nans::pass;
};

struct AffineAttrs {
  double alpha = 1;
  double beta = 0;
};

}  // namespace nnex
