#pragma once

#include <array>
#include <span>
#include <string_view>

#include "ops/attrs.h"

namespace nnex {

/// What becomes of a row of scores.
enum class PostTransform : uint8_t {
  none,
  softmax,
  logistic,
  softmax_zero,  ///< softmax of the scores that are not 0; those stay 0.
  probit,        ///< The inverse of the normal distribution function.
};
constexpr std::array<std::string_view, 5> enumerators(PostTransform) {
  return {"none", "softmax", "logistic", "softmax_zero", "probit"};
}

/// Transforms one row in place.
template <class T>
void post_transform(PostTransform kind, std::span<T> row);
extern template void post_transform(PostTransform, std::span<float>);
extern template void post_transform(PostTransform, std::span<double>);

struct PostTransformAttrs {
  PostTransform kind = PostTransform::none;
};

/// What a single column of scores of two classes becomes.
enum class OneColumn : uint8_t {
  negate,      ///< (-s, s)
  complement,  ///< (1 - s, s)
  single,      ///< (s)
};
constexpr std::array<std::string_view, 3> enumerators(OneColumn) { return {"negate", "complement", "single"}; }

struct ClassifyAttrs {
  Tensor labels;
  PostTransform post = PostTransform::none;
  OneColumn one_column = OneColumn::single;
  double threshold = 0;
};

}  // namespace nnex
