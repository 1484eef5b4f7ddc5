#pragma once
// Reference kernels whose elements are worth several threads.

#include "base/function_ref.h"
#include "ops/call.h"

namespace nnex {

/// Calls work(begin, end) for parts of [0, count), on the run's threads where work that moves `bytes` in all, or costs
/// as much, pays for it. A part writes what no other does. What one throws (no memory) is thrown once all have ended;
/// faults of the data are looked for before.
void share_out(const Call& c, int64_t count, int64_t bytes, FunctionRef<void(int64_t begin, int64_t end)> work);

}  // namespace nnex
