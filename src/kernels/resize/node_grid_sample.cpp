// Sampling float32 by grids: places go in tiles whose taps are found once for all channels. The reference's bytes.

#include "ops/grid_sample.h"

#include <algorithm>

#include "base/split.h"
#include "kernels/kernel.h"
#include "kernels/simd/loops.h"
#include "tensor/convert.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kMaxAxes = 3, kMaxTaps = 64;  // 4 a cubic axis
constexpr int64_t kTile = 64;

/// The taps of up to kTile places. An offset below 0 reads zero.
class Tile {
 public:
  Tile(const simd::Loops& loops, std::span<const AxisSampler> axes, SampleMode mode, SampleBorder border)
      : loops_(loops),
        axes_(axes),
        moves_(mode == SampleMode::nearest),
        finds_lines_(mode == SampleMode::linear && border == SampleBorder::constant) {
    const int64_t each = moves_ ? 1 : mode == SampleMode::linear ? 2 : 4;
    for (size_t i = 0; i < axes.size(); ++i) taps_ *= each;
  }

  /// Places whose coordinates follow each other, those of the last axis first in each.
  void find(const float* grid, int64_t places) {
    places_ = places;
    if (finds_lines_) return find_lines(grid);
    int64_t at[kMaxTaps];
    double weight[kMaxTaps];
    for (int64_t p = 0; p < places; ++p, grid += axes_.size()) {
      at[0] = 0, weight[0] = 1;
      int64_t count = 1;
      for (size_t a = 0; a < axes_.size(); ++a) count = add_axis(a, grid[axes_.size() - 1 - a], at, weight, count);
      for (int64_t t = 0; t < count; ++t) {
        offset_[t][p] = static_cast<int32_t>(at[t]);
        weight_[t][p] = static_cast<float>(weight[t]);
      }
    }
  }

  /// One channel's elements.
  void read(const float* x, float* y) const {
    if (moves_) {
      for (int64_t p = 0; p < places_; ++p) y[p] = offset_[0][p] < 0 ? 0.0F : x[offset_[0][p]];
      return;
    }
    loops_.gather_taps_f32(x, offset_[0], weight_[0], kTile, static_cast<size_t>(taps_), y,
                           static_cast<size_t>(places_));
  }

 private:
  /// The same of linear taps with zeros around: an axis of all places at a time.
  void find_lines(const float* grid) {
    const size_t n = axes_.size();
    int32_t at[kMaxAxes][2][kTile];
    double weight[kMaxAxes][2][kTile];
    for (size_t a = 0; a < n; ++a)
      axes_[a].linear_taps(grid + (n - 1 - a), static_cast<int64_t>(n), places_, at[a][0], at[a][1], weight[a][0],
                           weight[a][1]);
    for (size_t t = 0; t < static_cast<size_t>(taps_); ++t) {
      const auto side = [&](size_t a) { return t >> (n - 1 - a) & 1; };
      int32_t sum[kTile];
      double product[kTile];
      std::copy_n(at[0][side(0)], places_, sum);
      std::copy_n(weight[0][side(0)], places_, product);
      for (size_t a = 1; a < n; ++a)
        for (int64_t p = 0; p < places_; ++p) {
          const int32_t next = at[a][side(a)][p];
          sum[p] = (sum[p] | next) < 0 ? -1 : sum[p] + next;
          product[p] *= weight[a][side(a)][p];
        }
      std::copy_n(sum, places_, offset_[t]);
      for (int64_t p = 0; p < places_; ++p) weight_[t][p] = static_cast<float>(product[p]);
    }
  }

  /// Each tap so far meets each of one more axis; the last axis runs fastest. In place, from the end.
  int64_t add_axis(size_t axis, float coordinate, int64_t* at, double* weight, int64_t count) const {
    int64_t offset[4];
    double own[4];
    const int64_t n = axes_[axis].taps(static_cast<double>(coordinate), offset, own);
    for (int64_t j = count; j-- > 0;) {
      const int64_t from = at[j];
      const double by = weight[j];
      for (int64_t k = n; k-- > 0;) {
        at[j * n + k] = from < 0 || offset[k] < 0 ? -1 : from + offset[k];
        weight[j * n + k] = by * own[k];
      }
    }
    return count * n;
  }

  const simd::Loops& loops_;
  std::span<const AxisSampler> axes_;
  bool moves_, finds_lines_;
  int64_t taps_ = 1, places_ = 0;
  int32_t offset_[kMaxTaps][kTile];
  float weight_[kMaxTaps][kTile];
};

class GridSampleKernel : public Kernel {
 public:
  GridSampleKernel(const simd::Loops& loops, const GridSampleAttrs& a, const Shape& x, int64_t places)
      : loops_(loops), a_(a), batch_(x[0]), channels_(x[1]), pixels_(x.count() / (x[0] * x[1])), places_(places) {
    int64_t stride = pixels_;
    for (int64_t i = 2; i < x.rank(); ++i) axes_.emplace_back(a_, x[i], stride /= x[i]);
  }
  GridSampleKernel(const GridSampleKernel&) = delete;  // samplers read a_
  GridSampleKernel& operator=(const GridSampleKernel&) = delete;

  Status run(Call& c) const override {
    const float *x = c.in<float>(0).data(), *grid = c.in<float>(1).data();
    float* y = c.out<float>(0).data();
    const auto axes = static_cast<int64_t>(axes_.size());
    const int64_t tiles = (places_ + kTile - 1) / kTile;
    split(*c.team, batch_ * tiles, batch_ * places_ * (channels_ * 8 + 64) * axes, 1, [&](int64_t begin, int64_t end) {
      Tile tile(loops_, axes_, a_.mode, a_.border);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / tiles, first = i % tiles * kTile;
        tile.find(grid + (n * places_ + first) * axes, std::min(kTile, places_ - first));
        for (int64_t k = n * channels_; k < (n + 1) * channels_; ++k)
          tile.read(x + k * pixels_, y + k * places_ + first);
      }
    });
    return {};
  }

 private:
  const simd::Loops& loops_;
  GridSampleAttrs a_;
  int64_t batch_, channels_, pixels_, places_;
  std::vector<AxisSampler> axes_;
};

Result<std::unique_ptr<Kernel>> make_grid_sample(const KernelRequest& r) {
  const Shape &x = r.in[0].shape, &y = r.out[0].shape;
  if (!r.all_f32() || x.rank() < 3 || x.rank() - 2 > kMaxAxes || x.count() == 0 || y.count() == 0 ||
      x.count() > INT32_MAX)
    return nullptr;
  return made<GridSampleKernel>(r.loops, r.attr<GridSampleAttrs>(), x, y.count() / (x[0] * x[1]));
}

constexpr KernelDef kGridSampleKernels[] = {{"grid_sample", "grid_sample_f32", make_grid_sample}};

}  // namespace

std::span<const KernelDef> grid_sample_kernels() { return built<kGridSampleKernels>(); }

}  // namespace nnex::kernels
