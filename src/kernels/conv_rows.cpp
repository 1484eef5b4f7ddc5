#include "kernels/conv_rows.h"

#include <algorithm>
#include <type_traits>

#include "base/checked.h"

namespace nnex {
namespace {

/// n = quotient * divisor + remainder; most often there is nothing to divide, and a division costs as much as a short
/// run of products.
struct Divided {
  int64_t quotient, remainder;
};
Divided divide(int64_t n, int64_t divisor) {
  if (n < divisor) return {0, n};
  if (n <= UINT32_MAX && divisor <= UINT32_MAX) {
    const uint32_t a = static_cast<uint32_t>(n), b = static_cast<uint32_t>(divisor);
    return {a / b, a % b};
  }
  return {n / divisor, n % divisor};
}

}  // namespace

template <class Lift>
ConvRows<Lift>::ConvRows(const simd::TileShape& tile, const ConvShape& shape, const Lift& lift, const From* x)
    : s_(shape), lift_(lift), x_(x), channels_(shape.group_inputs()) {
  whole_lines_ = shape.out[2] > tile.rows / 2 || shape.out[0] * shape.out[1] == 1;
  lines_ = whole_lines_ ? shape.batch * shape.out[0] * shape.out[1] : 1;
  width_ = whole_lines_ ? shape.out[2] : shape.batch * shape.out_pixels();
  line_tiles_ = ceil_div(width_, tile.rows);
  span_taps_ = shape.dilation[2] == 1 && shape.x_step() == channels_ ? shape.kernel[2] : 1;
  span_ = span_taps_ * channels_;
  std::fill(std::begin(outside_), std::end(outside_), lift.outside());
}

template <class Lift>
TileRows ConvRows<Lift>::tile(int64_t t) const {
  const Divided at = divide(t, line_tiles_);
  const int64_t first = share(width_, line_tiles_, at.remainder);
  const int count = static_cast<int>(share(width_, line_tiles_, at.remainder + 1) - first);
  if (whole_lines_) return {at.quotient * width_ + first, count, at.quotient, first};
  const Divided line = divide(first, s_.out[2]);
  return {first, count, line.quotient, line.remainder};
}

/// Of the output pixel at `column` of output line `line`.
template <class Lift>
typename ConvRows<Lift>::Window ConvRows<Lift>::window(int64_t line, int64_t column) const {
  const Divided y = divide(line, s_.out[1]), z = divide(y.quotient, s_.out[0]);
  return {x_ + z.quotient * s_.in_pixels() * s_.x_step(), z.remainder * s_.stride[0] - s_.before[0],
          y.remainder * s_.stride[1] - s_.before[1], column * s_.stride[2] - s_.before[2]};
}

template <class Lift>
typename ConvRows<Lift>::Place ConvRows<Lift>::place(int64_t k) const {
  const Divided span = divide(k, span_), x = divide(span.quotient, s_.kernel[2] / span_taps_);
  const Divided y = divide(x.quotient, s_.kernel[1]);
  return {y.quotient, y.remainder, x.remainder, span.remainder};
}

/// To the value `count` further, at most the next span's first.
template <class Lift>
void ConvRows<Lift>::advance(Place& place, int64_t count) const {
  place.within += count;
  if (place.within < span_) return;
  place.within = 0;
  place.x_tap += span_taps_;
  if (place.x_tap < s_.kernel[2]) return;
  place.x_tap = 0;
  if (++place.y_tap < s_.kernel[1]) return;
  place.y_tap = 0;
  ++place.z_tap;
}

/// The first pixel of the input line under a tap; null outside x.
template <class Lift>
const typename Lift::From* ConvRows<Lift>::line_of(const Window& window, const Place& place) const {
  const int64_t z = window.z + place.z_tap * s_.dilation[0], y = window.y + place.y_tap * s_.dilation[1];
  if (z < 0 || z >= s_.in[0] || y < 0 || y >= s_.in[1]) return nullptr;
  return window.image + (z * s_.in[1] + y) * s_.in[2] * s_.x_step();
}

/// Whether a tile's rows can be read in x: one line, no column outside, few runs, no two rows in the same cache sets.
template <class Lift>
bool ConvRows<Lift>::can_stay(const TileRows& rows, const Window& first) const {
  const int64_t step = s_.stride[2] * s_.x_step() * static_cast<int64_t>(sizeof(To));
  if (!whole_lines_ || !lift_.as_it_is() || span_ % Lift::kGroup != 0 || span_ < kMostDepth<To> / (kMostRuns - 2) ||
      (rows.count > 4 && step % 2048 == 0))
    return false;
  const int64_t last = first.x + (rows.count - 1) * s_.stride[2];
  return first.x >= 0 && last + (s_.kernel[2] - 1) * s_.dilation[2] < s_.in[2];
}

template <class Lift>
int ConvRows<Lift>::runs(const TileRows& rows, int64_t k0, int64_t depth, int64_t /*panels*/, To* scratch,
                         simd::RowRunOf<To>* out) const {
  Window at = window(rows.line, rows.column);
  if constexpr (std::is_same_v<From, To>) {
    if (can_stay(rows, at)) return stay(at, k0, depth, out);
  }
  const Place from = depth > 0 ? place(k0) : Place{};
  int64_t line = rows.line, column = rows.column;
  for (int i = 0; i < rows.count; ++i) {
    To* const to = scratch + i * kScratchStride<To>;
    copy_row(at, from, depth, to);
    for (int64_t k = depth; k % Lift::kGroup != 0; ++k) to[k] = 0;
    at.x += s_.stride[2];
    if (++column < s_.out[2] || i + 1 == rows.count) continue;
    column = 0;
    at = window(++line, 0);
  }
  out[0] = {scratch, kScratchStride<To>, depth};
  return 1;
}

template <class Lift>
int ConvRows<Lift>::stay(const Window& first, int64_t k0, int64_t depth, simd::RowRunOf<To>* out) const {
  Place at = k0 > 0 ? place(k0) : Place{};
  const int64_t step = s_.stride[2] * s_.x_step();
  int n = 0;
  for (int64_t left = depth; left > 0;) {
    const int64_t count = std::min(span_ - at.within, left);
    const From* line = line_of(first, at);
    if constexpr (!std::is_same_v<From, To>) {
      return 0;  // never asked
    } else if (line) {
      out[n++] = {line + (first.x + at.x_tap * s_.dilation[2]) * s_.x_step() + at.within, step, count};
    } else {
      out[n++] = {outside_, 0, count};
    }
    advance(at, count);
    left -= count;
  }
  return n;
}

template <class Lift>
void ConvRows<Lift>::copy_row(const Window& window, Place from, int64_t depth, To* out) const {
  for (int64_t left = depth; left > 0;) {
    const int64_t count = std::min(span_ - from.within, left);
    copy_span(window, from, count, out);
    advance(from, count);
    out += count;
    left -= count;
  }
}

/// The next `count` values of a span.
template <class Lift>
void ConvRows<Lift>::copy_span(const Window& window, const Place& from, int64_t count, To* out) const {
  const int64_t x = window.x + from.x_tap * s_.dilation[2], begin = from.within, end = begin + count;
  const From* line = line_of(window, from);
  // Values of the span that lie inside the line: [first, last).
  const int64_t first = std::clamp<int64_t>(-x * channels_, begin, end);
  const int64_t last = line ? std::clamp<int64_t>((s_.in[2] - x) * channels_, first, end) : first;
  if (first == last) {
    std::fill_n(out, count, lift_.outside());
    return;
  }
  const From* a = line + (x * s_.x_step() + first);
  std::fill_n(out, first - begin, lift_.outside());
  lift_.copy(a, last - first, out + (first - begin));
  std::fill_n(out + (last - begin), end - last, lift_.outside());
}

template class ConvRows<LiftFloat>;
template class ConvRows<LiftBytes>;
template class ConvRows<LiftWide>;

}  // namespace nnex
