// Convolutions whose taps are moved by data, over two axes: all taps of an item are sampled, then multiplied by the
// filters as a matrix product.

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "kernels/kernel.h"
#include "kernels/product/gemm.h"
#include "kernels/split.h"
#include "ops/deform_conv.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kBlock = 128;           ///< Places sampled together.
constexpr int64_t kMaxSamples = 1 << 26;  ///< Floats of scratch memory.

/// For each of a block of places the four elements of a plane around it, -1 for what has no weight, and their weights.
struct Corners {
  int32_t at[4][kBlock];
  float weight[4][kBlock];
};

/// One axis at a place: the elements before and behind it, and their weights.
struct Neighbours {
  int64_t low = 0, high = 0;
  float low_weight = 0, high_weight = 0;

  Neighbours(double place, int64_t n) {
    if (!(place > -1 && place < static_cast<double>(n))) return;  // NaN is outside
    const double floor = std::floor(place), part = place - floor;
    const auto i = static_cast<int64_t>(floor);
    if (i >= 0) low = i, low_weight = static_cast<float>(1 - part);
    if (i + 1 < n) high = i + 1, high_weight = static_cast<float>(part);
  }
};

class DeformKernel : public Kernel {
 public:
  DeformKernel(const simd::Loops& loops, const ConvGeometry& g, int64_t channels, int64_t offset_groups)
      : loops_(loops),
        g_(g),
        channels_(channels),
        offset_groups_(offset_groups),
        taps_(g.taps()),
        places_(g.windows[0].output * g.windows[1].output) {
    const int64_t depth = g.taken * taps_;
    product_.one.m = g.per_group, product_.one.n = places_, product_.one.k = depth;
    product_.one.a_row_stride = depth, product_.one.c_row_stride = places_;
    product_.b_row_stride = places_;
    product_.axes = {{.extent = g.filters / g.per_group,
                      .a = g.per_group * depth,
                      .b = depth * places_,
                      .c = g.per_group * places_,
                      .row_bias = g.per_group}};
    samples_ = round_up(channels * taps_ * places_ * 4, 64);
  }

  int64_t workspace() const override { return samples_ + gemm_batch_workspace(loops_, product_, usable_threads()); }

  Status run(Call& c) const override {
    auto* const samples = reinterpret_cast<float*>(c.workspace);
    BatchGemm product = product_;
    product.one.a = c.in<float>(kDeformFilter).data(), product.one.b = samples;
    product.one.end.row_bias = c.has(kDeformBias) ? c.in<float>(kDeformBias).data() : nullptr;
    for (int64_t n = 0; n < g_.batch; ++n) {
      NNEX_TRY(c.interrupted());
      const int64_t units = offset_groups_ * taps_;
      split(*c.team, units, channels_ * taps_ * places_ * 16, 1, [&](int64_t begin, int64_t end) {
        for (int64_t unit = begin; unit < end; ++unit) sample(c, n, unit, samples);
      });
      product.one.c = c.out<float>(0).data() + n * g_.filters * places_;
      gemm_batch(loops_, *c.team, product, c.workspace + samples_);
    }
    return {};
  }

 private:
  /// One tap of one group of offsets: a row of samples for each channel of the group.
  void sample(const Call& c, int64_t n, int64_t unit, float* samples) const {
    const int64_t group = unit / taps_, tap = unit % taps_, moved = n * offset_groups_ * taps_ + unit;
    const float* const offset = c.in<float>(kDeformOffset).data() + moved * 2 * places_;
    const float* const mask = c.has(kDeformMask) ? c.in<float>(kDeformMask).data() + moved * places_ : nullptr;
    const int64_t each = channels_ / offset_groups_;
    Corners corners;
    for (int64_t p = 0; p < places_; p += kBlock) {
      const int64_t count = std::min(kBlock, places_ - p);
      for (int64_t i = 0; i < count; ++i)
        find(corners, i, p + i, tap, offset[p + i], offset[places_ + p + i], mask ? mask[p + i] : 1.0F);
      for (int64_t k = group * each; k < (group + 1) * each; ++k) {
        const float* const x = c.in<float>(kDeformX).data() + n * g_.x_batch + k * g_.x_channel;
        loops_.gather_taps_f32(x, corners.at[0], corners.weight[0], kBlock, 4,
                               samples + (k * taps_ + tap) * places_ + p, static_cast<size_t>(count));
      }
    }
  }

  void find(Corners& corners, int64_t i, int64_t place, int64_t tap, float down, float right, float mask) const {
    const AxisWindow &rows = g_.windows[0], &columns = g_.windows[1];
    const auto from = [](const AxisWindow& w, int64_t o, int64_t t) {
      return static_cast<double>(o * w.stride - w.before + t * w.dilation);
    };
    const Neighbours r(from(rows, place / columns.output, tap / columns.size) + static_cast<double>(down), rows.input);
    const Neighbours q(from(columns, place % columns.output, tap % columns.size) + static_cast<double>(right),
                       columns.input);
    const auto set = [&](int corner, int64_t row, int64_t column, float weight) {
      // What has no weight counts for nothing, whatever it is.
      corners.at[corner][i] = weight == 0 ? -1 : static_cast<int32_t>(row * columns.input + column);
      corners.weight[corner][i] = weight;
    };
    set(0, r.low, q.low, mask * r.low_weight * q.low_weight);
    set(1, r.high, q.low, mask * r.high_weight * q.low_weight);
    set(2, r.low, q.high, mask * r.low_weight * q.high_weight);
    set(3, r.high, q.high, mask * r.high_weight * q.high_weight);
  }

  const simd::Loops& loops_;
  ConvGeometry g_;
  int64_t channels_, offset_groups_, taps_, places_;
  BatchGemm product_;
  int64_t samples_ = 0;  ///< Bytes.
};

Result<std::unique_ptr<Kernel>> make_deform(const KernelRequest& r) {
  const auto& a = r.attr<DeformConvAttrs>();
  const Shape &x = r.in[kDeformX].shape, &w = r.in[kDeformFilter].shape;
  if (!r.all_f32() || x.rank() != 4 || x.count() == 0 || w.count() == 0 || r.out[0].shape.count() == 0) return nullptr;
  NNEX_ASSIGN(const ConvGeometry g, ConvGeometry::of(deform_windows(a), x, w));
  const auto samples = checked_mul(x[1] * g.taps(), g.windows[0].output * g.windows[1].output);
  if (!samples || *samples > kMaxSamples || g.x_channel > INT32_MAX) return nullptr;
  return made<DeformKernel>(r.loops, g, x[1], a.offset_groups);
}

constexpr KernelDef kDeformKernels[] = {{"deform_conv", "deform_conv_f32", make_deform}};

}  // namespace

std::span<const KernelDef> deform_kernels() { return built<kDeformKernels>(); }

}  // namespace nnex::kernels
