#include "kernels/conv/int8.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "base/interrupt.h"
#include "kernels/conv/loops_depthwise_i8.h"
#include "kernels/conv/rows.h"
#include "kernels/conv/spans.h"
#include "kernels/product/loops_tile_u8.h"
#include "kernels/product/tiles_i8.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kByteChannels = 1024;  // of one call of the depthwise loop
constexpr int64_t kChainChannels = 256;  // the same where something follows the sums
constexpr int64_t kChainSums = 4096;

bool is_depthwise(const ConvShape& s) { return conv_method(s) == ConvMethod::depthwise; }

/// Channels of a depthwise filter's tap in memory.
int64_t tap_stride(const ConvShape& s) { return round_up(s.out_channels, 16); }

bool has_quads(const simd::Loops& loops) {
  return simd::kHasDepthwiseU8 && loops.isa == simd::kTileIsaU8 && loops.tile_u8;
}

/// A depthwise filter in memory: every tap as int32, the sum of each channel's taps; where has_quads() also
/// DepthwiseByteLine's quads, and whether they hold all weights.
int64_t sums_at(const ConvShape& s) { return s.taps() * tap_stride(s); }
int64_t quads_at(const ConvShape& s) { return sums_at(s) + tap_stride(s); }
int64_t quads_of(const ConvShape& s) { return s.kernel[2] * ceil_div(s.kernel[0] * s.kernel[1], 4) * tap_stride(s); }

int64_t group_of(const simd::Loops& loops) { return IntColumns(loops, 0, 0, nullptr).group; }

IntColumns group_int_columns(const simd::Loops& loops, const ConvShape& s, const std::byte* packed) {
  const int64_t k =
      is_span_conv(loops, s) ? s.kernel[1] * span_values(s, group_of(loops)) : s.taps() * s.group_inputs();
  return {loops, k, s.group_outputs(), packed};
}

int64_t copy_bytes(const simd::Loops& loops, const ConvShape& s) {
  return is_span_conv(loops, s) ? round_up(span_copy_values(s) * (int_tiles(loops) == IntTiles::bytes ? 1 : 2), 64) : 0;
}

/// Rows of taps one after the other, each filled up with the filter's zero point, which counts as nothing.
void pack_spans(const simd::Loops& loops, Team& team, const ConvShape& s, const ByteFilter& f, std::byte* packed) {
  const int64_t span = span_values(s, group_of(loops)), k = s.kernel[1] * span, taps = s.taps();
  std::vector<std::byte> rows(static_cast<size_t>(s.out_channels * k));
  for (int64_t o = 0; o < s.out_channels; ++o) {
    if (f.zero) std::fill_n(rows.begin() + o * k, k, static_cast<std::byte>(f.zero[o * f.zero_stride]));
    for (int64_t c = 0; c < s.in_channels; ++c)
      for (int64_t t = 0; t < taps; ++t)
        rows[static_cast<size_t>(o * k + t / s.kernel[2] * span + t % s.kernel[2] * s.in_channels + c)] =
            f.w[(o * s.in_channels + c) * taps + t];
  }
  ByteColumns from{rows.data(), k, 0, 1, k};
  from.is_signed = f.is_signed, from.zero = f.zero, from.zero_stride = f.zero_stride;
  pack_int_columns(loops, team, k, s.out_channels, from, packed);
}

void pack_depthwise_i8(const simd::Loops& loops, const ConvShape& s, const ByteFilter& f, std::byte* packed) {
  auto* const to = reinterpret_cast<int32_t*>(packed);
  const int64_t step = tap_stride(s), taps = s.taps(), row_taps = s.kernel[2], groups = ceil_div(taps / row_taps, 4);
  std::fill_n(packed, conv_i8_filter_bytes(loops, s), std::byte{0});
  bool bytes = has_quads(loops);
  for (int64_t c = 0; c < s.out_channels; ++c) {
    const int32_t zero = f.zero ? f.zero[c * f.zero_stride] : 0;
    for (int64_t t = 0; t < taps; ++t) {
      const auto bits = static_cast<uint8_t>(f.w[c * taps + t]);
      const int32_t value = (f.is_signed ? static_cast<int8_t>(bits) : bits) - zero;
      to[t * step + c] = value;
      to[sums_at(s) + c] += value;
      bytes = bytes && value >= INT8_MIN && value <= INT8_MAX;
      if (!bytes) continue;
      const int64_t row = t / row_taps;
      reinterpret_cast<int8_t*>(to + quads_at(s) + (t % row_taps * groups + row / 4) * step + c)[row % 4] =
          static_cast<int8_t>(value);
    }
  }
  if (has_quads(loops)) to[quads_at(s) + quads_of(s)] = bytes ? 1 : 0;
}

/// Constant for all lines of a depthwise convolution.
struct DepthwiseBytes {
  const simd::Loops& loops;
  const ConvShape& s;
  const ConvI8& c;
  const int32_t* add;
  const uint8_t* outside;

  void line(int64_t number, int64_t channel, int64_t channels) const;
  void sum(const simd::DepthwiseByteLine& line) const;
  void through_sums(simd::DepthwiseByteLine line, int64_t pixel, int64_t channel) const;
};

void DepthwiseBytes::line(int64_t number, int64_t channel, int64_t channels) const {
  const auto* const x = reinterpret_cast<const uint8_t*>(c.x) + channel;
  const uint8_t* rows[simd::kMaxDepthwiseTaps];
  const int64_t out_y = number % s.out[1], plane = number / s.out[1];
  const int64_t out_z = plane % s.out[0], image = plane / s.out[0];
  simd::DepthwiseByteLine line;
  line.n_rows = s.kernel[0] * s.kernel[1];
  for (int64_t r = 0; r < line.n_rows; ++r) {
    const int64_t z = out_z * s.stride[0] - s.before[0] + r / s.kernel[1] * s.dilation[0];
    const int64_t h = out_y * s.stride[1] - s.before[1] + r % s.kernel[1] * s.dilation[1];
    const bool inside = z >= 0 && z < s.in[0] && h >= 0 && h < s.in[1];
    rows[r] = inside ? x + ((image * s.in[0] + z) * s.in[1] + h) * s.in[2] * s.x_step() : nullptr;
  }
  line.rows = rows;
  line.outside = outside;
  line.w = reinterpret_cast<const int32_t*>(c.packed) + channel;
  line.w_stride = tap_stride(s);
  if (has_quads(loops)) {
    const auto* const quads = reinterpret_cast<const int32_t*>(c.packed) + quads_at(s);
    if (quads[quads_of(s)] != 0) line.quads = quads + channel;
  }
  line.add = add + channel;
  line.flip = c.x_signed ? 0x80 : 0;
  line.channels = channels;
  line.in_width = s.in[2];
  line.x_stride = s.x_step();
  line.out_width = s.out[2];
  line.taps = s.kernel[2];
  line.stride = s.stride[2];
  line.dilation = s.dilation[2];
  line.before = s.before[2];
  const int64_t pixel = number * s.out[2];
  if (c.end.keeps_sums()) {
    line.sums = c.end.c + pixel * c.end.c_row_stride + channel;
    line.sums_stride = c.end.c_row_stride;
    return sum(line);
  }
  if (c.end.chain || line.quads) return through_sums(line, pixel, channel);
  line.y = reinterpret_cast<uint8_t*>(c.end.y) + pixel * c.end.y_row_stride + channel;
  line.y_stride = c.end.y_row_stride;
  line.to_bytes = c.end.to_bytes;
  line.to_bytes.scale += channel * line.to_bytes.step;
  loops.depthwise_i8(line);
}

void DepthwiseBytes::sum(const simd::DepthwiseByteLine& line) const {
  if constexpr (simd::kHasDepthwiseU8) {
    if (line.quads && simd::depthwise_u8(line)) return;
  }
  loops.depthwise_i8(line);
}

/// A line whose first output pixel is number `pixel`: some pixels' sums at a time, while they are in the first cache.
void DepthwiseBytes::through_sums(simd::DepthwiseByteLine line, int64_t pixel, int64_t channel) const {
  alignas(64) int32_t sums[kChainSums];
  line.sums = sums;
  line.sums_stride = line.channels;
  const int64_t width = line.out_width, before = line.before;
  for (int64_t first = 0, here = 0; first < width; first += here) {
    here = std::min(width - first, kChainSums / line.channels);
    line.out_width = here;
    line.before = before - first * line.stride;
    sum(line);
    finish_sums(loops, c.end, {sums, line.channels}, pixel + first, here, channel, line.channels);
  }
}

void depthwise_i8_planes(const simd::Loops& loops, Team& team, const ConvShape& s, const ConvI8& c, int32_t* add) {
  constexpr int64_t kWorkOfPart = 100'000;
  const int64_t step = tap_stride(s);
  const int32_t* const sums = reinterpret_cast<const int32_t*>(c.packed) + sums_at(s);
  const int32_t zero = c.x_zero + (c.x_signed ? 128 : 0);
  for (int64_t i = 0; i < step; ++i) {
    const int32_t bias = c.end.bias && i < s.out_channels ? c.end.bias[i] : 0;
    add[i] = static_cast<int32_t>(static_cast<uint32_t>(bias) - static_cast<uint32_t>(zero * sums[i]));
  }
  uint8_t outside[kByteChannels];
  std::memset(outside, static_cast<uint8_t>(c.x_zero), sizeof outside);
  const DepthwiseBytes job{loops, s, c, add, outside};
  const int64_t lines = s.batch * s.out[0] * s.out[1];
  const int64_t at_once = std::min(c.end.keeps_sums() ? kByteChannels : kChainChannels, s.out_channels);
  const int64_t work = lines * s.out[2] * s.out_channels * s.taps();
  const int64_t parts = std::min({lines, work / kWorkOfPart + 1, int64_t{4} * team.size()});
  team.run(parts, [&](int64_t part) {
    SeldomAsked asked;
    const int64_t last = share(lines, parts, part + 1);
    for (int64_t i = share(lines, parts, part); i < last && !asked.stop(steps_of_piece(s, lines)); ++i)
      for (int64_t channel = 0; channel < s.out_channels; channel += at_once)
        job.line(i, std::min(channel, s.out_channels - at_once), at_once);  // the last two may overlap
  });
}

/// Columns and epilogue moved to a group's first channel.
void one_group_i8(const simd::Loops& loops, Team& team, const ConvShape& s, const ConvI8& c, int64_t group,
                  int32_t* terms, std::byte* copy, int32_t* sums) {
  const int64_t first = group * s.group_outputs();
  const IntColumns columns =
      group_int_columns(loops, s, c.packed + group * group_int_columns(loops, s, nullptr).bytes());
  IntEpilogue end = c.end;
  if (end.bias) end.bias += first;
  if (end.c) end.c += first;
  if (end.y) end.y += first;
  end.to_bytes.scale += first * end.to_bytes.step;
  end.first_column += first;
  const auto* const x = reinterpret_cast<const uint8_t*>(c.x) + group * s.group_inputs();
  with_lift(columns, c.x_signed, c.x_zero, [&]<class Lift>(Lift lift, int32_t zero) {
    using To = typename Lift::To;
    column_terms(columns, zero, end.bias, terms);
    if (is_span_conv(loops, s)) {
      const SpanRows<Lift> rows(team, columns.shape, s, columns.k / s.kernel[1], lift, x, reinterpret_cast<To*>(copy));
      multiply_int_tiles(loops, team, rows, columns, terms, end, sums);
    } else {
      multiply_int_tiles(loops, team, ConvRows<Lift>(columns.shape, s, lift, x), columns, terms, end, sums);
    }
  });
}

}  // namespace

std::string_view conv_i8_packing(const simd::Loops& loops, const ConvShape& s) {
  return is_depthwise(s) ? "conv_i8 depthwise" : is_span_conv(loops, s) ? "conv_i8 spans" : "conv_i8";
}

int64_t conv_i8_filter_bytes(const simd::Loops& loops, const ConvShape& s) {
  if (is_depthwise(s)) return (has_quads(loops) ? quads_at(s) + quads_of(s) + 1 : quads_at(s)) * 4;
  return s.groups * group_int_columns(loops, s, nullptr).bytes();
}

void conv_i8_pack_filter(const simd::Loops& loops, Team& team, const ConvShape& s, const ByteFilter& f,
                         std::byte* packed) {
  if (is_depthwise(s)) return pack_depthwise_i8(loops, s, f, packed);
  if (is_span_conv(loops, s)) return pack_spans(loops, team, s, f, packed);
  const int64_t inputs = s.group_inputs(), outputs = s.group_outputs(), taps = s.taps();
  const int64_t bytes = group_int_columns(loops, s, nullptr).bytes();
  for (int64_t group = 0; group < s.groups; ++group) {
    // Rows go through the channels of a tap, then on to the next tap.
    ByteColumns from{f.w + group * outputs * inputs * taps, std::max<int64_t>(inputs, 1), 1, taps, inputs * taps};
    from.is_signed = f.is_signed, from.zero_stride = f.zero_stride;
    from.zero = f.zero ? f.zero + group * outputs * f.zero_stride : nullptr;
    pack_int_columns(loops, team, taps * inputs, outputs, from, packed + group * bytes);
  }
}

int64_t conv_i8_workspace(const simd::Loops& loops, const ConvShape& s, bool to_bytes) {
  if (is_depthwise(s)) return tap_stride(s) * 4;
  const int64_t terms = round_up(s.group_outputs() * 4, 64);
  const bool sums = !is_span_conv(loops, s) && sums_needed(loops, s.taps() * s.group_inputs(), to_bytes);
  return terms + copy_bytes(loops, s) + (sums ? s.batch * s.out_pixels() * s.group_outputs() * 4 : 0);
}

void conv_i8(const simd::Loops& loops, Team& team, const ConvShape& s, const ConvI8& c, std::byte* workspace) {
  auto* const terms = reinterpret_cast<int32_t*>(workspace);
  if (is_depthwise(s)) return depthwise_i8_planes(loops, team, s, c, terms);
  std::byte* const copy = workspace + round_up(s.group_outputs() * 4, 64);
  auto* const sums = reinterpret_cast<int32_t*>(copy + copy_bytes(loops, s));
  for (int64_t group = 0; group < s.groups; ++group) one_group_i8(loops, team, s, c, group, terms, copy, sums);
}

}  // namespace nnex::kernels
