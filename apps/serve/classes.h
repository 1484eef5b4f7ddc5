#pragma once
// Triton's extension for classification: the largest numbers of an output, each with its index.

#include <cstdint>

#include "nnex/tensor.h"

namespace nnex::serve {

/// How many classes an answer has: of each row, where the first axis is rows; else of all elements.
struct ClassCount {
  int64_t groups = 1, each = 0;
};
ClassCount class_count(const Tensor& t, int64_t classes, bool rows);

/// "VALUE:INDEX" of the largest `classes` of each row (or of all), the largest first; of equal ones the first, NaN
/// last. The shape is [rows, classes], or [classes]. Error: limit.
Result<Tensor> classified(const Tensor& t, int64_t classes, bool rows);

}  // namespace nnex::serve
