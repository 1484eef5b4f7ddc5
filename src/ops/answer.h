#pragma once
// Answers (true or false) on their way into an output of whatever type `result` names.

#include <cstring>

#include "ops/call.h"

namespace nnex {

/// type_from, where only some types can be asked for.
constexpr TypeRule type_among(Types allowed, std::string_view attr, std::string_view otherwise = {}) {
  TypeRule r = type_from(attr, otherwise);
  r.allowed = allowed;
  return r;
}

/// Output o, filled by fill(span of bytes 0 and 1), in the element type the output has.
template <class F>
Status write_answers(Call& c, size_t o, F fill) {
  Tensor& out = c.out(o);
  const DType type = out.dtype();
  if (type == DType::boolean || type == DType::u8 || type == DType::i8) return fill(out.mutable_as<uint8_t>());
  NNEX_ASSIGN(Tensor bytes, Tensor::make(DType::u8, out.shape()));
  NNEX_TRY(fill(bytes.mutable_as<uint8_t>()));
  NNEX_ASSIGN(Tensor cast, convert(bytes, type));
  if (cast.bytes() > 0) std::memcpy(out.mutable_data(), cast.data(), static_cast<size_t>(cast.bytes()));
  return {};
}

/// Input i as truth: one byte an element, 0 or not; `held` owns it when the input has another width.
inline Result<std::span<const uint8_t>> truth_of(const Call& c, size_t i, Tensor& held) {
  const DType type = c.in(i).dtype();
  if (type == DType::boolean || type == DType::u8 || type == DType::i8) return c.in<uint8_t>(i);
  NNEX_ASSIGN(held, convert(c.in(i), DType::boolean));
  return std::span<const uint8_t>(held.as<uint8_t>());
}

}  // namespace nnex
