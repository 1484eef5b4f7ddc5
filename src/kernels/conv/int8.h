#pragma once
// Convolution of bytes, channels last, exact in int32: sum of (x - x_zero) * (w - w_zero), sums wrap; x beyond its
// border counts as x_zero. The same numbers on every instruction set.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/conv/conv.h"
#include "kernels/product/gemm_i8.h"

namespace nnex::kernels {

/// A filter of ONNX's layout [out_channels, in_channels / groups, kernel...].
struct ByteFilter {
  const std::byte* w = nullptr;
  bool is_signed = true;
  const int32_t* zero = nullptr;  ///< Null: zeros.
  int64_t zero_stride = 0;        ///< 1: one for each output channel; 0: one for all.
};

/// How a filter is packed, which the shape decides too: packed ones of the same weights have it in their key.
std::string_view conv_i8_packing(const simd::Loops& loops, const ConvShape& shape);
int64_t conv_i8_filter_bytes(const simd::Loops& loops, const ConvShape& shape);

/// `packed` is aligned to 64 bytes.
void conv_i8_pack_filter(const simd::Loops& loops, Team& team, const ConvShape& shape, const ByteFilter& filter,
                         std::byte* packed);

/// Bytes of workspace conv_i8 needs; `to_bytes`: with end.y or end.chain.
int64_t conv_i8_workspace(const simd::Loops& loops, const ConvShape& shape, bool to_bytes);

struct ConvI8 {
  const std::byte* x = nullptr;
  bool x_signed = false;
  int32_t x_zero = 0;
  const std::byte* packed = nullptr;
  IntEpilogue end = {};  ///< Rows are output pixels: row strides are those from one pixel to the next.
};

/// shape.x_stride counts bytes of x; shape.y_stride is not used. `workspace` is aligned to 64 bytes.
void conv_i8(const simd::Loops& loops, Team& team, const ConvShape& shape, const ConvI8& c, std::byte* workspace);

}  // namespace nnex::kernels
