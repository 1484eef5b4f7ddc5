#pragma once

#include <string>

#include "ops/attrs.h"

namespace nnex {

struct MatmulAttrs {
  bool transpose_a = false;
  bool transpose_b = false;
};

struct GatherMatmulAttrs {
  bool transpose_b = false;
};

struct LinearAttrs {
  bool transpose_a = false;
  bool transpose_b = true;
  double alpha = 1;
  double beta = 1;
};

struct EinsumAttrs {
  std::string equation;
};

}  // namespace nnex
