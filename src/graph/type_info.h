#pragma once
// Types as hosts see them (nnex/type.h), and back.

#include "nnex/type.h"
#include "tensor/type.h"

namespace nnex {

TypeInfo type_info(const Type& type);

/// The type a host described. Error: invalid_argument, an extent or a type that is none.
Result<Type> type_of(const TypeInfo& info);

}  // namespace nnex
