#pragma once
// Inputs for a run of a model whatever it computes: the same each time.

#include <vector>

#include "nnex/model.h"
#include "tensor/convert.h"

namespace nnex {

/// Numbers from -2 to 2 in quarters and eighths, so that halves are there to be rounded; integers from 0 to 2.
inline Value numbers(const PortInfo& port, uint32_t seed) {
  Tensor t = *Tensor::make(port.dtype, Shape(port.extents));
  for (int64_t i = 0; i < t.count(); ++i) {
    seed = seed * 1664525 + 1013904223;
    if (is_real(port.dtype))
      set_real(t, i, static_cast<double>(seed >> 27) / 8 - 2);
    else
      set_int(t, i, (seed >> 16) % (port.dtype == DType::boolean ? 2 : 3));
  }
  return t;
}

inline std::vector<Value> inputs_of(const Model& m) {
  std::vector<Value> in;
  for (const PortInfo& p : m.inputs()) in.push_back(numbers(p, static_cast<uint32_t>(in.size()) + 1));
  return in;
}

}  // namespace nnex
