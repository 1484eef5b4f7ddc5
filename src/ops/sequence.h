#pragma once

#include <optional>
#include <string>

#include "ops/attrs.h"

namespace nnex {

struct SequenceConstructAttrs {
  std::optional<DType> dtype;
};

struct SplitToSequenceAttrs {
  int64_t axis = 0;
  bool keepdims = true;
};

struct ConcatFromSequenceAttrs {
  int64_t axis = 0;
  bool new_axis = false;
};

struct OptionalAttrs {
  std::string type;
};

}  // namespace nnex
