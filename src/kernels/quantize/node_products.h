#pragma once
// Regions between dequantize_linear and quantize_linear that run on bytes.

#include <optional>

#include "kernels/kernel.h"

namespace nnex::kernels {

/// A byte tensor with one scale and zero point.
struct ByteScale {
  float scale = 1;
  int32_t zero = 0;
  bool is_signed = false;
  int32_t low() const { return is_signed ? -128 : 0; }
  int32_t high() const { return is_signed ? 127 : 255; }
};

/// The scale and zero point of a quantize_linear or dequantize_linear whose inputs 1 and 2 are constants of one element
/// and whose bytes have type `bytes`; nothing for others.
std::optional<ByteScale> byte_scale(const Operand& scale, const Operand& zero, DType bytes);

}  // namespace nnex::kernels
