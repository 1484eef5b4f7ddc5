#include "kernels/conv/conv.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/checked.h"
#include "base/interrupt.h"
#include "kernels/conv/few.h"
#include "kernels/conv/rows.h"
#include "kernels/conv/winograd.h"
#include "kernels/product/gemm.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kDepthwiseChannels = 1024;  // of one call
alignas(64) constexpr float kZeroPixel[kDepthwiseChannels] = {};

Columns group_columns(const simd::Loops& loops, const ConvShape& s, const float* packed) {
  return {loops.tile_shape_f32(), s.taps() * s.group_inputs(), s.group_outputs(), packed, 0};
}

/// Numbers of a depthwise filter's tap in memory: of few channels, enough for a vector from any channel on.
int64_t depthwise_stride(const simd::Loops& loops, const ConvShape& s) {
  const int64_t lanes = loops.tile_shape_f32().lanes;
  const bool repeated = s.group_inputs() == 1 && s.out_channels < lanes;
  return round_up(s.out_channels + (repeated ? lanes - 1 : 0), lanes);
}

/// Whether filters run along channels: of one channel, or of groups of a few.
bool runs_along_channels(const ConvShape& s) {
  const ConvMethod method = conv_method(s);
  return method == ConvMethod::depthwise || method == ConvMethod::grouped;
}

/// Columns [first, first + count) of one group's filter into a panel of `width` columns.
void pack_filter_panel(const simd::Loops& loops, const ConvShape& s, const std::byte* filter, int64_t first, int count,
                       int width, float* packed) {
  constexpr int64_t kAtOnce = 64;
  const int64_t taps = s.taps(), channels = s.group_inputs(), values = taps * channels;
  if (count < width) std::fill_n(packed, values * width, 0.0F);
  const std::byte* const from = filter + first * values * 4;
  alignas(64) float part[simd::kMaxTileColumns * kAtOnce];
  for (int64_t at = 0; at < values; at += kAtOnce) {  // of each filter [channel, tap]; packed are [tap, channel]
    const int64_t n = std::min(kAtOnce, values - at);
    for (int j = 0; j < count; ++j)
      std::memcpy(part + j * kAtOnce, from + (j * values + at) * 4, static_cast<size_t>(n) * 4);
    alignas(64) float turned[simd::kMaxTileColumns * kAtOnce];
    loops.transpose_u32(reinterpret_cast<const uint32_t*>(part), kAtOnce, reinterpret_cast<uint32_t*>(turned),
                        simd::kMaxTileColumns, static_cast<size_t>(count), static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      const int64_t channel = (at + i) / taps, tap = (at + i) % taps;
      std::copy_n(turned + i * simd::kMaxTileColumns, count, packed + (tap * channels + channel) * width);
    }
  }
}

void pack_depthwise(const simd::Loops& loops, const ConvShape& s, const std::byte* filter, float* packed) {
  const int64_t step = depthwise_stride(loops, s), taps = s.taps();
  std::fill_n(packed, taps * step, 0.0F);
  const int64_t count = s.out_channels < loops.tile_shape_f32().lanes ? step : s.out_channels;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t t = 0; t < taps; ++t)
      std::memcpy(packed + t * step + i, filter + (i % s.out_channels * taps + t) * 4, 4);
}

/// As simd::GroupedLine has them.
void pack_grouped(const simd::Loops& loops, const ConvShape& s, const std::byte* filter, float* packed) {
  const int64_t lanes = loops.tile_shape_f32().lanes, taps = s.taps(), inputs = s.group_inputs();
  const int64_t count = std::min(lanes, s.out_channels);
  std::fill_n(packed, taps * inputs * depthwise_stride(loops, s), 0.0F);
  for (int64_t v = 0; v * lanes < s.out_channels; ++v) {
    const int64_t first = simd::grouped_first(v, lanes, s.out_channels);
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t i = 0; i < inputs; ++i, packed += lanes)
        for (int64_t c = 0; c < count; ++c)
          std::memcpy(packed + c, filter + (((first + c) * inputs + i) * taps + t) * 4, 4);
  }
}

/// The rows of x under the filter for an output line; null where there is none.
void depthwise_rows(const ConvShape& s, const float* x, int64_t number, const float** rows) {
  const int64_t out_y = number % s.out[1], plane = number / s.out[1];
  const int64_t out_z = s.out[0] == 1 ? 0 : plane % s.out[0], image = s.out[0] == 1 ? plane : plane / s.out[0];
  int64_t z = out_z * s.stride[0] - s.before[0];
  for (int64_t i = 0; i < s.kernel[0]; ++i, z += s.dilation[0]) {
    int64_t h = out_y * s.stride[1] - s.before[1];
    for (int64_t j = 0; j < s.kernel[1]; ++j, h += s.dilation[1]) {
      const bool inside = z >= 0 && z < s.in[0] && h >= 0 && h < s.in[1];
      *rows++ = inside ? x + ((image * s.in[0] + z) * s.in[1] + h) * s.in[2] * s.x_step() : nullptr;
    }
  }
}

/// What all output lines have in common, of `channels` channels from c on; `rows` are filled for each.
simd::GroupedLine depthwise_line(const simd::Loops& loops, const ConvShape& s, const float* packed, int64_t c,
                                 int64_t channels, const float* const* rows) {
  simd::GroupedLine line;
  line.group = s.group_inputs();
  line.rows = rows;
  line.zeros = kZeroPixel;
  line.n_rows = s.kernel[0] * s.kernel[1];
  line.w = packed + c;
  line.w_stride = depthwise_stride(loops, s);
  line.repeated = s.out_channels < loops.tile_shape_f32().lanes;
  line.channels = channels;
  line.in_width = s.in[2];
  line.x_stride = s.x_step();
  line.out_width = s.out[2];
  line.y_stride = s.y_step();
  line.taps = s.kernel[2];
  line.stride = s.stride[2];
  line.dilation = s.dilation[2];
  line.before = s.before[2];
  return line;
}

void depthwise(const simd::Loops& loops, Team& team, const ConvShape& s, const float* x, const float* packed, float* y,
               const Epilogue& end) {
  constexpr int64_t kWorkOfPart = 50'000, kLinesOfPart = 8;  // a part's input rows stay in the second level cache
  const int64_t lines = s.batch * s.out[0] * s.out[1];
  const int64_t line_work = s.out[2] * s.out_channels * s.taps() * s.group_inputs();
  const int64_t at_once = std::max(kLinesOfPart, kWorkOfPart / std::max<int64_t>(line_work, 1));
  const int64_t enough = std::min<int64_t>(lines * line_work / kWorkOfPart, team.size());
  const int64_t parts = std::min(lines, std::max(ceil_div(lines, at_once), enough));
  const int64_t step = s.group_inputs() > 1 ? s.out_channels : std::min(kDepthwiseChannels, s.out_channels);
  const int64_t steps = steps_of_piece(s, lines * ceil_div(s.out_channels, step));
  team.run(parts, [&](int64_t part) {
    const int64_t begin = share(lines, parts, part), last = share(lines, parts, part + 1);
    SeldomAsked asked;
    for (int64_t next = 0; next < s.out_channels; next += step) {
      const int64_t c = std::min(next, s.out_channels - step);  // the last two may overlap
      const float* rows[simd::kMaxDepthwiseTaps];
      simd::GroupedLine line = depthwise_line(loops, s, packed, c, step, rows);
      for (int64_t i = begin; i < last && !asked.stop(steps); ++i) {
        depthwise_rows(s, x + c, i, rows);
        line.y = y + i * s.out[2] * s.y_step() + c;
        line.end = tile_end(end, i * s.out[2], c);
        line.group == 1 ? loops.depthwise_f32(line) : loops.grouped_f32(line);
        for (int64_t pixel = 0; !ends_in_tile(end.activation) && pixel < s.out[2]; ++pixel)
          loops.unary_f32(end.activation, line.y + pixel * s.y_step(), line.y + pixel * s.y_step(),
                          static_cast<size_t>(step));
      }
    }
  });
}

// ---- Taps that some windows do not meet

/// Lines, or columns, of y whose windows have the same taps of an axis inside x.
struct Band {
  int64_t first = 0, last = 0;
  int64_t from = 0, to = 0;  ///< Taps, one at least.
};

/// The band that begins at `first`.
Band band_at(const ConvShape& s, size_t axis, int64_t first) {
  const auto taps_of = [&](int64_t at) {
    const int64_t x = at * s.stride[axis] - s.before[axis], step = s.dilation[axis];
    const int64_t from = std::clamp<int64_t>(ceil_div(-x, step), 0, s.kernel[axis] - 1);
    return std::pair{from, std::clamp<int64_t>(ceil_div(s.in[axis] - x, step), from + 1, s.kernel[axis])};
  };
  Band band;
  band.first = first;
  std::tie(band.from, band.to) = taps_of(first);
  for (band.last = first + 1; band.last < s.out[axis] && taps_of(band.last) == std::pair{band.from, band.to};)
    ++band.last;
  return band;
}

/// Whether far dilated taps of an axis miss x often enough to be left out where they do.
bool has_bands(const ConvShape& s, size_t axis) {
  return s.groups == 1 && s.kernel[0] == 1 && s.dilation[axis] > 1 && s.out[0] == 1 && s.in[0] == 1 &&
         4 * (s.kernel[axis] - 1) * s.dilation[axis] >= s.in[axis];
}
bool has_bands(const ConvShape& s) { return has_bands(s, 1); }

/// The same of columns, where blocks of k stay long.
bool has_column_bands(const ConvShape& s) {
  constexpr int64_t kMinDepth = 64, kMaxTaps = 16;  // of which each may begin a band
  if (!has_bands(s, 2) || s.in_channels == 0 || s.kernel[2] > kMaxTaps) return false;
  for (int64_t taps = 1; taps <= s.kernel[2]; ++taps)
    if (depth_of_run(taps * s.in_channels) < kMinDepth) return false;
  return true;
}

// ---- Padding first

/// The same convolution over an input that has its padding in it, and no more than windows read.
ConvShape with_padding(const ConvShape& s) {
  ConvShape padded = s;
  padded.before = {0, 0, 0};
  for (size_t i = 0; i < 3; ++i) padded.in[i] = (s.out[i] - 1) * s.stride[i] + (s.kernel[i] - 1) * s.dilation[i] + 1;
  return padded;
}

/// Whether so many channels of the padded input take at most so many bytes; written so that nothing overflows.
bool padded_fits(const ConvShape& s, int64_t channels, int64_t bytes) {
  const ConvShape padded = with_padding(s);
  double size = 4.0 * static_cast<double>(s.batch) * static_cast<double>(channels);
  for (int64_t extent : padded.in) size *= static_cast<double>(extent);
  return size <= static_cast<double>(bytes);
}

/// Whether most tiles of a line would meet one of its ends, and are read where they lie where they do not.
bool meets_ends(const ConvShape& s) {
  constexpr int64_t kMinLine = 8, kMaxLine = 64;
  if (s.in_channels % 512 == 0) return false;  // rows of a tile fall into the same sets of the cache and are copied
  const bool beyond = s.before[2] > 0 || with_padding(s).in[2] > s.in[2];
  return beyond && s.groups == 1 && s.stride[2] == 1 && s.out[2] >= kMinLine && s.out[2] <= kMaxLine;
}

/// Narrow windows (first layers) spend more on the image's edge than on its middle, and short lines of others are
/// copied window by window for it: they read a copy of x with the zeros around it.
bool pads_first(const ConvShape& s) {
  constexpr int64_t kNarrow = 64, kMaxBytes = int64_t{64} << 20;
  if (conv_method(s) != ConvMethod::tiles || s.low_memory || has_column_bands(s)) return false;
  if (s.in_channels * s.kernel[2] > kNarrow && !meets_ends(s)) return false;
  if (s.batch * s.out_pixels() * s.in_channels == 0 || s.x_step() != s.in_channels) return false;
  const ConvShape padded = with_padding(s);
  if (conv_method(padded) != ConvMethod::tiles) return false;  // the filter is packed for tiles
  bool edges = false;
  for (size_t i = 0; i < 3; ++i) edges |= s.before[i] > 0 || padded.in[i] > s.in[i];
  return edges && padded_fits(s, s.in_channels, kMaxBytes);
}

/// The first to.in_channels channels of [batch, in..., channels] to the extents of `to`, zeros around them; what no
/// window reads is cut.
void pad_into(Team& team, const ConvShape& s, const ConvShape& to, const float* x, float* y) {
  const int64_t channels = to.in_channels, lines = s.batch * to.in[0] * to.in[1], width = to.in[2] * channels;
  const int64_t before = std::min(s.before[2], to.in[2]) * channels;
  const int64_t inside = std::clamp<int64_t>(to.in[2] - s.before[2], 0, s.in[2]) * channels;
  const int64_t parts = std::min<int64_t>(lines, lines * width > 100'000 ? team.size() : 1);
  team.run(parts, [&](int64_t part) {
    for (int64_t i = share(lines, parts, part); i < share(lines, parts, part + 1); ++i) {
      const int64_t row = i % to.in[1] - s.before[1], plane = i / to.in[1] % to.in[0] - s.before[0];
      float* line = y + i * width;
      if (row < 0 || row >= s.in[1] || plane < 0 || plane >= s.in[0]) {
        std::fill_n(line, width, 0.0F);
        continue;
      }
      const int64_t image = i / to.in[1] / to.in[0];
      const float* from = x + ((image * s.in[0] + plane) * s.in[1] + row) * s.in[2] * s.x_step();
      std::fill_n(line, before, 0.0F);
      line += before;
      if (channels == s.x_step())
        std::copy_n(from, inside, line);
      else
        for (int64_t p = 0; p < inside; p += channels, from += s.x_step()) std::copy_n(from, channels, line + p);
      std::fill_n(line + inside, width - before - inside, 0.0F);
    }
  });
}

/// Tiles of `here`, which is `s` or what padding made of it, band by band.
void conv_bands(const simd::Loops& loops, Team& team, const ConvShape& s, const ConvShape& here, const float* x,
                const float* packed, float* y, const Epilogue& end) {
  const auto piece = [&](int64_t image, const Band& lines, const Band& taps) {
    ConvShape part = here;
    part.batch = 1;
    part.out[1] = lines.last - lines.first, part.kernel[1] = lines.to - lines.from;
    part.before[1] = here.before[1] - lines.first * s.stride[1] - lines.from * s.dilation[1];
    Columns columns = group_columns(loops, s, packed);
    columns.packed_k = columns.k;
    const int64_t row = columns.k / s.kernel[1], tap = row / s.kernel[2];
    columns.first_k = lines.from * row + taps.from * tap, columns.k = part.kernel[1] * (taps.to - taps.from) * tap;
    if (taps.last - taps.first < s.out[2] || taps.to - taps.from < s.kernel[2]) {
      part.out[2] = taps.last - taps.first, part.kernel[2] = taps.to - taps.from, part.y_line = s.out[2];
      part.before[2] = here.before[2] - taps.first * s.stride[2] - taps.from * s.dilation[2];
      columns.run_k = part.kernel[2] * tap, columns.skip_k = row - columns.run_k;
    }
    const int64_t pixel = (image * s.out[1] + lines.first) * s.out[2] + taps.first;
    Epilogue finish = end;
    if (finish.residual) finish.residual += pixel * finish.residual_stride;
    const ConvRows<LiftFloat> rows(columns.shape, part, {}, x + image * here.in_pixels() * here.x_step());
    multiply_tiles(loops, team, rows, columns, y + pixel * s.y_step(), s.y_step(), finish);
  };
  const bool cuts_lines = has_column_bands(s);
  for (int64_t image = 0; image < s.batch; ++image)
    for (int64_t line = 0; line < s.out[1];) {
      const Band lines = has_bands(s) ? band_at(s, 1, line) : Band{0, s.out[1], 0, s.kernel[1]};
      for (int64_t column = 0; column < s.out[2];) {
        const Band taps = cuts_lines ? band_at(s, 2, column) : Band{0, s.out[2], 0, s.kernel[2]};
        piece(image, lines, taps);
        column = taps.last;
      }
      line = lines.last;
    }
}

// ---- Groups

/// One group by itself, over a copy of its channels with their padding in it.
ConvShape group_alone(const ConvShape& s) {
  ConvShape one = with_padding(s);
  one.groups = 1, one.in_channels = s.group_inputs(), one.out_channels = s.group_outputs();
  one.x_stride = 0, one.y_stride = s.y_step();
  return one;
}

int64_t group_bytes(const ConvShape& s) {
  return round_up(s.batch * with_padding(s).in_pixels() * s.group_inputs() * 4, 64);
}

/// Whether groups are copied before they are multiplied: pixels of many channels lie so far apart that few of them find
/// a place in the first level cache.
bool copies_groups(const ConvShape& s) {
  constexpr int64_t kMaxBytes = int64_t{16} << 20;
  return s.groups > 1 && s.taps() > 1 && !s.low_memory && padded_fits(s, s.group_inputs(), kMaxBytes);
}

int64_t group_parts(const ConvShape& s, int threads) { return std::min<int64_t>(s.groups, threads); }

/// One tap on every pixel, of one group: tiles go on from line to line.
void multiply_pixels(const simd::Loops& loops, Team& team, const ConvShape& s, const float* x, const float* packed,
                     float* y, const Epilogue& end) {
  Gemm product{.m = s.batch * s.out_pixels(), .n = s.group_outputs(), .k = s.group_inputs()};
  product.a = x, product.a_row_stride = s.x_step();
  product.b = packed;
  product.c = y, product.c_row_stride = s.y_step();
  product.end = end;
  gemm(loops, team, product);
}

/// Group `group`; `copy`: where its channels are copied to, or null.
void one_group(const simd::Loops& loops, Team& team, const ConvShape& s, const float* x, const float* packed, float* y,
               Epilogue end, int64_t group, float* copy) {
  Columns columns = group_columns(loops, s, packed);
  columns.b += group * columns.floats();
  const int64_t first = group * columns.n;
  if (end.bias) end.bias += first;
  if (end.residual) end.residual += first;
  x += group * s.group_inputs();
  if (is_one_tap(s)) return multiply_pixels(loops, team, s, x, columns.b, y + first, end);
  if (!copy) {
    const ConvRows<LiftFloat> rows(columns.shape, s, {}, x);
    return multiply_tiles(loops, team, rows, columns, y + first, s.y_step(), end);
  }
  const ConvShape one = group_alone(s);
  pad_into(team, s, one, x, copy);
  const ConvRows<LiftFloat> rows(columns.shape, one, {}, copy);
  multiply_tiles(loops, team, rows, columns, y + first, s.y_step(), end);
}

}  // namespace

bool is_one_tap(const ConvShape& s) {
  const ConvShape::Axes ones = {1, 1, 1}, zeros = {0, 0, 0};
  return s.kernel == ones && s.stride == ones && s.before == zeros && s.in == s.out;
}

ConvMethod conv_method(const ConvShape& s) {
  if (s.groups == 1 && is_one_tap(s)) return is_few_conv(s) ? ConvMethod::few : ConvMethod::product;
  const int64_t group = s.group_inputs();
  const bool several = s.groups > 1 || (group == 1 && s.stride[2] == 1);  // one channel: pixels side by side
  if (group == s.group_outputs() && several && s.taps() <= simd::kMaxDepthwiseTaps) {
    if (group == 1) return ConvMethod::depthwise;
    if (group == 2 || group == 4 || group == 8) return ConvMethod::grouped;
  }
  if (is_winograd_conv(s)) return ConvMethod::winograd;
  return is_few_conv(s) && !has_bands(s) ? ConvMethod::few : ConvMethod::tiles;
}

int64_t conv_filter_floats(const simd::Loops& loops, const ConvShape& s) {
  if (runs_along_channels(s)) return s.taps() * s.group_inputs() * depthwise_stride(loops, s);
  if (conv_method(s) == ConvMethod::winograd) return winograd_filter_floats(loops, s);
  if (conv_method(s) == ConvMethod::few) return few_filter_floats(s);
  return s.groups * group_columns(loops, s, nullptr).floats();
}

void conv_pack_filter(const simd::Loops& loops, Team& team, const ConvShape& s, const std::byte* filter,
                      float* packed) {
  if (conv_method(s) == ConvMethod::depthwise) return pack_depthwise(loops, s, filter, packed);
  if (conv_method(s) == ConvMethod::grouped) return pack_grouped(loops, s, filter, packed);
  if (conv_method(s) == ConvMethod::winograd) return pack_winograd_filter(loops, team, s, filter, packed);
  if (conv_method(s) == ConvMethod::few) return pack_few_filter(s, filter, packed);
  const Columns columns = group_columns(loops, s, packed);
  team.run(s.groups * columns.panels(), [&](int64_t part) {
    const int64_t group = part / columns.panels(), panel = part % columns.panels();
    pack_filter_panel(loops, s, filter, group * columns.n + panel * columns.shape.columns, columns.columns(panel),
                      columns.width(panel), packed + group * columns.floats() + panel * columns.panel_stride());
  });
}

int64_t conv_workspace(const simd::Loops& /*loops*/, const ConvShape& s, int threads) {
  if (conv_method(s) == ConvMethod::winograd) return winograd_workspace(s, threads);
  if (conv_method(s) == ConvMethod::few) return few_workspace(s, threads);
  if (pads_first(s)) return s.batch * with_padding(s).in_pixels() * s.in_channels * 4;
  return conv_method(s) == ConvMethod::tiles && copies_groups(s) ? group_parts(s, threads) * group_bytes(s) : 0;
}

void conv(const simd::Loops& loops, Team& team, const ConvShape& s, const float* x, const float* packed, float* y,
          const Epilogue& end, std::byte* workspace) {
  if (runs_along_channels(s)) return depthwise(loops, team, s, x, packed, y, end);
  if (conv_method(s) == ConvMethod::winograd) return conv_winograd(loops, team, s, x, packed, y, end, workspace);
  if (conv_method(s) == ConvMethod::few) return conv_few(loops, team, s, false, x, packed, y, end, workspace);
  if (conv_method(s) == ConvMethod::product) return multiply_pixels(loops, team, s, x, packed, y, end);
  if (pads_first(s)) {
    const ConvShape padded = with_padding(s);
    auto* image = reinterpret_cast<float*>(workspace);
    pad_into(team, s, padded, x, image);
    if (has_bands(s)) return conv_bands(loops, team, s, padded, image, packed, y, end);
    return conv(loops, team, padded, image, packed, y, end, nullptr);
  }
  if (has_bands(s) || has_column_bands(s)) return conv_bands(loops, team, s, s, x, packed, y, end);
  const bool copies = workspace && copies_groups(s);  // else x is such a copy
  const auto copy_of = [&](int64_t part) {
    return copies ? reinterpret_cast<float*>(workspace + part * group_bytes(s)) : nullptr;
  };
  if (s.groups < 2 * team.size()) {
    for (int64_t group = 0; group < s.groups; ++group) one_group(loops, team, s, x, packed, y, end, group, copy_of(0));
    return;
  }
  const int64_t parts = group_parts(s, std::min(team.size(), usable_threads()));
  team.run(parts, [&](int64_t part) {
    Team alone;
    for (int64_t group = share(s.groups, parts, part); group < share(s.groups, parts, part + 1); ++group)
      one_group(loops, alone, s, x, packed, y, end, group, copy_of(part));
  });
}

}  // namespace nnex::kernels
