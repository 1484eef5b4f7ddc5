#pragma once
// What of C++'s types the W3C interface has.

#include "nnex/webnn_types.h"

namespace nnex::ml {

/// Whether MLOperandDataType has the type: it once had the 4-bit ones, now only C++ names them.
constexpr bool in_interface(DataType type) { return type < DataType::int4; }

}  // namespace nnex::ml
