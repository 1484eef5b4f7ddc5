#pragma once
// Values that outlive a run, and the tensors within values.

#include "base/function_ref.h"
#include "nnex/tensor.h"

namespace nnex {

/// Whether `is` says so of a tensor in the value, however deep; it is asked no more once it has.
bool any_tensor(const Value& v, FunctionRef<bool(const Tensor&)> is);

/// The value with copies of the tensors in it that `copied` says; all else is shared. Errors: limit (memory; what is
/// copied lies in more than kMaxNesting others).
Result<Value> with_copies(const Value& v, FunctionRef<bool(const Tensor&)> copied);

/// The value in memory that lasts: tensors that belong to nobody are copied, those inside other values too; all else is
/// shared. Errors: those of with_copies().
Result<Value> kept(const Value& v);

}  // namespace nnex
