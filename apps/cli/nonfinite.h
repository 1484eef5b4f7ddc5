#pragma once
// Tensors with elements that are no finite numbers.

#include <vector>

#include "nnex/layers.h"

namespace nnex::cli {

/// Shows which tensors of a run have NaN or infinite elements: inputs, constants, then what nodes make, in their order;
/// `out` are the outputs of `layers`. The exit code: 1 where one has.
int show_nonfinite(const LayeredModel& layers, const std::vector<Value>& inputs, const std::vector<Value>& out,
                   bool json, bool quiet);

}  // namespace nnex::cli
