#pragma once
// Values that outlive a run.

#include "nnex/tensor.h"

namespace nnex {

/// The value in memory that lasts: tensors that belong to nobody are copied, those inside other values too; all else is
/// shared. Errors: limit.
Result<Value> kept(const Value& v);

}  // namespace nnex
