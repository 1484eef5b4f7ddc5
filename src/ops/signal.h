#pragma once

#include "ops/attrs.h"

namespace nnex {

struct DftAttrs {
  bool inverse = false;
  bool onesided = false;
};

struct StftAttrs {
  bool onesided = true;
};

struct CosineWindowAttrs {
  double a0 = 0, a1 = 0, a2 = 0;
  bool periodic = true;
  DType dtype = DType::f32;
};

struct MelWeightMatrixAttrs {
  DType dtype = DType::f32;
};

}  // namespace nnex
