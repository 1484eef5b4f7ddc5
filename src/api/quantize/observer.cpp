#include "api/quantize/observer.h"

#include <algorithm>
#include <cmath>

namespace nnex {

bool Histogram::add(std::span<const float> x) {
  float low = 0, high = 0;
  for (float v : x) {
    if (!std::isfinite(v)) return false;
    low = std::min(low, v), high = std::max(high, v);
  }
  min_ = std::min(min_, low), max_ = std::max(max_, high);
  count_ += x.size();
  const float reach = std::max(-low, high);
  if (reach == 0) {
    zeros_ += x.size();
    return true;
  }
  widen_to(reach);
  const double per_bin = 1 / width();
  for (float v : x) {
    if (v == 0) {
      ++zeros_;
      continue;
    }
    const auto bin = static_cast<size_t>(std::abs(static_cast<double>(v)) * per_bin);
    ++(v > 0 ? positive_ : negative_)[bin];
  }
  return true;
}

double Histogram::width() const { return std::ldexp(1.0, exponent_) / kBins; }

void Histogram::widen_to(float magnitude) {
  int needed = 0;
  std::frexp(magnitude, &needed);  // magnitude < 2^needed
  if (!met_) exponent_ = needed, met_ = true;
  for (; exponent_ < needed; ++exponent_)
    for (std::vector<uint64_t>* bins : {&positive_, &negative_}) {
      for (size_t i = 0; i < kBins / 2; ++i) (*bins)[i] = (*bins)[2 * i] + (*bins)[2 * i + 1];
      std::fill(bins->begin() + kBins / 2, bins->end(), 0);
    }
}

void ChannelObserver::add(std::span<const float> x, int64_t channels, int64_t inner) {
  const auto n = static_cast<size_t>(channels), run = static_cast<size_t>(inner);
  sums_.resize(n), reach_.resize(n);
  if (n == 0 || run == 0) return;
  for (size_t at = 0, c = 0; at + run <= x.size(); at += run, c = c + 1 == n ? 0 : c + 1) {
    double sum = 0;
    float reach = reach_[c];
    for (size_t i = at; i < at + run; ++i) sum += x[i], reach = std::max(reach, std::abs(x[i]));
    sums_[c] += sum, reach_[c] = reach;
  }
  per_channel_ += static_cast<int64_t>(x.size() / n);
}

std::vector<float> ChannelObserver::means() const {
  std::vector<float> out;
  for (double sum : sums_)
    out.push_back(per_channel_ == 0 ? 0 : static_cast<float>(sum / static_cast<double>(per_channel_)));
  return out;
}

namespace {

constexpr int kSteps = 255;  ///< Steps between the smallest and the largest code.

/// The magnitude beyond which at most `outside` elements of one sign lie: the edge of a bin.
double tail_limit(const std::vector<uint64_t>& bins, double width, double outside) {
  double beyond = 0;
  for (size_t i = bins.size(); i-- > 0;) {
    beyond += static_cast<double>(bins[i]);
    if (beyond > outside) return static_cast<double>(i + 1) * width;
  }
  return 0;
}

CodeRange percentile_range(const Histogram& h, double percentile) {
  const double outside = static_cast<double>(h.count()) * (100 - percentile) / 100;
  return {static_cast<float>(std::max<double>(h.min(), -tail_limit(h.negative(), h.width(), outside))),
          static_cast<float>(std::min<double>(h.max(), tail_limit(h.positive(), h.width(), outside)))};
}

/// Of one sign: how many elements lie within each of some limits, and the squared distances to it of those beyond.
struct Side {
  static constexpr int kLimits = 96;
  std::vector<double> limit, inside, beyond;

  /// Limits at equal distances down from `reach`, the last at an eighth of it.
  Side(const std::vector<uint64_t>& bins, double width, double reach) {
    if (reach == 0) {
      limit = inside = beyond = {0};
      return;
    }
    for (int k = 0; k < kLimits; ++k) add(bins, width, reach * (1 - 0.875 * k / (kLimits - 1)));
  }

 private:
  void add(const std::vector<uint64_t>& bins, double width, double to) {
    double in = 0, out = 0;
    for (size_t i = 0; i < bins.size(); ++i) {
      const double centre = (static_cast<double>(i) + 0.5) * width, n = static_cast<double>(bins[i]);
      if (centre <= to)
        in += n;
      else
        out += n * (centre - to) * (centre - to);
    }
    limit.push_back(to), inside.push_back(in), beyond.push_back(out);
  }
};

/// Within the range rounding errs by a twelfth of a step squared, beyond it by the distance; zeros are exact.
CodeRange mse_range(const Histogram& h) {
  const Side low(h.negative(), h.width(), -static_cast<double>(h.min()));
  const Side high(h.positive(), h.width(), h.max());
  double best = -1;
  CodeRange out;
  for (size_t i = 0; i < low.limit.size(); ++i)
    for (size_t k = 0; k < high.limit.size(); ++k) {
      const double step = (low.limit[i] + high.limit[k]) / kSteps;
      const double error = (low.inside[i] + high.inside[k]) * step * step / 12 + low.beyond[i] + high.beyond[k];
      if (best >= 0 && error >= best) continue;
      best = error;
      out = {static_cast<float>(-low.limit[i]), static_cast<float>(high.limit[k])};
    }
  return out;
}

/// sum of p log2(p / q), where p are the elements up to a limit, those beyond in its last bin, and q the same spread
/// evenly over the bins of each code that are not empty. A little of q lies everywhere: elements beyond the limit may
/// meet a bin that nothing else has.
double divergence(const std::vector<double>& bins, size_t limit, size_t codes, double total) {
  constexpr double kEverywhere = 1e-4;
  double beyond = 0;
  for (size_t i = limit; i < bins.size(); ++i) beyond += bins[i];
  const double inside = total - beyond;
  if (inside <= 0) return HUGE_VAL;
  double sum = 0;
  for (size_t c = 0; c < codes; ++c) {
    const size_t begin = c * limit / codes, end = (c + 1) * limit / codes;
    double mass = 0, filled = 0;
    for (size_t i = begin; i < end; ++i) mass += bins[i], filled += bins[i] > 0 ? 1 : 0;
    for (size_t i = begin; i < end; ++i) {
      const double p = (bins[i] + (i + 1 == limit ? beyond : 0)) / total;
      if (p == 0) continue;
      const double spread = bins[i] > 0 ? (1 - kEverywhere) * mass / filled / inside : 0;
      sum += p * portable_log2(p / (spread + kEverywhere / static_cast<double>(limit)));
    }
  }
  return sum;
}

/// The side that reaches farther decides: the other one lies within its limit, and its elements are not near those of
/// equal magnitude. What the whole range rounds to 0 says nothing of limits: where it is most (Swish makes such numbers
/// of all negative ones), the distribution would be that alone, and the limits would cut what carries the signal.
CodeRange entropy_range(const Histogram& h) {
  const double low = -static_cast<double>(h.min()), high = h.max(), smaller = std::min(low, high);
  const double half_step = (low + high) / kSteps / 2;
  const std::vector<uint64_t>& side = high >= low ? h.positive() : h.negative();
  std::vector<double> bins;
  double total = 0;
  for (size_t i = 0; i < Histogram::kBins; ++i) {
    const bool is_zero = static_cast<double>(i + 1) * h.width() <= half_step;
    bins.push_back(is_zero ? 0 : static_cast<double>(side[i]));
    total += bins.back();
  }
  size_t best = Histogram::kBins;
  double min_distance = HUGE_VAL;
  for (size_t limit = kSteps / 2 + 1; limit <= Histogram::kBins; limit += 8) {
    const double to = static_cast<double>(limit) * h.width(), step = (to + std::min(smaller, to)) / kSteps;
    const size_t codes = std::min(limit, static_cast<size_t>(std::nearbyint(to / step)));
    if (const double d = divergence(bins, limit, codes, total); d < min_distance) min_distance = d, best = limit;
  }
  const double to = static_cast<double>(best) * h.width();
  return {static_cast<float>(std::max<double>(h.min(), -to)), static_cast<float>(std::min<double>(h.max(), to))};
}

}  // namespace

double portable_log2(double x) {
  constexpr double kTwiceByLn2 = 2.8853900817779268;
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) m *= 2, --exponent;
  // log2(m) = 2 / ln 2 (t + t^3 / 3 + t^5 / 5 + ...), |t| < 0.1716
  const double t = (m - 1) / (m + 1), square = t * t;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return exponent + kTwiceByLn2 * t * sum;
}

CodeRange range_of(const Histogram& h, const QuantizeSettings& settings) {
  switch (settings.method) {
    case RangeMethod::minmax:
      return {h.min(), h.max()};
    case RangeMethod::percentile:
      return percentile_range(h, settings.percentile);
    case RangeMethod::mse:
      return mse_range(h);
    case RangeMethod::entropy:
      return entropy_range(h);
  }
  return {h.min(), h.max()};
}

}  // namespace nnex
