#include "kernels/conv/few.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/interrupt.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kMaxTaps = 128, kMinLine = 16;
constexpr int64_t kMaxOfOneTap = 4, kMinOfOneTap = 16;  // outputs and inputs of one or two taps
constexpr int64_t kBandFloats = 96 * 1024;              // of the copied planes: they stay in the second level cache
constexpr int64_t kMaxBandFloats = 256 * 1024;          // where even one line needs more
constexpr int64_t kSlack = 2 * simd::kMaxTileColumns;

/// A band is some output lines of one image. The lines of every input channel under their windows are copied, zeros
/// around them, one `pitch` behind the other; outputs are computed for all places of as many lines of that pitch, and
/// those between the lines are dropped.
struct Bands {
  explicit Bands(const ConvShape& shape) : s(shape), pitch(s.out[2] + (s.kernel[2] - 1) * s.dilation[2]) {
    const int64_t of_threads = ceil_div(std::min<int64_t>(usable_threads(), work()), std::max<int64_t>(s.batch, 1));
    const int64_t most = ceil_div(s.out[1], std::max<int64_t>(of_threads, 1));
    while (lines < most && s.in_channels * plane(lines + 1) <= kBandFloats) ++lines;
    of_image = ceil_div(s.out[1], lines);
    lines = ceil_div(s.out[1], of_image);
  }

  int64_t in_lines(int64_t n) const { return n + (s.kernel[1] - 1) * s.dilation[1]; }
  /// From a channel's lines to the next one's: an odd number of cache lines, so that channels fall into different sets.
  int64_t plane(int64_t n) const { return (round_up(in_lines(n) * pitch + kSlack, 32) | 16); }
  /// From an output's places to the next one's.
  int64_t places() const { return round_up(lines * pitch, 16) + kSlack; }
  int64_t floats() const { return s.in_channels * plane(lines) + s.out_channels * places(); }
  int64_t count() const { return s.batch * of_image; }
  /// Parts that are worth a thread.
  int64_t work() const {
    constexpr int64_t kWorkOfPart = 50'000;
    return s.batch * s.out_pixels() * s.out_channels * s.taps() * s.in_channels / kWorkOfPart;
  }

  const ConvShape& s;
  int64_t pitch;
  int64_t lines = 1, of_image = 1;
};

int64_t parts_of(const Bands& bands, int threads) {
  return std::max<int64_t>(1, std::min({bands.work(), bands.count(), int64_t{threads}}));
}

/// The bands of one part, one after the other, over the same scratch.
class BandRun {
 public:
  BandRun(const simd::Loops& loops, const Bands& bands, bool planes, const float* x, const float* filter, float* y,
          const Epilogue& end, float* scratch)
      : loops_(loops),
        bands_(bands),
        s_(bands.s),
        planes_(planes),
        x_(x),
        filter_(filter),
        y_(y),
        end_(end),
        copy_(scratch),
        sums_(scratch + s_.in_channels * bands.plane(bands.lines)) {
    for (int64_t tap = 0; tap < s_.taps(); ++tap) {
      runs_[tap] = {filter_ + tap * s_.in_channels, s_.taps() * s_.in_channels, s_.in_channels};
      at_[tap] = tap / s_.kernel[2] * s_.dilation[1] * bands.pitch + tap % s_.kernel[2] * s_.dilation[2];
    }
  }

  void run(int64_t band) {
    const int64_t image = band / bands_.of_image, part = band % bands_.of_image;
    const int64_t first = share(s_.out[1], bands_.of_image, part);
    const int64_t lines = share(s_.out[1], bands_.of_image, part + 1) - first;
    copy(image, first, bands_.in_lines(lines));
    multiply((lines - 1) * bands_.pitch + s_.out[2]);
    for (int64_t line = 0; line < lines; ++line)
      planes_ ? put_planes(image, first + line, sums_ + line * bands_.pitch)
              : put_pixels(image, first + line, sums_ + line * bands_.pitch);
  }

 private:
  /// `n` lines of every channel from the one that output line `first` begins at.
  void copy(int64_t image, int64_t first, int64_t n) {
    const int64_t plane = bands_.plane(bands_.lines), before = s_.before[2];
    const int64_t inside = std::clamp<int64_t>(bands_.pitch - before, 0, s_.in[2]);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t line = first - s_.before[1] + i;
      const bool there = line >= 0 && line < s_.in[1] && before < bands_.pitch;
      float* const to = copy_ + i * bands_.pitch;
      for (int64_t c = 0; c < s_.in_channels; ++c) {
        float* const row = to + c * plane;
        if (!there) {
          std::fill_n(row, bands_.pitch, 0.0F);
          continue;
        }
        std::fill_n(row, before, 0.0F);
        std::fill_n(row + before + inside, bands_.pitch - before - inside, 0.0F);
        if (planes_)
          std::copy_n(x_ + ((image * s_.in_channels + c) * s_.in[1] + line) * s_.in[2], inside, row + before);
      }
      if (!there || planes_) continue;
      const float* const from = x_ + (image * s_.in[1] + line) * s_.in[2] * s_.x_step();
      loops_.transpose_u32(reinterpret_cast<const uint32_t*>(from), static_cast<size_t>(s_.x_step()),
                           reinterpret_cast<uint32_t*>(to + before), static_cast<size_t>(plane),
                           static_cast<size_t>(inside), static_cast<size_t>(s_.in_channels));
    }
  }

  /// The sums of the first `places` places: chains over the taps in order, then the channels of each.
  void multiply(int64_t places) const {
    const simd::TileShape shape = loops_.tile_shape_f32();
    const int width = shape.columns;
    simd::TileEnd end = tile_end(end_, 0, 0);
    end.row_bias = end_.bias, end.bias = end.residual = nullptr;
    if (end_.residual) end.activation = {};
    simd::Tile tile;
    tile.runs = runs_, tile.n_runs = s_.taps(), tile.b_runs = at_;
    tile.end = &end;
    tile.b_stride = bands_.plane(bands_.lines), tile.panel_stride = width;
    tile.c_stride = bands_.places(), tile.rows = static_cast<int>(s_.out_channels);
    const int together = simd::few_rows_panels(shape, s_.out_channels) * width;
    for (int64_t at = 0; at < places; at += tile.columns * tile.spans) {
      tile.columns = places - at >= together ? together : static_cast<int>(std::min<int64_t>(width, places - at));
      tile.spans = std::max<int64_t>(1, tile.columns < width ? 1 : (places - at) / tile.columns);
      tile.b = copy_ + at, tile.c = sums_ + at;
      loops_.tile_f32(tile);
    }
  }

  void put_planes(int64_t image, int64_t line, const float* sums) const {
    const auto width = static_cast<size_t>(s_.out[2]);
    for (int64_t o = 0; o < s_.out_channels; ++o) {
      float* const to = y_ + ((image * s_.out_channels + o) * s_.out[1] + line) * s_.out[2];
      const float* const from = sums + o * bands_.places();
      if (ends_in_tile(end_.activation))
        std::copy_n(from, width, to);
      else
        loops_.unary_f32(end_.activation, from, to, width);
    }
  }

  void put_pixels(int64_t image, int64_t line, const float* sums) const {
    const int64_t pixel = (image * s_.out[1] + line) * s_.out[2], channels = s_.out_channels, step = s_.y_step();
    float* const to = y_ + pixel * step;
    loops_.transpose_u32(reinterpret_cast<const uint32_t*>(sums), static_cast<size_t>(bands_.places()),
                         reinterpret_cast<uint32_t*>(to), static_cast<size_t>(step), static_cast<size_t>(channels),
                         static_cast<size_t>(s_.out[2]));
    for (int64_t p = 0; end_.residual && p < s_.out[2]; ++p)
      for (int64_t o = 0; o < channels; ++o)
        to[p * step + o] += end_.residual[(pixel + p) * end_.residual_stride + o] * end_.residual_scale;
    if (!end_.residual && ends_in_tile(end_.activation)) return;
    const bool dense = step == channels;
    for (int64_t p = 0; p < (dense ? 1 : s_.out[2]); ++p)
      loops_.unary_f32(end_.activation, to + p * step, to + p * step,
                       static_cast<size_t>(dense ? s_.out[2] * channels : channels));
  }

  const simd::Loops& loops_;
  const Bands& bands_;
  const ConvShape& s_;
  const bool planes_;
  const float* const x_;
  const float* const filter_;
  float* const y_;
  const Epilogue& end_;
  float* const copy_;
  float* const sums_;
  simd::RowRun runs_[kMaxTaps];  // a tap's filters
  int64_t at_[kMaxTaps];         // where its lines begin
};

}  // namespace

bool is_few_conv(const ConvShape& s) {
  const bool one_tap = s.out_channels <= kMaxOfOneTap && s.in_channels >= kMinOfOneTap;
  if (s.groups != 1 || s.low_memory || s.out_channels > kMaxFewOutputs || s.in_channels < kMinInputsToFew ||
      (s.taps() < kMinTapsToFew && !one_tap) || s.taps() > kMaxTaps || s.out[2] < kMinLine)
    return false;
  if (s.in[0] != 1 || s.out[0] != 1 || s.kernel[0] != 1 || s.before[0] != 0 || s.stride[1] != 1 || s.stride[2] != 1)
    return false;
  if (s.dilation[1] * (s.kernel[1] - 1) > s.in[1] || s.dilation[2] * (s.kernel[2] - 1) > s.in[2]) return false;
  // Of one output line; written so that nothing overflows.
  const double lines = static_cast<double>(s.kernel[1] - 1) * static_cast<double>(s.dilation[1]) + 1;
  const double pitch =
      static_cast<double>(s.kernel[2] - 1) * static_cast<double>(s.dilation[2]) + static_cast<double>(s.out[2]);
  return (lines * pitch + 128) * static_cast<double>(s.in_channels) < static_cast<double>(kMaxBandFloats);
}

int64_t few_filter_floats(const ConvShape& s) { return s.out_channels * s.taps() * s.in_channels; }

void pack_few_filter(const ConvShape& s, const std::byte* filter, float* packed) {
  const int64_t taps = s.taps();
  for (int64_t o = 0; o < s.out_channels; ++o)
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t c = 0; c < s.in_channels; ++c, ++packed)
        std::memcpy(packed, filter + ((o * s.in_channels + c) * taps + t) * 4, 4);
}

int64_t few_workspace(const ConvShape& s, int threads) {
  const Bands bands(s);
  return parts_of(bands, threads) * round_up(bands.floats() * 4, 64);
}

void conv_few(const simd::Loops& loops, Team& team, const ConvShape& s, bool planes, const float* x,
              const float* packed, float* y, const Epilogue& end, std::byte* workspace) {
  const Bands bands(s);
  const int64_t count = bands.count(), parts = parts_of(bands, std::min(team.size(), usable_threads()));
  if (count == 0 || s.out[2] == 0) return;
  const int64_t steps = steps_of_piece(s, count);
  team.run(parts, [&](int64_t part) {
    auto* const scratch = reinterpret_cast<float*>(workspace + part * round_up(bands.floats() * 4, 64));
    BandRun run(loops, bands, planes, x, packed, y, end, scratch);
    SeldomAsked asked;
    const int64_t last = share(count, parts, part + 1);
    for (int64_t i = share(count, parts, part); i < last && !asked.stop(steps); ++i) run.run(i);
  });
}

}  // namespace nnex::kernels
