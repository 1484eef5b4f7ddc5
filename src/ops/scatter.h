#pragma once

#include <array>

#include "ops/gather.h"

namespace nnex {

/// How an element that is written meets the one already there.
enum class Collision : uint8_t { none, add, mul, min, max };
constexpr std::array<std::string_view, 5> enumerators(Collision) { return {"none", "add", "mul", "min", "max"}; }

struct ScatterElementsAttrs {
  int64_t axis = 0;
  Collision reduction = Collision::none;
  bool from_end = true;
  Outside outside = Outside::fault;
};

struct ScatterNdAttrs {
  Collision reduction = Collision::none;
  bool from_end = true;
  Outside outside = Outside::fault;
};

/// Whether writing past the end faults, or goes on at the start.
enum class CacheMode : uint8_t { linear, circular };
constexpr std::array<std::string_view, 2> enumerators(CacheMode) { return {"linear", "circular"}; }

struct TensorScatterAttrs {
  int64_t axis = -2;
  CacheMode mode = CacheMode::linear;
};

}  // namespace nnex
