// Quantising: what samples tell of the range of codes, and how weights are rounded.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "api/quantize/observer.h"
#include "api/quantize/weights.h"
#include "nnex/quantize.h"
#include "normal.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

using test::normal;

// ---- What samples tell

TEST(QuantizeRanges, HistogramCountsWhatASortTells) {
  const std::vector<float> x = normal(20000, 1, 3);
  Histogram h;
  ASSERT_TRUE(h.add(x));
  EXPECT_EQ(h.min(), *std::min_element(x.begin(), x.end()));
  EXPECT_EQ(h.max(), *std::max_element(x.begin(), x.end()));
  std::vector<uint64_t> positive(Histogram::kBins), negative(Histogram::kBins);
  for (float v : x) {
    if (v == 0) continue;
    const auto bin = static_cast<size_t>(std::floor(std::abs(static_cast<double>(v)) / h.width()));
    ++(v > 0 ? positive : negative).at(bin);
  }
  EXPECT_EQ(h.positive(), positive);
  EXPECT_EQ(h.negative(), negative);
}

TEST(QuantizeRanges, HistogramIsTheSameInAnyOrderAndInAnyParts) {
  std::vector<float> x = normal(5000, 2);
  for (size_t i = 0; i < x.size(); i += 7) x[i] *= static_cast<float>(1 + i);
  x[17] = 0, x[18] = 1e-30F;
  Histogram whole, parts, backwards;
  ASSERT_TRUE(whole.add(x));
  for (size_t i = 0; i < x.size(); i += 100) ASSERT_TRUE(parts.add(std::span(x).subspan(i, 100)));
  std::reverse(x.begin(), x.end());
  for (size_t i = 0; i < x.size(); i += 1250) ASSERT_TRUE(backwards.add(std::span(x).subspan(i, 1250)));
  for (const Histogram* h : {&parts, &backwards}) {
    EXPECT_EQ(h->width(), whole.width());
    EXPECT_EQ(h->positive(), whole.positive());
    EXPECT_EQ(h->negative(), whole.negative());
    EXPECT_EQ(h->zeros(), whole.zeros());
    EXPECT_EQ(h->count(), 5000U);
  }
}

TEST(QuantizeRanges, HistogramRefusesWhatIsNoNumber) {
  Histogram h;
  EXPECT_FALSE(h.add(std::vector<float>{1, NAN}));
  EXPECT_FALSE(h.add(std::vector<float>{-INFINITY}));
  EXPECT_EQ(h.count(), 0U);
}

CodeRange range_by(RangeMethod method, const std::vector<float>& x, double percentile = 99.99) {
  Histogram h;
  EXPECT_TRUE(h.add(x));
  QuantizeSettings s;
  s.method = method, s.percentile = percentile;
  return range_of(h, s);
}

TEST(QuantizeRanges, PercentileCutsTheTailsOfASort) {
  std::vector<float> x = normal(100000, 3);
  const CodeRange range = range_by(RangeMethod::percentile, x, 99);
  std::sort(x.begin(), x.end());
  const float bin = 8.0F / Histogram::kBins;
  EXPECT_NEAR(range.low, x[1000], bin);
  EXPECT_NEAR(range.high, x[x.size() - 1001], bin);
}

/// The mean squared error of codes of a range, element by element.
double error_of(const std::vector<float>& x, const CodeRange& range) {
  const ByteCodes codes = codes_of(range);
  double sum = 0;
  for (float v : x) {
    const double code = std::clamp<double>(std::nearbyint(v / codes.scale) + codes.zero, 0, 255);
    const double d = (code - codes.zero) * codes.scale - v;
    sum += d * d;
  }
  return sum / static_cast<double>(x.size());
}

TEST(QuantizeRanges, MseErrsLessThanAnyOtherRange) {
  std::vector<float> x = normal(50000, 4);
  for (size_t i = 0; i < x.size(); i += 5000) x[i] *= 12;  // outliers
  const CodeRange found = range_by(RangeMethod::mse, x), whole = range_by(RangeMethod::minmax, x);
  EXPECT_LT(error_of(x, found), error_of(x, whole));
  double least = HUGE_VAL;
  for (int i = 1; i <= 60; ++i)
    for (int k = 1; k <= 60; ++k)
      least = std::min(least,
                       error_of(x, {whole.low * static_cast<float>(i) / 60, whole.high * static_cast<float>(k) / 60}));
  EXPECT_LT(error_of(x, found), 1.05 * least);
}

TEST(QuantizeRanges, EntropyLeavesOutliersOut) {
  std::vector<float> x = normal(50000, 5);
  x[0] = 40, x[1] = -40;
  const CodeRange range = range_by(RangeMethod::entropy, x);
  EXPECT_LT(range.high, 10);
  EXPECT_GT(range.high, 2);
  x.erase(x.begin(), x.begin() + 2);
  EXPECT_LT(error_of(x, range), 0.1 * error_of(x, {-40, 40}));
}

/// Swish makes of all negative numbers ones near 0, which every range rounds to it; of the rest the limits are.
TEST(QuantizeRanges, EntropyIsNotDrownedByWhatRoundsToZero) {
  std::vector<float> x = normal(50000, 6);
  for (float& v : x) v = 4 * v - 4, v = v / (1 + std::exp(-v));
  const CodeRange range = range_by(RangeMethod::entropy, x), best = range_by(RangeMethod::mse, x);
  EXPECT_LT(error_of(x, range), 3 * error_of(x, best));
}

TEST(QuantizeRanges, LogarithmIsThatOfTheLibrary) {
  for (double x : {1e-300, 0.1, 0.5, 0.70710678, 1.0, 1.5, 2.0, 3.0, 1e10})
    EXPECT_NEAR(portable_log2(x), std::log2(x), 1e-13 * std::max(1.0, std::abs(std::log2(x)))) << x;
}

TEST(QuantizeRanges, CodesSayZeroExactly) {
  for (const CodeRange& range :
       {CodeRange{-0.3F, 7}, CodeRange{0, 1}, CodeRange{-5, 0}, CodeRange{-1e-40F, 0}, CodeRange{0, 0}}) {
    const ByteCodes codes = codes_of(range);
    EXPECT_GT(codes.scale, 0);
    EXPECT_GE(codes.zero, 0);
    EXPECT_LE(codes.zero, 255);
    // Half a step at most is lost at either end.
    EXPECT_LE((0 - codes.zero) * codes.scale, range.low + codes.scale);
    EXPECT_GE((255 - codes.zero) * codes.scale, range.high - codes.scale);
  }
}

// ---- Weights

TEST(QuantizeRanges, WeightsAreRoundedByOutput) {
  const std::vector<float> w = {1, -2, 0.5F, 100, 50, -127};
  const Tensor matrix = Tensor::of<float>(Shape{2, 3}, w);
  ProductShape shape;
  shape.outputs = 2, shape.weight_axis = 0, shape.channels = 3, shape.channel_axis = -1;
  const CodedWeight coded = *coded_weight(matrix, shape, true, {});
  ASSERT_EQ(coded.scales.size(), 2U);
  const auto codes = coded.codes.as<int8_t>();
  EXPECT_EQ(std::vector<int>(codes.begin(), codes.end()), (std::vector<int>{64, -127, 32, 100, 50, -127}));
  for (size_t i = 0; i < w.size(); ++i)
    EXPECT_NEAR(coded.added[i], codes[i] * static_cast<double>(coded.scales[i / 3]) - w[i], 1e-12);
}

TEST(QuantizeRanges, ABiasWithoutWeightsFitsItsSums) {
  ProductShape shape;
  shape.outputs = 2, shape.weight_axis = 0, shape.channels = 1, shape.channel_axis = -1;
  const Tensor w = Tensor::of<float>(Shape{2, 1}, {1e-30F, 1});
  const std::vector<float> bias = {5, 5};
  const float x_scale = 0.01F;
  const CodedWeight coded = *coded_weight(w, shape, true, scales_for_bias(bias, x_scale));
  for (size_t o = 0; o < 2; ++o) EXPECT_LT(bias[o] / x_scale / coded.scales[o], 0x1p30);
}

TEST(QuantizeRanges, BlocksOfFourBitsErrHalfAStep) {
  const std::vector<float> x = normal(4 * 40, 6);
  const Tensor w = Tensor::of<float>(Shape{4, 40}, x);
  const BlockedWeight b = *blocked_weight(w, 1, 16);
  EXPECT_EQ(b.codes.dtype(), DType::i4);
  EXPECT_EQ(b.scales.shape(), (Shape{4, 3}));
  for (int64_t i = 0; i < 160; ++i) {
    const float scale = b.scales.as<float>()[static_cast<size_t>(i / 40 * 3 + i % 40 / 16)];
    const double code = real_at(b.codes, i);
    EXPECT_LE(std::abs(code), 7);
    if (std::abs(code) < 7) {
      EXPECT_LE(std::abs(code * scale - x[static_cast<size_t>(i)]), 0.5001 * scale);
    }
  }
}

}  // namespace
}  // namespace nnex
