#include "kernels/conv/planes.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/interrupt.h"
#include "base/split.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kStripFloats = 4 * 1024;  // lines under the filter: half of the first level cache
constexpr int64_t kMaxStripFloats = 256 * 1024;
constexpr int64_t kMinLines = 8;      // of a strip: fewer copy more lines twice
constexpr int64_t kMinStrips = 16;    // before a group's output channels are taken together
constexpr int64_t kMinOfSeveral = 2;  // the same where copies are of several input channels

/// A strip is some lines of the output planes of one group, or of some of them. The input lines under their windows are
/// copied once, with zeros around them, each cut into phases: every stride-th value from one on, so that a tap's values
/// lie side by side.
struct Strips {
  Strips(const simd::Loops& loops, const ConvShape& shape)
      : s(shape),
        last_offset((shape.kernel[2] - 1) * shape.dilation[2] / shape.stride[2]),
        phase(last_offset + round_up(shape.out[2], loops.tile_shape_f32().lanes)),
        pitch(phase * shape.stride[2]),
        first(ceil_div(shape.before[2], shape.stride[2])),
        odd(first * shape.stride[2] - shape.before[2]) {
    const int64_t min = std::clamp<int64_t>(s.out[1], 1, kMinLines);
    lines = min;
    while (lines < s.out[1] && floats(lines + 1) <= kStripFloats) ++lines;
    while (lines > 1 && floats(lines) > kMaxStripFloats) --lines;
    of_plane = ceil_div(s.out[1], lines);
    const int64_t together = s.batch * s.groups * s.out[0] * of_plane;
    const int64_t least = s.group_inputs() > 1 ? kMinOfSeveral : kMinStrips;
    bundles = std::min(s.group_outputs(), ceil_div(least, std::max<int64_t>(together, 1)));
  }

  int64_t in_lines(int64_t n) const { return (n - 1) * s.stride[1] + (s.kernel[1] - 1) * s.dilation[1] + 1; }
  /// Of one input channel's copy of n lines, with one line of zeros.
  int64_t channel_floats(int64_t n) const { return (s.kernel[0] * in_lines(n) + 1) * pitch; }
  int64_t floats(int64_t n) const { return round_up(s.group_inputs() * channel_floats(n), 16); }
  int64_t row_bytes(int64_t n) const {
    return round_up(s.kernel[0] * in_lines(n) * static_cast<int64_t>(sizeof(float*)), 64);
  }
  int64_t bytes() const { return floats(lines) * 4 + row_bytes(lines); }
  int64_t count() const { return s.batch * s.groups * bundles * s.out[0] * of_plane; }

  const ConvShape& s;
  int64_t last_offset;  // of a tap in its phase
  int64_t phase;        // values of a line's phase
  int64_t pitch;        // of a copied line
  int64_t first;        // place in phase 0 of the line's first value that lies there
  int64_t odd;          // values before it
  int64_t lines = 1;
  int64_t of_plane = 1;
  int64_t bundles = 1;  // of a group's output channels
};

/// Parts with scratch of their own; a team may have more threads than the workspace was made for.
int64_t parts_of(const Strips& strips, int threads) {
  constexpr int64_t kWorkOfPart = 50'000;
  const ConvShape& s = strips.s;
  if (threads <= 1) return 1;
  const int64_t work = s.batch * s.out_channels * s.out_pixels() * (s.group_inputs() * s.taps() + 8) / kWorkOfPart;
  return std::max<int64_t>(1, std::min({strips.count(), work, int64_t{4} * threads}));
}

/// So many input lines into their phases; what lies around them is zeros already.
void copy_lines(const simd::Loops& loops, const Strips& strips, const float* line, int64_t lines, float* to) {
  const ConvShape& s = strips.s;
  const int64_t stride = s.stride[2], before = s.before[2];
  const int64_t needed = (s.out[2] - 1) * stride + (s.kernel[2] - 1) * s.dilation[2] + 1;
  const int64_t n = std::clamp<int64_t>(needed - before, 0, s.in[2]);
  if (stride == 1) {
    for (int64_t i = 0; i < lines; ++i, line += s.in[2], to += strips.pitch)
      std::copy_n(line, n, to + std::min(before, needed));
    return;
  }
  simd::Phases p;
  p.x_row = static_cast<size_t>(s.in[2]), p.y_row = static_cast<size_t>(strips.pitch);
  p.rows = static_cast<size_t>(lines), p.phases = static_cast<size_t>(stride);
  if (stride == 2) {  // an odd number of zeros before it: the line's first value begins the second phase
    const int64_t odd = before % 2;
    p.x = line, p.y = to + odd * strips.phase + before / 2, p.n = static_cast<size_t>(n);
    p.y_stride = odd ? 1 - strips.phase : strips.phase;
    return loops.phases_f32(p);
  }
  const int64_t odd = std::min(n, strips.odd);
  for (int64_t r = 0; r < lines; ++r)
    for (int64_t i = 0; i < odd; ++i)
      to[r * strips.pitch + (before + i) % stride * strips.phase + (before + i) / stride] = line[r * s.in[2] + i];
  p.x = line + odd, p.y = to + strips.first, p.n = static_cast<size_t>(n - odd);
  p.y_stride = strips.phase;
  loops.phases_f32(p);
}

/// The strips of one part, one after the other, over the same scratch.
class StripRun {
 public:
  StripRun(const simd::Loops& loops, const Strips& strips, const float* x, const float* filter, float* y,
           const Epilogue& end, std::byte* scratch)
      : loops_(loops),
        strips_(strips),
        s_(strips.s),
        x_(x),
        filter_(filter),
        y_(y),
        end_(end),
        copy_(reinterpret_cast<float*>(scratch)),
        rows_(reinterpret_cast<const float**>(scratch + strips.floats(strips.lines) * 4)) {
    std::fill_n(copy_, strips.floats(strips.lines), 0.0F);
    const int64_t inputs = s_.group_inputs();
    for (int64_t t = 0; t < s_.kernel[2] * inputs; ++t) {  // a tap of each input channel, then the next
      const int64_t at = t / inputs * s_.dilation[2], channel = t % inputs * strips.channel_floats(strips.lines);
      offsets_[t] = channel + at % s_.stride[2] * strips.phase + at / s_.stride[2];
    }
  }

  void run(int64_t strip) {
    const int64_t part = strip % strips_.of_plane, z = strip / strips_.of_plane % s_.out[0];
    const int64_t bundle = strip / strips_.of_plane / s_.out[0], image_group = bundle / strips_.bundles;
    const int64_t first = share(s_.out[1], strips_.of_plane, part);
    const int64_t lines = share(s_.out[1], strips_.of_plane, part + 1) - first;
    const int64_t inputs = s_.group_inputs();
    for (int64_t c = 0; c < inputs; ++c)
      copy(x_ + (image_group * inputs + c) * s_.in_pixels(), z, first, strips_.in_lines(lines),
           copy_ + c * strips_.channel_floats(strips_.lines));
    lines_of(copy_, z, first, strips_.in_lines(lines));
    simd::PlaneLines p;
    p.rows = rows_;
    p.slices = s_.kernel[0], p.slice_rows = strips_.in_lines(lines);
    p.n_rows = s_.kernel[1], p.stride = s_.stride[1], p.dilation = s_.dilation[1];
    p.taps = s_.kernel[2] * inputs, p.offsets = offsets_;
    p.lines = lines, p.out_width = s_.out[2], p.y_stride = s_.out[2];
    const int64_t outputs = s_.group_outputs(), number = bundle % strips_.bundles;
    const int64_t begin = share(outputs, strips_.bundles, number);
    const int64_t plane = image_group * outputs + begin, channel = plane % s_.out_channels;
    p.planes = share(outputs, strips_.bundles, number + 1) - begin, p.plane_step = s_.out_pixels();
    p.w = filter_ + channel * s_.taps() * inputs;
    p.y = y_ + ((plane * s_.out[0] + z) * s_.out[1] + first) * s_.out[2];
    p.end = tile_end(end_, 0, channel);
    loops_.depthwise_planes_f32(p);
    for (int64_t i = 0; !ends_in_tile(end_.activation) && i < p.planes; ++i) {
      float* const y = p.y + i * p.plane_step;
      loops_.unary_f32(end_.activation, y, y, static_cast<size_t>(lines * s_.out[2]));
    }
  }

 private:
  /// Of the n input lines from `first` on, under output lines of slice z, those that are there.
  std::pair<int64_t, int64_t> inside(int64_t slice, int64_t line, int64_t n) const {
    if (slice < 0 || slice >= s_.in[0]) return {n, n};
    const int64_t begin = std::clamp<int64_t>(-line, 0, n);
    return {begin, std::clamp<int64_t>(s_.in[1] - line, begin, n)};
  }
  int64_t slice_of(int64_t z, int64_t k) const { return z * s_.stride[0] - s_.before[0] + k * s_.dilation[0]; }

  /// The lines of one input channel under output lines from `first` of slice z on.
  void copy(const float* x, int64_t z, int64_t first, int64_t n, float* to) {
    const int64_t line = first * s_.stride[1] - s_.before[1];
    for (int64_t k = 0; k < s_.kernel[0]; ++k, to += n * strips_.pitch) {
      const int64_t slice = slice_of(z, k);
      const auto [begin, end] = inside(slice, line, n);
      if (begin < end)
        copy_lines(loops_, strips_, x + (slice * s_.in[1] + line + begin) * s_.in[2], end - begin,
                   to + begin * strips_.pitch);
    }
  }

  /// Where those of the first input channel lie; what is outside lies in the line of zeros behind them.
  void lines_of(const float* copied, int64_t z, int64_t first, int64_t n) {
    const float* const zeros = copied + s_.kernel[0] * strips_.in_lines(strips_.lines) * strips_.pitch;
    const float** row = rows_;
    for (int64_t k = 0; k < s_.kernel[0]; ++k, copied += n * strips_.pitch) {
      const auto [begin, end] = inside(slice_of(z, k), first * s_.stride[1] - s_.before[1], n);
      for (int64_t i = 0; i < n; ++i) *row++ = i >= begin && i < end ? copied + i * strips_.pitch : zeros;
    }
  }

  const simd::Loops& loops_;
  const Strips& strips_;
  const ConvShape& s_;
  const float* const x_;
  const float* const filter_;
  float* const y_;
  const Epilogue& end_;
  float* const copy_;
  const float** const rows_;
  int64_t offsets_[simd::kMaxDepthwiseTaps];
};

/// Whether turning x and y costs less than planes do: each pays for its beginning, which short lines do not repay, and
/// wide filters read lines at places where no vector begins.
bool is_better_turned(const ConvShape& s) {
  constexpr int64_t kMinChannels = 16, kWide = 7;
  const int64_t short_line = s.stride[2] == 1 ? 28 : 14;
  return s.in_channels >= kMinChannels && s.out_channels == s.in_channels && s.dilation[2] == 1 &&
         s.kernel[2] <= kWide && (s.out[2] <= short_line || (s.kernel[2] == kWide && s.stride[2] == 1));
}

}  // namespace

bool is_plane_conv(const ConvShape& s) {
  // Of one channel, which lies in planes and pixel by pixel alike, or few, wide steps and filters are products.
  if (s.groups == 1 && (s.stride[2] > kMaxStepOfOne || s.kernel[2] > kMaxTapsOfOne)) return false;
  const bool few = s.groups == 1 && s.in_channels >= 1 && s.in_channels <= kMaxInputsOfPlanes && s.out_channels >= 1 &&
                   s.in[0] == 1 && s.kernel[0] == 1 && (s.taps() > 1 || s.in_channels == 1);
  if (s.groups < 1 || (s.in_channels != s.groups && !few) || s.out_channels % s.groups != 0 ||
      s.taps() > simd::kMaxDepthwiseTaps || s.x_stride || s.y_stride || is_better_turned(s))
    return false;
  // Of one output line; written so that nothing overflows.
  const double width = static_cast<double>(s.out[2]) * static_cast<double>(s.stride[2]) +
                       static_cast<double>(s.kernel[2]) * static_cast<double>(s.dilation[2]) + 1024;
  const double lines = static_cast<double>(s.kernel[0]) *
                       (static_cast<double>(s.kernel[1] - 1) * static_cast<double>(s.dilation[1]) + 2);
  return static_cast<double>(s.group_inputs()) * width * lines < static_cast<double>(kMaxStripFloats);
}

int64_t plane_filter_floats(const ConvShape& s) { return s.out_channels * s.group_inputs() * s.taps(); }

void pack_plane_filter(const ConvShape& s, const std::byte* filter, float* packed) {
  const int64_t inputs = s.group_inputs(), taps = s.taps();
  if (inputs == 1) return void(std::memcpy(packed, filter, static_cast<size_t>(plane_filter_floats(s)) * 4));
  for (int64_t o = 0; o < s.out_channels; ++o, filter += inputs * taps * 4)
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t c = 0; c < inputs; ++c, ++packed) std::memcpy(packed, filter + (c * taps + t) * 4, 4);
}

int64_t plane_workspace(const simd::Loops& loops, const ConvShape& s, int threads) {
  const Strips strips(loops, s);
  return parts_of(strips, threads) * strips.bytes();
}

void conv_planes(const simd::Loops& loops, Team& team, const ConvShape& s, const float* x, const float* packed,
                 float* y, const Epilogue& end, std::byte* workspace) {
  const Strips strips(loops, s);
  const int64_t count = strips.count(), parts = parts_of(strips, std::min(team.size(), usable_threads()));
  if (count == 0 || s.out[2] == 0) return;
  const int64_t steps = steps_of_piece(s, count);
  team.run(parts, [&](int64_t part) {
    StripRun run(loops, strips, x, packed, y, end, workspace + part * strips.bytes());
    SeldomAsked asked;
    const int64_t last = share(count, parts, part + 1);
    for (int64_t i = share(count, parts, part); i < last && !asked.stop(steps); ++i) run.run(i);
  });
}

}  // namespace nnex::kernels
