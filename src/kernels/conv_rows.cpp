#include "kernels/conv_rows.h"

#include <algorithm>

#include "base/checked.h"

namespace nnex {
namespace {

alignas(64) constexpr float kZeros[kMostDepth] = {};

/// Shorter runs than this cost more than copying the rows together.
constexpr int64_t kShortRun = 12;

}  // namespace

ConvRows::ConvRows(const simd::TileShape& tile, const ConvShape& shape, const float* x)
    : s_(shape), x_(x), channels_(shape.group_inputs()) {
  whole_lines_ = shape.out[2] > tile.rows / 2 || shape.out[0] * shape.out[1] == 1;
  lines_ = whole_lines_ ? shape.batch * shape.out[0] * shape.out[1] : 1;
  width_ = whole_lines_ ? shape.out[2] : shape.batch * shape.out_pixels();
  line_tiles_ = ceil_div(width_, tile.rows);
  span_taps_ = shape.dilation[2] == 1 && shape.x_step() == channels_ ? shape.kernel[2] : 1;
}

TileRows ConvRows::tile(int64_t t) const {
  const int64_t line = t / line_tiles_, i = t % line_tiles_;
  const int64_t first = share(width_, line_tiles_, i);
  return {line * width_ + first, static_cast<int>(share(width_, line_tiles_, i + 1) - first)};
}

ConvRows::Window ConvRows::window(int64_t row) const {
  const int64_t x = row % s_.out[2], line = row / s_.out[2];
  const int64_t y = line % s_.out[1], plane = line / s_.out[1];
  const int64_t z = plane % s_.out[0], image = plane / s_.out[0];
  return {x_ + image * s_.in_pixels() * s_.x_step(), z * s_.stride[0] - s_.before[0], y * s_.stride[1] - s_.before[1],
          x * s_.stride[2] - s_.before[2]};
}

bool ConvRows::line_inside(const Window& window, int64_t z_tap, int64_t y_tap) const {
  const int64_t z = window.z + z_tap * s_.dilation[0], y = window.y + y_tap * s_.dilation[1];
  return z >= 0 && z < s_.in[0] && y >= 0 && y < s_.in[1];
}

/// The first pixel of the input line under a tap; only for lines inside.
const float* ConvRows::line(const Window& window, int64_t z_tap, int64_t y_tap) const {
  const int64_t z = window.z + z_tap * s_.dilation[0], y = window.y + y_tap * s_.dilation[1];
  return window.image + (z * s_.in[1] + y) * s_.in[2] * s_.x_step();
}

/// Whether a tile's rows can be read in x: one line, no column outside, long runs, no two rows in the same cache sets.
bool ConvRows::can_stay(const TileRows& rows) const {
  if (!whole_lines_ || channels_ * span_taps_ < kShortRun) return false;
  const int64_t step = s_.stride[2] * s_.x_step() * 4;
  if (rows.count > 4 && step % 2048 == 0) return false;
  const int64_t first = window(rows.first).x, last = first + (rows.count - 1) * s_.stride[2];
  return first >= 0 && last + (s_.kernel[2] - 1) * s_.dilation[2] < s_.in[2];
}

int ConvRows::runs(int64_t t, int64_t k0, int64_t depth, int64_t /*panels*/, float* scratch, simd::RowRun* out) const {
  const TileRows rows = tile(t);
  if (can_stay(rows)) return stay(window(rows.first), k0, depth, out);
  for (int i = 0; i < rows.count; ++i) copy_row(window(rows.first + i), k0, depth, scratch + i * kScratchStride);
  out[0] = {scratch, kScratchStride, depth};
  return 1;
}

int ConvRows::stay(const Window& first, int64_t k0, int64_t depth, simd::RowRun* out) const {
  const int64_t span = span_taps_ * channels_;
  int n = 0;
  for (int64_t k = k0; k < k0 + depth;) {
    const int64_t tap = k / span * span_taps_, within = k % span;
    const int64_t count = std::min(span - within, k0 + depth - k);
    const int64_t x_tap = tap % s_.kernel[2], y_tap = tap / s_.kernel[2] % s_.kernel[1];
    const int64_t z_tap = tap / s_.kernel[2] / s_.kernel[1];
    if (line_inside(first, z_tap, y_tap)) {
      const float* a = line(first, z_tap, y_tap) + (first.x + x_tap * s_.dilation[2]) * s_.x_step() + within;
      out[n++] = {a, s_.stride[2] * s_.x_step(), count};
    } else {
      out[n++] = {kZeros, 0, count};
    }
    k += count;
  }
  return n;
}

void ConvRows::copy_row(const Window& window, int64_t k0, int64_t depth, float* out) const {
  const int64_t span = span_taps_ * channels_;
  for (int64_t k = k0; k < k0 + depth;) {
    const int64_t within = k % span, count = std::min(span - within, k0 + depth - k);
    copy_span(window, k / span * span_taps_, within, count, out);
    out += count;
    k += count;
  }
}

/// Values [begin, begin + count) of the taps side by side from `tap` on.
void ConvRows::copy_span(const Window& window, int64_t tap, int64_t begin, int64_t count, float* out) const {
  const int64_t x_tap = tap % s_.kernel[2], y_tap = tap / s_.kernel[2] % s_.kernel[1];
  const int64_t z_tap = tap / s_.kernel[2] / s_.kernel[1];
  const int64_t x = window.x + x_tap * s_.dilation[2];
  // Values of the span that lie inside the line: [from, to).
  const int64_t from = std::clamp<int64_t>(-x * channels_, begin, begin + count);
  const int64_t to = std::clamp<int64_t>((s_.in[2] - x) * channels_, from, begin + count);
  if (from == to || !line_inside(window, z_tap, y_tap)) {
    std::fill_n(out, count, 0.0F);
    return;
  }
  const float* a = line(window, z_tap, y_tap) + (x * s_.x_step() + from);
  std::fill_n(out, from - begin, 0.0F);
  std::copy(a, a + (to - from), out + (from - begin));
  std::fill_n(out + (to - begin), begin + count - to, 0.0F);
}

}  // namespace nnex
