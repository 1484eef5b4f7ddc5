// Convolutions whose taps are moved by data, over two axes: blocks of places are sampled, all channels of a tap
// together, and multiplied by the filters as a matrix product.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/checked.h"
#include "base/split.h"
#include "kernels/kernel.h"
#include "kernels/moves/copy.h"
#include "kernels/product/epilogue.h"
#include "kernels/product/gemm.h"
#include "ops/deform_conv.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kBlockFloats = 64 * 1024;  ///< Samples of a block: with its filters in the second level cache.
constexpr int64_t kMinPlaces = 56, kMaxPlaces = 112;  ///< Of a block: fewer would read the filters more often.
constexpr int64_t kMaxRow = 1 << 19;                  ///< Samples of one place: 112 MiB of a thread.

/// One axis at a place: the elements before and behind it, and their weights.
struct Neighbours {
  int64_t low = 0, high = 0;
  float low_weight = 0, high_weight = 0;

  Neighbours(double place, int64_t n) {
    if (!(place > -1 && place < static_cast<double>(n))) return;  // NaN is outside
    auto i = static_cast<int64_t>(place);
    if (place < 0) i = -1;
    const double part = place - static_cast<double>(i);
    if (i >= 0) low = i, low_weight = static_cast<float>(1 - part);
    if (i + 1 < n) high = i + 1, high_weight = static_cast<float>(part);
  }
};

/// Channels side by side that move alike and meet the same filters: x's first, and where a tap's samples of them lie.
struct Channels {
  int64_t offset_group, first, count, row;
};

struct DeformShape {
  ConvGeometry g;
  int64_t channels = 0, offset_groups = 1;

  const AxisWindow& line() const { return g.windows[0]; }
  const AxisWindow& column() const { return g.windows[1]; }
  int64_t taps() const { return g.taps(); }
  int64_t groups() const { return g.filters / g.per_group; }
  int64_t depth() const { return g.taken * taps(); }  ///< Samples that a filter multiplies, [tap, channel].
  int64_t row() const { return channels * taps(); }   ///< Samples of a place, [group, tap, channel].
  int64_t pixels() const { return g.x_channel; }      ///< Of a plane of x.
  int64_t places() const { return line().output * column().output; }
};

/// Filters [filters, taken, taps], at any address, to a packed [tap, taken] by filters for each group.
void pack_filters(const simd::Loops& loops, Team& team, const DeformShape& s, const std::byte* filters, float* plain,
                  float* packed) {
  const int64_t depth = s.depth();
  const std::array<int64_t, 3> shape = {s.g.filters, s.g.taken, s.taps()};
  copy_from_strided(loops, team, 4, *transpose_nest(shape, std::array<int64_t, 3>{0, 2, 1}), filters, plain);
  for (int64_t group = 0; group < s.groups(); ++group)
    pack_b(loops, team, reinterpret_cast<const std::byte*>(plain + group * s.g.per_group * depth), depth, s.g.per_group,
           1, depth, packed + group * packed_floats(loops, depth, s.g.per_group));
}

class DeformKernel : public Kernel {
 public:
  DeformKernel(const simd::Loops& loops, DeformShape s, Packs::Bytes filters)
      : loops_(loops), s_(std::move(s)), filters_(std::move(filters)) {
    const int64_t each = s_.channels / s_.offset_groups, taken = s_.g.taken;
    for (int64_t k = 0; k < s_.channels;) {
      const int64_t end = std::min((k / each + 1) * each, (k / taken + 1) * taken);
      channels_.push_back({k / each, k, end - k, k / taken * s_.depth() + k % taken});
      k = end;
    }
    block_ = std::min(s_.places(), std::clamp(kBlockFloats / s_.row(), kMinPlaces, kMaxPlaces));
    samples_ = round_up(block_ * s_.row() * 4, 64);
    part_ = samples_ + round_up(block_ * s_.g.filters * 4, 64);
    if (s_.channels > 1) turned_ = round_up(s_.channels * s_.pixels() * 4, 64);
    if (!filters_) {
      plain_ = round_up(s_.g.filters * s_.depth() * 4, 64);
      packed_ = round_up(s_.groups() * packed_floats(loops_, s_.depth(), s_.g.per_group) * 4, 64);
    }
  }

  int64_t workspace() const override { return turned_ + plain_ + packed_ + parts(usable_threads()) * part_; }
  bool packed(size_t input) const override { return input == kDeformFilter && filters_; }

  Status run(Call& c) const override {
    auto* const turned = reinterpret_cast<float*>(c.workspace);
    const auto* filters = reinterpret_cast<const float*>(filters_.get());
    if (!filters) {
      auto* const packed = reinterpret_cast<float*>(c.workspace + turned_ + plain_);
      pack_filters(loops_, *c.team, s_, c.in(kDeformFilter).data(), reinterpret_cast<float*>(c.workspace + turned_),
                   packed);
      filters = packed;
    }
    const int64_t blocks = ceil_div(s_.places(), block_),
                  parts = this->parts(std::min(c.team->size(), usable_threads()));
    for (int64_t n = 0; n < s_.g.batch; ++n) {
      NNEX_TRY(c.interrupted());
      const float* x = c.in<float>(kDeformX).data() + n * s_.g.x_batch;
      if (turned_) {
        const std::array<int64_t, 2> shape = {s_.channels, s_.pixels()};
        copy_from_strided(loops_, *c.team, 4, *transpose_nest(shape, std::array<int64_t, 2>{1, 0}), x, turned);
        x = turned;
      }
      c.team->run(parts, [&](int64_t part) {
        std::byte* const space = c.workspace + turned_ + plain_ + packed_ + part * part_;
        for (int64_t b = share(blocks, parts, part); b < share(blocks, parts, part + 1); ++b) {
          const int64_t first = b * block_, count = std::min(block_, s_.places() - first);
          for (const Channels& k : channels_) sample(c, n, k, first, count, x, reinterpret_cast<float*>(space));
          multiply(c, n, first, count, filters, space);
        }
      });
    }
    return {};
  }

 private:
  int64_t parts(int threads) const { return std::min<int64_t>(ceil_div(s_.places(), block_), threads); }

  /// All taps of some channels, at places [first, first + count).
  void sample(const Call& c, int64_t n, const Channels& k, int64_t first, int64_t count, const float* x,
              float* samples) const {
    const int64_t taps = s_.taps(), places = s_.places(), wide = s_.column().output;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t moved = (n * s_.offset_groups + k.offset_group) * taps + tap;
      const float* const down = c.in<float>(kDeformOffset).data() + moved * 2 * places;
      const float* const right = down + places;
      const float* const mask = c.has(kDeformMask) ? c.in<float>(kDeformMask).data() + moved * places : nullptr;
      float* to = samples + k.row + tap * s_.g.taken;
      int64_t line = first / wide, column = first % wide;
      for (int64_t p = first; p < first + count; ++p, to += s_.row()) {
        const Neighbours r(at(s_.line(), line, tap / s_.column().size, down[p]), s_.line().input);
        const Neighbours q(at(s_.column(), column, tap % s_.column().size, right[p]), s_.column().input);
        mix(x + k.first, k.count, r, q, mask ? mask[p] : 1.0F, to);
        if (++column == wide) column = 0, ++line;
      }
    }
  }

  static double at(const AxisWindow& w, int64_t output, int64_t tap, float offset) {
    return static_cast<double>(output * w.stride - w.before + tap * w.dilation) + static_cast<double>(offset);
  }

  /// What has no weight counts for nothing, whatever it is.
  void mix(const float* x, int64_t count, const Neighbours& r, const Neighbours& q, float mask, float* y) const {
    const float* elements[4];
    float weights[4];
    size_t n = 0;
    const auto add = [&](int64_t line, int64_t column, float weight) {
      if (weight == 0) return;
      elements[n] = x + (line * s_.column().input + column) * s_.channels, weights[n++] = weight;
    };
    add(r.low, q.low, mask * r.low_weight * q.low_weight);
    add(r.high, q.low, mask * r.high_weight * q.low_weight);
    add(r.low, q.high, mask * r.low_weight * q.high_weight);
    add(r.high, q.high, mask * r.high_weight * q.high_weight);
    if (n == 0)
      std::fill_n(y, count, 0.0F);
    else
      loops_.weigh_taps_f32(elements, weights, n, y, static_cast<size_t>(count));
  }

  void multiply(const Call& c, int64_t n, int64_t first, int64_t count, const float* filters, std::byte* space) const {
    auto* const results = reinterpret_cast<float*>(space + samples_);
    Team alone;
    Gemm product;
    product.m = count, product.n = s_.g.per_group, product.k = s_.depth();
    product.a_row_stride = s_.row(), product.c_row_stride = s_.g.filters;
    for (int64_t group = 0; group < s_.groups(); ++group) {
      product.a = reinterpret_cast<const float*>(space) + group * s_.depth();
      product.b = filters + group * packed_floats(loops_, s_.depth(), s_.g.per_group);
      product.c = results + group * s_.g.per_group;
      product.end.bias = c.has(kDeformBias) ? c.in<float>(kDeformBias).data() + group * s_.g.per_group : nullptr;
      gemm(loops_, alone, product);
    }
    float* const y = c.out<float>(0).data() + n * s_.g.filters * s_.places() + first;
    loops_.transpose_u32(reinterpret_cast<const uint32_t*>(results), static_cast<size_t>(s_.g.filters),
                         reinterpret_cast<uint32_t*>(y), static_cast<size_t>(s_.places()), static_cast<size_t>(count),
                         static_cast<size_t>(s_.g.filters));
  }

  const simd::Loops& loops_;
  DeformShape s_;
  Packs::Bytes filters_;                         ///< Packed; null: packed at every run.
  std::vector<Channels> channels_;               ///< All of x.
  int64_t block_ = 0;                            ///< Places sampled together.
  int64_t samples_ = 0, part_ = 0;               ///< Bytes of a part's samples, and with its results.
  int64_t turned_ = 0, plain_ = 0, packed_ = 0;  ///< Bytes of workspace before the parts.
};

Result<std::unique_ptr<Kernel>> make_deform(const KernelRequest& r) {
  const auto& a = r.attr<DeformConvAttrs>();
  const Shape &x = r.in[kDeformX].shape, &w = r.in[kDeformFilter].shape;
  if (!r.all_f32() || x.rank() != 4 || x.count() == 0 || w.count() == 0 || r.out[0].shape.count() == 0) return nullptr;
  NNEX_ASSIGN(ConvGeometry g, ConvGeometry::of(deform_windows(a), x, w));
  const auto row = checked_mul(x[1], g.taps());
  if (!row || *row > kMaxRow) return nullptr;
  const DeformShape s{std::move(g), x[1], a.offset_groups};
  Packs::Bytes filters;
  if (const Tensor* constant = r.in[kDeformFilter].constant) {
    const int64_t bytes = s.groups() * packed_floats(r.loops, s.depth(), s.g.per_group) * 4;
    NNEX_ASSIGN(
        filters,
        r.packs.get(pack_key(fmt::format("deform {}", s.groups()), r, r.in[kDeformFilter]), bytes, [&](std::byte* to) {
          std::vector<float> plain(static_cast<size_t>(w.count()));
          pack_filters(r.loops, r.team, s, constant->data(), plain.data(), reinterpret_cast<float*>(to));
        }));
  }
  return made<DeformKernel>(r.loops, s, std::move(filters));
}

constexpr KernelDef kDeformKernels[] = {{"deform_conv", "deform_conv_f32", make_deform}};

}  // namespace

std::span<const KernelDef> deform_kernels() { return built<kDeformKernels>(); }

}  // namespace nnex::kernels
