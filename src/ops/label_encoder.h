#pragma once

#include <array>
#include <string_view>

#include "ops/attrs.h"

namespace nnex {

/// What a key that is not in the list does.
enum class MissingKey : uint8_t { takes_default, fault };
constexpr std::array<std::string_view, 2> enumerators(MissingKey) { return {"default", "fault"}; }

struct LabelEncoderAttrs {
  Tensor keys, values;
  Tensor otherwise;  ///< One element of values' type; none: "_Unused", -1 or -0.0.
  MissingKey missing = MissingKey::takes_default;
};

}  // namespace nnex
