#include "kernels/conv/rows.h"

#include <algorithm>
#include <type_traits>

#include "base/checked.h"

namespace nnex::kernels {
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

/// Whether tiles keep to output lines, whose rows they can read in x. Not where rows are copied anyway, where lines are
/// shorter than half a tile, or leave tiles of so few rows that sums wait for themselves: rows copied for many columns
/// cost less than that.
template <class Lift>
bool keeps_lines(const simd::TileShape& tile, const ConvShape& s) {
  constexpr int64_t kBusyRows = 4, kManyColumns = 128;
  const int64_t width = s.out[2], rows = std::max<int64_t>(1, tile.rows);
  if (s.y_line > 0 || s.out[0] * s.out[1] == 1) return true;
  if (!std::is_same_v<typename Lift::From, typename Lift::To>) return false;
  if (std::is_same_v<Lift, LiftFloat> && width > rows && width / ceil_div(width, rows) < kBusyRows &&
      s.group_outputs() >= kManyColumns)
    return false;
  return width > rows / 2;
}

}  // namespace

template <class Lift>
ConvRows<Lift>::ConvRows(const simd::TileShape& tile, const ConvShape& shape, const Lift& lift, const From* x)
    : s_(shape), lift_(lift), x_(x), channels_(shape.group_inputs()) {
  whole_lines_ = keeps_lines<Lift>(tile, shape);
  lines_ = whole_lines_ ? shape.batch * shape.out[0] * shape.out[1] : 1;
  width_ = whole_lines_ ? shape.out[2] : shape.batch * shape.out_pixels();
  span_taps_ = shape.dilation[2] == 1 && shape.x_step() == channels_ ? shape.kernel[2] : 1;
  span_ = span_taps_ * channels_;
  few_runs_ = std::min(shape.taps() * channels_, kMaxDepth<To>) <= span_ * (kMaxRuns - 2);
  line_tiles_ = ceil_div(width_, rows_of(tile));
  tile_rows_ = width_ / std::max<int64_t>(line_tiles_, 1);
  longer_tiles_ = width_ - tile_rows_ * line_tiles_;
  std::fill(std::begin(outside_), std::end(outside_), lift.outside());
}

template <class Lift>
int64_t ConvRows<Lift>::rows_of(const simd::TileShape& tile) const {
  const TileRows line = {0, static_cast<int>(std::min<int64_t>(width_, 1 << 16)), 0, 0};
  if (!std::is_same_v<Lift, LiftFloat> || width_ != line.count || lines_ * width_ == 0 || !can_stay(line, window(0, 0)))
    return tile.rows;
  return rows_at_once(tile, s_.stride[2] * s_.x_step() * s_.kernel[0] * s_.kernel[1], lines_ * width_);
}

template <class Lift>
TileRows ConvRows<Lift>::tile(int64_t t) const {
  const Divided at = divide(t, line_tiles_);
  const int64_t first = tile_rows_ * at.remainder + std::min(at.remainder, longer_tiles_);
  const int count = static_cast<int>(tile_rows_ + (at.remainder < longer_tiles_ ? 1 : 0));
  if (whole_lines_) return {at.quotient * (s_.y_line ? s_.y_line : width_) + first, count, at.quotient, first};
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
  if (!whole_lines_ || !lift_.as_it_is() || span_ % Lift::kGroup != 0 || !few_runs_ ||
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
  for (int i = 0; i < rows.count;) {
    const int of_line = static_cast<int>(std::min<int64_t>(rows.count - i, s_.out[2] - column));
    copy_rows(at, from, depth, of_line, scratch + i * kScratchStride<To>);
    i += of_line;
    if (i == rows.count) break;
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

/// `count` output pixels side by side, the first one's window given: a span at a time, so that its line is found once.
template <class Lift>
void ConvRows<Lift>::copy_rows(Window window, Place from, int64_t depth, int count, To* out) const {
  const int64_t padding = (Lift::kGroup - depth % Lift::kGroup) % Lift::kGroup;
  for (int i = 0; i < count; ++i) std::fill_n(out + i * kScratchStride<To> + depth, padding, To{0});
  const int64_t first_x = window.x;
  for (int64_t left = depth; left > 0;) {
    const int64_t n = std::min(span_ - from.within, left);
    const From* line = line_of(window, from);
    int64_t x = first_x + from.x_tap * s_.dilation[2];
    for (int i = 0; i < count; ++i, x += s_.stride[2]) {
      To* const to = out + i * kScratchStride<To>;
      if (line && x >= 0 && x + span_taps_ <= s_.in[2]) {
        lift_.copy(line + (x * s_.x_step() + from.within), n, to);
      } else {
        copy_edge(line, x, from.within, n, to);
      }
    }
    advance(from, n);
    out += n;
    left -= n;
  }
}

/// `count` values of a span whose first tap lies at column x of `line`, from its value `begin` on; some may lie
/// outside.
template <class Lift>
void ConvRows<Lift>::copy_edge(const From* line, int64_t x, int64_t begin, int64_t count, To* out) const {
  const int64_t end = begin + count;
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

}  // namespace nnex::kernels
