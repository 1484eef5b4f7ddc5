#pragma once

#include "ops/attrs.h"

namespace nnex {

struct ScanAttrs {
  int64_t inputs = 0;
  Ints input_axes, output_axes, input_reverse, output_reverse;
};

}  // namespace nnex
