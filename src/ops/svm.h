#pragma once

#include <array>
#include <string_view>

#include "ops/attrs.h"
#include "ops/ml.h"

namespace nnex {

/// What two vectors have in common: u.v, (g u.v + b)^d, exp(-g |u - v|^2), tanh(g u.v + b).
enum class SvmKernel : uint8_t { linear, poly, rbf, sigmoid };
constexpr std::array<std::string_view, 4> enumerators(SvmKernel) { return {"linear", "poly", "rbf", "sigmoid"}; }

struct SvmClassifierAttrs {
  Tensor labels;
  Reals coefficients, kernel_params, rho, support_vectors, prob_a, prob_b;
  Ints vectors_per_class;
  SvmKernel kernel = SvmKernel::linear;
  PostTransform post = PostTransform::none;
};

struct SvmRegressorAttrs {
  Reals coefficients, kernel_params, rho, support_vectors;
  int64_t supports = 0;
  SvmKernel kernel = SvmKernel::linear;
  bool one_class = false;
  PostTransform post = PostTransform::none;
};

}  // namespace nnex
