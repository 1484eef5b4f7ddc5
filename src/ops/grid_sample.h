#pragma once
// Which elements a place of a grid reads, axis by axis.

#include <algorithm>
#include <array>
#include <cmath>

#include "base/checked.h"
#include "ops/attrs.h"

namespace nnex {

enum class SampleMode : uint8_t { linear, nearest, cubic };
constexpr std::array<std::string_view, 3> enumerators(SampleMode) { return {"linear", "nearest", "cubic"}; }

enum class SampleBorder : uint8_t { constant, replicate, reflect };
constexpr std::array<std::string_view, 3> enumerators(SampleBorder) { return {"constant", "replicate", "reflect"}; }

struct GridSampleAttrs {
  SampleMode mode = SampleMode::linear;
  SampleBorder border = SampleBorder::constant;
  bool align_corners = false;
};

/// The coordinate x mirrored into [low, high].
inline double mirrored(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double from = std::fmod(std::fabs(x - low), 2 * range);
  return low + (from <= range ? from : 2 * range - from);
}

/// How one axis of x, n elements `stride` apart, is read.
class AxisSampler {
 public:
  AxisSampler(const GridSampleAttrs& a, int64_t n, int64_t stride) : a_(a), n_(n), stride_(stride) {}

  /// Offsets and weights of the taps at grid coordinate g in [-1, 1]; an offset below 0 reads zero. Returns how many.
  int taps(double g, int64_t* offset, double* weight) const {
    double x = element_at(g);
    if (a_.mode == SampleMode::nearest) x = nearest_of(x);
    x = settled(x);
    if (a_.mode == SampleMode::nearest) {
      offset[0] = offset_of(static_cast<int64_t>(nearest_of(x)));
      weight[0] = 1;
      return 1;
    }
    const double low = floor_of(x), t = x - low;
    const auto at = static_cast<int64_t>(low);
    if (a_.mode == SampleMode::linear) {
      offset[0] = offset_of(at), offset[1] = offset_of(at + 1);
      weight[0] = 1 - t, weight[1] = t;
      return 2;
    }
    for (int k = 0; k < 4; ++k) {
      offset[k] = offset_of(at + k - 1);
      weight[k] = cubic(std::fabs(t - (k - 1)));
    }
    return 4;
  }

  /// Linear taps of `count` coordinates `step` apart, where what lies outside reads zero: offsets below 2^31.
  void linear_taps(const float* g, int64_t step, int64_t count, int32_t* before, int32_t* behind, double* weight_before,
                   double* weight_behind) const {
    const auto n = static_cast<int32_t>(n_), stride = static_cast<int32_t>(stride_);
    for (int64_t i = 0; i < count; ++i) {
      const double x = element_at(static_cast<double>(g[i * step])), low = floor_of(x);
      const auto at = static_cast<int32_t>(low);
      before[i] = at >= 0 && at < n ? at * stride : -1;
      behind[i] = at >= -1 && at < n - 1 ? (at + 1) * stride : -1;
      weight_before[i] = 1 - (x - low), weight_behind[i] = x - low;
    }
  }

 private:
  static constexpr double kFarthest = 1e9;

  /// The element at a coordinate, before the border has its say.
  double element_at(double g) const {
    double x =
        a_.align_corners ? (g + 1) / 2 * static_cast<double>(n_ - 1) : ((g + 1) * static_cast<double>(n_) - 1) / 2;
    x = x >= -kFarthest ? x : -kFarthest;  // NaN, too
    return x <= kFarthest ? x : kFarthest;
  }

  /// Of |x| <= kFarthest: without a call, so that loops become vectors.
  static double floor_of(double x) {
    const auto towards_zero = static_cast<double>(static_cast<int32_t>(x));
    return towards_zero > x ? towards_zero - 1 : towards_zero;
  }

  /// Of |x| <= kFarthest, ties to even: the sum has no bits behind the point.
  static double nearest_of(double x) {
    constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
    return (x + kMagic) - kMagic;
  }

  double settled(double x) const {
    const double low = a_.align_corners ? 0 : -0.5, high = static_cast<double>(n_) - (a_.align_corners ? 1 : 0.5);
    if ((x >= low && x <= high) || a_.border == SampleBorder::constant) return x;
    if (a_.border == SampleBorder::replicate) return std::clamp(x, 0.0, static_cast<double>(n_ - 1));
    return mirrored(x, low, high);
  }

  int64_t offset_of(int64_t i) const {
    if (i >= 0 && i < n_) return i * stride_;
    if (a_.border == SampleBorder::constant) return -1;
    if (a_.border == SampleBorder::replicate) return std::clamp<int64_t>(i, 0, n_ - 1) * stride_;
    if (a_.align_corners) {
      if (n_ == 1) return 0;
      const int64_t period = 2 * (n_ - 1), k = i - period * floor_div(i, period);
      return (k < n_ ? k : period - k) * stride_;
    }
    const int64_t k = i - 2 * n_ * floor_div(i, 2 * n_);
    return (k < n_ ? k : 2 * n_ - 1 - k) * stride_;
  }

  static double cubic(double t) {
    constexpr double a = -0.75;
    if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
  }

  const GridSampleAttrs& a_;
  int64_t n_, stride_;
};

}  // namespace nnex
