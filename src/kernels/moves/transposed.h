#pragma once
// Channels-first tensors for kernels that work channels last.

#include <array>

#include "kernels/kernel.h"
#include "kernels/moves/copy.h"

namespace nnex::kernels {

/// Turns an input to channels last, runs a kernel, and turns its result back. Made without arguments it does neither.
class Transposed {
 public:
  Transposed() = default;
  /// Elements of x and y have these many bytes.
  Transposed(int64_t batch, int64_t in_channels, int64_t in_pixels, int64_t out_channels, int64_t out_pixels,
             int x_element = 4, int y_element = 4)
      : batch_(batch),
        in_channels_(in_channels),
        in_pixels_(in_pixels),
        out_channels_(out_channels),
        out_pixels_(out_pixels),
        x_element_(x_element),
        y_element_(y_element) {}

  /// Bytes of workspace for the transposed tensors, a multiple of 64; what follows is the kernel's own.
  int64_t bytes() const { return x_bytes() + y_bytes(); }

  /// body(x, y) on transposed tensors' bytes. A tensor of one channel or one pixel lies the same way in both.
  template <class F>
  void around_bytes(const simd::Loops& loops, Call& c, size_t input, F&& body) const {
    const std::byte* x = c.in(input).data();
    std::byte* y = c.out(0).mutable_data();
    std::byte *transposed_x = c.workspace, *transposed_y = transposed_x + x_bytes();
    if (x_bytes()) turn(loops, *c.team, x_element_, x, transposed_x, in_channels_, in_pixels_);
    body(x_bytes() ? transposed_x : x, y_bytes() ? transposed_y : y);
    if (y_bytes()) turn(loops, *c.team, y_element_, transposed_y, y, out_pixels_, out_channels_);
  }
  /// The same of float32.
  template <class F>
  void around(const simd::Loops& loops, Call& c, size_t input, F&& body) const {
    around_bytes(loops, c, input, [&](const std::byte* x, std::byte* y) {
      body(reinterpret_cast<const float*>(x), reinterpret_cast<float*>(y));
    });
  }

 private:
  static int64_t space(int64_t batch, int64_t channels, int64_t pixels, int element) {
    return channels == 1 || pixels == 1 ? 0 : (batch * channels * pixels * element + 63) & ~int64_t{63};
  }
  int64_t x_bytes() const { return space(batch_, in_channels_, in_pixels_, x_element_); }
  int64_t y_bytes() const { return space(batch_, out_channels_, out_pixels_, y_element_); }
  /// [batch, rows, columns] to [batch, columns, rows].
  void turn(const simd::Loops& loops, Team& team, int element, const std::byte* x, std::byte* y, int64_t rows,
            int64_t columns) const {
    const std::array<int64_t, 3> shape = {batch_, rows, columns}, axes = {0, 2, 1};
    copy_from_strided(loops, team, element, *transpose_nest(shape, axes), x, y);
  }

  int64_t batch_ = 1, in_channels_ = 1, in_pixels_ = 1, out_channels_ = 1, out_pixels_ = 1;
  int x_element_ = 4, y_element_ = 4;
};

}  // namespace nnex::kernels
