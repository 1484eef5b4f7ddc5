#pragma once
// Types of inputs and outputs, from their texts.

#include <string_view>

#include "nnex/result.h"
#include "tensor/type.h"

namespace nnex {

/// The type that PortInfo::type says, without its extents. Error: invalid_argument.
Result<Type> value_type(std::string_view text);

}  // namespace nnex
