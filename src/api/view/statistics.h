#pragma once
// What the numbers of a weight are like.

#include <array>
#include <cstdint>
#include <optional>

#include "nnex/tensor.h"

namespace nnex::drawing {

inline constexpr size_t kBars = 32;

struct Statistics {
  int64_t count = 0;   ///< Elements of the tensor.
  int64_t looked = 0;  ///< Of which so many were looked at.
  int64_t finite = 0;  ///< Of which so many are finite; the numbers below are of these.
  double low = 0, high = 0, mean = 0, deviation = 0;
  int64_t zeros = 0;
  std::array<int64_t, kBars> bars{};  ///< Equal parts of [low, high].
};

/// At most `limit` elements are looked at: of larger tensors stretches at equal distances. Nothing for texts, complex
/// numbers and tensors without elements. Pages of mapped files are given back.
std::optional<Statistics> statistics_of(const Tensor& tensor, int64_t limit);

}  // namespace nnex::drawing
