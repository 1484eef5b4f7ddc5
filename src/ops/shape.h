#pragma once

#include <array>

#include "ops/attrs.h"

namespace nnex {

struct ShapeAttrs {
  int64_t start = 0;
  std::optional<int64_t> end;
};

/// What a 0 in a shape means: extent 0, or the input's extent at that place.
enum class ZeroExtent : uint8_t { literal, copy };
constexpr std::array<std::string_view, 2> enumerators(ZeroExtent) { return {"literal", "copy"}; }

struct ReshapeAttrs {
  ZeroExtent zero = ZeroExtent::literal;
  int64_t axis_start = 0;
  int64_t axis_count = -1;
};

struct FlattenAttrs {
  int64_t axis = 1;
};

struct TransposeAttrs {
  Ints axes;
};

struct ConstantOfShapeAttrs {
  Tensor value = Tensor::scalar<float>(0);
};

struct EyeLikeAttrs {
  int64_t diagonal = 0;
  DType result = DType::none;
};

struct RangeAttrs {
  DType stash = DType::f32;
};

}  // namespace nnex
