#pragma once

#include <array>
#include <string_view>

#include "ops/attrs.h"

namespace nnex {

struct BatchNormAttrs {
  int64_t axis = 1;
  double epsilon = 1e-5;
  bool training = false;
  double momentum = 0.9;
};

struct InstanceNormAttrs {
  double epsilon = 1e-5;
};

struct LayerNormAttrs {
  Ints axes = {-1};
  bool to_end = false;
  double epsilon = 1e-5;
  DType stash = DType::f32;
};

struct GroupNormAttrs {
  int64_t groups = 1;
  double epsilon = 1e-5;
  DType stash = DType::f32;
};

struct MeanVarianceNormAttrs {
  Ints axes = {0, 2, 3};
  double epsilon = 1e-9;
};

struct LocalResponseNormAttrs {
  Ints size;
  double alpha = 1;
  double beta = 0.5;
  double bias = 1;
};

struct LocalMeanNormAttrs {
  Ints size;
};

struct LocalVarianceNormAttrs {
  Ints size;
  double bias = 0;
  double epsilon = 0;
};

/// What a norm of zero gives.
enum class AtZero : uint8_t { divide, zero };
constexpr std::array<std::string_view, 2> enumerators(AtZero) { return {"divide", "zero"}; }

struct LpNormAttrs {
  Ints axes = {-1};
  double bias = 0;
  double epsilon = 0;
  AtZero at_zero = AtZero::divide;
};

}  // namespace nnex
