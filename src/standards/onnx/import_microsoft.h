#pragma once
// What the operators of the domain com.microsoft share on their way to rows.

#include <fmt/format.h>

#include <initializer_list>

#include "ops/cast.h"
#include "standards/onnx/import_quirks.h"

namespace nnex::onnx_format::microsoft {

inline constexpr std::string_view kDomain = "com.microsoft";

/// The operator is known; not what it is asked for.
inline Error lacks(const NodeImport& n, std::string_view what) {
  return Error(Code::unsupported, fmt::format("{} with {}", n.op, what));
}

inline Status needs(const NodeImport& n, std::initializer_list<size_t> inputs) {
  for (size_t i : inputs)
    if (!n.has(i)) return n.error(fmt::format("input {} is required", i));
  return {};
}

inline DType real_type(const NodeImport& n, size_t i) {
  return n.type(i).dtype == DType::none ? DType::f32 : n.type(i).dtype;
}

inline ValueId cast_to(NodeImport& n, ValueId x, DType to) {
  CastAttrs a;
  a.to = to;
  return n.b("cast", {x}, a);
}

}  // namespace nnex::onnx_format::microsoft
