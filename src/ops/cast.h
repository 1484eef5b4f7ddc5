#pragma once

#include <array>
#include <string_view>

#include "ops/attrs.h"

namespace nnex {

/// How a float becomes an integer.
enum class CastRounding : uint8_t {
  truncate,  ///< Toward zero (ONNX, WebNN).
  floor,     ///< Down (NNEF).
};
constexpr std::array<std::string_view, 2> enumerators(CastRounding) { return {"truncate", "floor"}; }

/// How a number becomes a power of two (f8e8m0).
enum class ScaleRounding : uint8_t { up, down, nearest };
constexpr std::array<std::string_view, 3> enumerators(ScaleRounding) { return {"up", "down", "nearest"}; }

struct CastAttrs {
  DType to = DType::none;
  bool saturate = true;
  CastRounding rounding = CastRounding::truncate;
  ScaleRounding e8m0 = ScaleRounding::up;
};

struct BitCastAttrs {
  DType to = DType::none;
};

}  // namespace nnex
