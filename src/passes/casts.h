#pragma once
// Halves, and the casts that passes put around what they make of other types.

#include "graph/graph.h"
#include "ops/cast.h"

namespace nnex::passes {

constexpr bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

/// v as elements of type `to`, of the same extents.
inline ValueId cast_to(Builder b, ValueId v, DType to) {
  CastAttrs a;
  a.to = to;
  Type t = b.graph()[v].type;
  t.dtype = to;
  const ValueId y = b("cast", {v}, a);
  b.graph().set_type(y, std::move(t));
  return y;
}

}  // namespace nnex::passes
