#include "kernels/conv/spans.h"

#include <algorithm>

#include "base/checked.h"
#include "base/split.h"
#include "base/try.h"
#include "kernels/product/tiles_i8.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kMaxRowTaps = 16, kMinWidth = 8;
constexpr double kMaxCopied = 1 << 30;  // values
constexpr int64_t kSpanSlack = 64;      // values read behind the last row

/// Columns and rows of x's copy that windows reach.
int64_t copy_columns(const ConvShape& s) { return (s.out[2] - 1) * s.stride[2] + s.kernel[2]; }
int64_t copy_lines(const ConvShape& s) { return (s.out[1] - 1) * s.stride[1] + (s.kernel[1] - 1) * s.dilation[1] + 1; }

}  // namespace

bool is_span_conv(const simd::Loops& loops, const ConvShape& s) {
  const bool as_they_are = int_tiles(loops) == IntTiles::bytes;
  const double copied = static_cast<double>(s.batch) * static_cast<double>(copy_lines(s)) *
                        static_cast<double>(copy_columns(s)) * static_cast<double>(s.in_channels);
  if (copied > kMaxCopied) return false;
  const int64_t max_channels = as_they_are ? 4 : 64, max_span = as_they_are ? 64 : 256;
  return s.groups == 1 && s.in_channels <= max_channels && s.x_step() == s.in_channels && s.in[0] == 1 &&
         s.out[0] == 1 && s.kernel[0] == 1 && s.before[0] == 0 && s.taps() > 1 && s.kernel[1] <= kMaxRowTaps &&
         s.kernel[2] * s.in_channels <= max_span && s.dilation[2] == 1 && s.out[2] >= kMinWidth &&
         s.stride[2] <= s.kernel[2];
}

int64_t span_values(const ConvShape& s, int64_t group) { return ceil_div(s.kernel[2] * s.in_channels, group) * group; }

int64_t span_copy_values(const ConvShape& s) {
  return s.batch * copy_lines(s) * copy_columns(s) * s.in_channels + kSpanSlack;
}

template <class Lift>
SpanRows<Lift>::SpanRows(Team& team, const simd::TileShape& tile, const ConvShape& shape, int64_t span,
                         const Lift& lift, const typename Lift::From* x, To* copy)
    : s_(shape),
      span_(span),
      copy_(copy),
      lines_(shape.batch * shape.out[1]),
      line_tiles_(ceil_div(shape.out[2], tile.rows)),
      tile_rows_(shape.out[2] / line_tiles_),
      longer_tiles_(shape.out[2] % line_tiles_),
      copy_rows_(copy_lines(shape)),
      copy_step_(copy_columns(shape) * shape.in_channels) {
  const int64_t lines = shape.batch * copy_rows_;
  split(team, lines, lines * copy_step_ * 2, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t y = i % copy_rows_ - s_.before[1], image = i / copy_rows_;
      const bool inside = y >= 0 && y < s_.in[1];
      copy_line(lift, inside ? x + (image * s_.in[1] + y) * s_.in[2] * s_.in_channels : nullptr, copy + i * copy_step_);
    }
  });
  std::fill_n(copy + lines * copy_step_, kSpanSlack, To{0});
}

template <class Lift>
void SpanRows<Lift>::copy_line(const Lift& lift, const typename Lift::From* line, To* to) const {
  const int64_t channels = s_.in_channels, left = std::min(s_.before[2] * channels, copy_step_);
  const int64_t here = line ? std::min(s_.in[2] * channels, copy_step_ - left) : 0;
  std::fill_n(to, left, lift.outside());
  if (here > 0) lift.copy(line, here, to + left);
  std::fill_n(to + left + here, copy_step_ - left - here, lift.outside());
}

template <class Lift>
TileRows SpanRows<Lift>::tile(int64_t t) const {
  const int64_t line = t / line_tiles_, i = t % line_tiles_;
  const int64_t first = tile_rows_ * i + std::min(i, longer_tiles_);
  return {line * s_.out[2] + first, static_cast<int>(tile_rows_ + (i < longer_tiles_ ? 1 : 0)), line, first};
}

template <class Lift>
int SpanRows<Lift>::runs(const TileRows& rows, int64_t k0, int64_t depth, int64_t /*panels*/, To* /*scratch*/,
                         simd::RowRunOf<To>* out) const {
  const int64_t step = s_.stride[2] * s_.in_channels;
  const int64_t image = rows.line / s_.out[1], y = rows.line % s_.out[1];
  const To* at = copy_ + (image * copy_rows_ + y * s_.stride[1]) * copy_step_ + rows.column * step;
  NNEX_ASSERT(k0 == 0 && depth == s_.kernel[1] * span_);
  for (int64_t i = 0; i < s_.kernel[1]; ++i) out[i] = {at + i * s_.dilation[1] * copy_step_, step, span_};
  return static_cast<int>(s_.kernel[1]);
}

template class SpanRows<LiftBytes>;
template class SpanRows<LiftWide>;

}  // namespace nnex::kernels
