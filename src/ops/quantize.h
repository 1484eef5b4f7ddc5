#pragma once

#include <optional>

#include "ops/attrs.h"

namespace nnex {

struct QuantizeAttrs {
  int64_t axis = 1;
  int64_t block_size = 0;
  std::optional<DType> result;
  bool saturate = true;
  std::optional<DType> precision;
};

struct DequantizeAttrs {
  int64_t axis = 1;
  int64_t block_size = 0;
  std::optional<DType> result;
};

struct CodebookAttrs {
  int64_t axis = 1;
  int64_t block_size = 0;
};

struct RangeQuantizeAttrs {
  int64_t bits = 8;
  bool is_signed = false;
  bool symmetric = false;
};

struct LogQuantizeAttrs {
  int64_t bits = 8;
};

}  // namespace nnex
