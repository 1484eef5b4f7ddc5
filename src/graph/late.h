#pragma once
// Constants that are made when kernels are chosen: else they would all lie beside what kernels pack of them.

#include "base/threads.h"
#include "nnex/result.h"
#include "nnex/tensor.h"
#include "ops/attrs.h"

namespace nnex {

/// A filter of float32, at any address, each output of which (axis 0) is multiplied by a number.
struct LateConstant {
  Tensor source;
  Reals scale;  ///< One for each output.

  /// Each number is multiplied in double and rounded once. It lies in the memory of `room`, bytes, which is made anew
  /// where that is too little or somebody else's. Error: limit.
  Result<Tensor> make(Team& team, Tensor& room) const;
};

}  // namespace nnex
