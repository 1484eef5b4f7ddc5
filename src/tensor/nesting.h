#pragma once
// How deep values nest: who runs on, frees, copies or prints one descends.

#include "base/try.h"
#include "nnex/tensor.h"

namespace nnex {

inline constexpr int kMaxNesting = 64;

/// Error: limit where sequences, maps and optionals nest deeper than kMaxNesting.
Status check_nesting(const Value& value);

}  // namespace nnex
