#pragma once

#include "ops/attrs.h"

namespace nnex {

struct ZipMapAttrs {
  Tensor keys;
};

struct CastMapAttrs {
  DType to = DType::f32;
  bool sparse = false;
  int64_t length = 1;
};

struct DictVectorizerAttrs {
  Tensor vocabulary;
};

}  // namespace nnex
