#pragma once
// What samples make of a tensor, kept in memory that does not grow with them.

#include <cstdint>
#include <span>
#include <vector>

#include "nnex/quantize.h"

namespace nnex {

/// How often elements of which magnitude were met, by sign. Bins are 2^k wide, and k grows by merging neighbours: what
/// is counted depends on the elements alone, not on their order or on how they came in parts.
class Histogram {
 public:
  static constexpr int kBins = 2048;  ///< Of each sign.

  /// False: an element is NaN or infinite, and nothing was counted.
  bool add(std::span<const float> x);

  uint64_t count() const { return count_; }
  /// Elements that are exactly 0, which no bin has: their code is exact.
  uint64_t zeros() const { return zeros_; }
  float min() const { return min_; }
  float max() const { return max_; }
  double width() const;  ///< Of a bin.
  /// Bin i has magnitudes in [i width, (i + 1) width).
  const std::vector<uint64_t>& positive() const { return positive_; }
  const std::vector<uint64_t>& negative() const { return negative_; }

 private:
  void widen_to(float magnitude);

  std::vector<uint64_t> positive_ = std::vector<uint64_t>(kBins), negative_ = std::vector<uint64_t>(kBins);
  int exponent_ = 0;  ///< Magnitudes are below 2^exponent_.
  bool met_ = false;  ///< Whether exponent_ means anything.
  uint64_t count_ = 0, zeros_ = 0;
  float min_ = 0, max_ = 0;
};

/// The mean and the reach of each channel of a tensor.
class ChannelObserver {
 public:
  /// x is [outer, channels, inner].
  void add(std::span<const float> x, int64_t channels, int64_t inner);
  std::vector<float> means() const;
  const std::vector<float>& reach() const { return reach_; }

 private:
  std::vector<double> sums_;
  std::vector<float> reach_;
  int64_t per_channel_ = 0;
};

/// The range of the codes. Needs no function whose last bit a machine decides.
CodeRange range_of(const Histogram& h, const QuantizeSettings& settings);

/// log2 of a positive normal number, by additions, products and quotients alone.
double portable_log2(double x);

}  // namespace nnex
