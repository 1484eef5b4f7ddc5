#pragma once

#include <cstddef>

#include "ops/attrs.h"
#include "ops/table.h"

namespace nnex {

/// How many values a node of so many inputs gives each of its blocks.
size_t block_params(const OpDef& op, size_t inputs);

struct ScanAttrs {
  int64_t inputs = 0;
  Ints input_axes, output_axes, input_reverse, output_reverse;
};

}  // namespace nnex
