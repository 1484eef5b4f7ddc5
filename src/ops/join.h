#pragma once

#include <array>

#include "ops/attrs.h"

namespace nnex {

struct AxisAttrs {
  int64_t axis = 0;
};

struct SplitAttrs {
  int64_t axis = 0;
  Ints ratios;
  int64_t chunks = 0;
};

struct RepeatAttrs {
  int64_t repeats = 1;
  int64_t axis = 0;
};

/// What lies beyond the border of a padded tensor.
enum class PadBorder : uint8_t { constant, replicate, reflect, reflect_even, wrap };
constexpr std::array<std::string_view, 5> enumerators(PadBorder) {
  return {"constant", "replicate", "reflect", "reflect_even", "wrap"};
}

struct PadAttrs {
  PadBorder border = PadBorder::constant;
};

enum class DepthOrder : uint8_t { dcr, crd };
constexpr std::array<std::string_view, 2> enumerators(DepthOrder) { return {"dcr", "crd"}; }

struct DepthToSpaceAttrs {
  int64_t block = 1;
  DepthOrder order = DepthOrder::dcr;
};

struct SpaceToDepthAttrs {
  int64_t block = 1;
};

}  // namespace nnex
