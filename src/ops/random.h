#pragma once

#include <optional>

#include "ops/attrs.h"

namespace nnex {

struct UniformAttrs {
  double low = 0;
  double high = 1;
  DType dtype = DType::f32;
  std::optional<double> seed;
};

struct NormalAttrs {
  double mean = 0;
  double scale = 1;
  DType dtype = DType::f32;
  std::optional<double> seed;
};

struct BernoulliAttrs {
  std::optional<DType> dtype;
  std::optional<double> seed;
};

struct MultinomialAttrs {
  int64_t samples = 1;
  DType dtype = DType::i32;
  std::optional<double> seed;
};

}  // namespace nnex
