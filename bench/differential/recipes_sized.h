#pragma once
// Inputs of operators of the domain com.microsoft.

#include <string>

#include "recipes.h"

namespace nnex::differential {

/// A value whose extents the model says in numbers: models of these operators know their widths.
inline std::string sized(Maker& m, Tensor value, double constant = 0.25) {
  std::string name = m.add(std::move(value), constant);
  Given& given = m.made.given.back();
  given.dims.clear();
  for (int64_t extent : given.value.shape()) given.dims.push_back(std::to_string(extent));
  return name;
}

inline std::string reals(Maker& m, const Extents& shape, double constant = 0) {
  return sized(m, m.reals(DType::f32, shape, Fill::normal), constant);
}

inline std::string bytes(Maker& m, DType type, const Extents& shape, double constant = 0) {
  return sized(m, m.whole(type, shape, type == DType::i8 ? -127 : 0, type == DType::i8 ? 127 : 255), constant);
}

}  // namespace nnex::differential
