#pragma once

#include "ops/attrs.h"

namespace nnex {

struct SoftmaxAttrs {
  Ints axes = {-1};
  bool to_end = false;
};

}  // namespace nnex
