#pragma once
// What runs a node of float16 or bfloat16 that no kernel of its own type takes.

#include "kernels/kernel.h"

namespace nnex::kernels {

/// A kernel on float32 between conversions, where one takes the node so; empty: none does, or the node has no half
/// type.
Result<Chosen> widened_kernel(const KernelRequest& request);

}  // namespace nnex::kernels
