#pragma once
// MLOpSupportLimits as JSON.

#include <string>

#include "nnex/webnn_types.h"

namespace nnex::c {

/// {"preferredInputLayout": ..., "maxTensorByteLength": ..., "input", "constant", "output", then every operation's
/// operands}.
std::string limits_json(const ml::OpSupportLimits& limits);

}  // namespace nnex::c
