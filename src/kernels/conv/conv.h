#pragma once
// Convolution on float32, channels last, of one to three spatial axes. Every output is one multiply-add chain over the
// filter's taps in order (last axis fastest), then the channels of each tap, as if x were padded with zeros (taps of a
// far dilated filter that lie outside are left out: an infinite weight meets no zero there); where 3x3 filters pay for
// it, 16 such chains over the channels of a transformed patch (winograd.h). The bytes depend on the shape and the
// values alone, never on threads or the position in a batch.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/threads.h"
#include "kernels/product/tiles.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

/// Axes are depth, height, width; a convolution of fewer has leading extents of 1. Extents count elements.
struct ConvShape {
  using Axes = std::array<int64_t, 3>;
  int64_t batch = 1;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t groups = 1;
  Axes in = {1, 1, 1};
  Axes out = {1, 1, 1};
  Axes kernel = {1, 1, 1};
  Axes stride = {1, 1, 1};
  Axes dilation = {1, 1, 1};
  Axes before = {0, 0, 0};  ///< Padding before the first element; what follows the last one is what `out` needs.
  int64_t x_stride = 0;     ///< Elements from one pixel of x to the next; 0: in_channels.
  int64_t y_stride = 0;     ///< The same of y; 0: out_channels.
  int64_t y_line = 0;       ///< Pixels from one line of y to the next, where it is a piece of lines; 0: out[2].
  bool low_memory = false;  ///< No method that needs much more memory than x, y and the filter.

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t group_inputs() const { return in_channels / groups; }
  int64_t group_outputs() const { return out_channels / groups; }
  int64_t x_step() const { return x_stride ? x_stride : in_channels; }
  int64_t y_step() const { return y_stride ? y_stride : out_channels; }
};

/// What one of `count` equal pieces of y costs, in steps of SeldomAsked.
inline int64_t steps_of_piece(const ConvShape& s, int64_t count) {
  constexpr double kAtOnce = 64, kMost = 1 << 30;  // multiply-adds of a step
  const double all = static_cast<double>(s.batch) * static_cast<double>(s.out_pixels()) *
                     static_cast<double>(s.out_channels) * static_cast<double>(s.taps() * s.group_inputs());
  return static_cast<int64_t>(std::min(kMost, all / kAtOnce / static_cast<double>(std::max<int64_t>(count, 1))));
}

enum class ConvMethod : uint8_t {
  product,    ///< One tap on every pixel: a matrix product.
  tiles,      ///< Tiles of a product whose rows are windows of x.
  depthwise,  ///< Each channel by itself.
  grouped,    ///< Groups of a few channels, as many out as in.
  winograd,   ///< Products of transformed patches (winograd.h).
  few,        ///< From many channels to few, along lines of planes (few.h).
};

/// Whether it is one tap on every pixel.
bool is_one_tap(const ConvShape& shape);

/// How a convolution of this shape is computed: the shape alone decides.
ConvMethod conv_method(const ConvShape& shape);

/// Floats of the packed filter.
int64_t conv_filter_floats(const simd::Loops& loops, const ConvShape& shape);

/// Packs a filter of ONNX's layout [out_channels, in_channels / groups, kernel...] at any address. `packed` is aligned
/// to 64 bytes.
void conv_pack_filter(const simd::Loops& loops, Team& team, const ConvShape& shape, const std::byte* filter,
                      float* packed);

/// Bytes of workspace conv() needs with a team of `threads`.
int64_t conv_workspace(const simd::Loops& loops, const ConvShape& shape, int threads);

/// y[batch, out..., out_channels] = finish(x[batch, in..., in_channels] * filter). Rows of the epilogue are output
/// pixels (row_bias is not used), columns are output channels. y overlaps nothing that is read; `workspace` is aligned
/// to 64 bytes.
void conv(const simd::Loops& loops, Team& team, const ConvShape& shape, const float* x, const float* packed, float* y,
          const Epilogue& end, std::byte* workspace);

}  // namespace nnex::kernels
