#pragma once
// Tensors on their way into a kernel's own hands, and out again.

#include <cstring>

#include "ops/call.h"

namespace nnex {

/// The elements of t as `type`, in memory that the caller may write.
inline Result<Tensor> writable(const Tensor& t, DType type) { return t.dtype() == type ? t.clone() : convert(t, type); }

/// Output o becomes `from`, converted to `type`, under `shape`. Outputs nobody wants are ignored.
inline Status put(Call& c, size_t o, const Tensor& from, DType type, const Shape& shape) {
  if (!c.wants(o)) return {};
  NNEX_ASSIGN(Tensor narrow, convert(from, type));
  NNEX_ASSIGN(Tensor * out, c.make(o, type, shape));
  if (narrow.bytes() > 0) std::memcpy(out->mutable_data(), narrow.data(), static_cast<size_t>(narrow.bytes()));
  return {};
}

}  // namespace nnex
