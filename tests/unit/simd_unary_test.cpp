#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "oracle_math.h"
#include "simd_test.h"

namespace nnex::kernels {
namespace {

using simd::best_isa;
using simd::Loops;
using simd::loops;
using simd::Numbers;

Unary with_usual_parameters(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::clamp:
      return {kind, -1.5F, 6.0F};
    case UnaryKind::selu:
      return {kind, 1.67326319F, 1.05070102F};
    case UnaryKind::celu:
      return {kind, 0.7F, 0};
    default:
      return {kind, 0.3F, 0.5F};
  }
}

TEST(SimdUnary, EveryKindEqualsItsOracle) {
  const std::vector<float> x = test::test_floats(3001);
  for (int k = 0; k < static_cast<int>(UnaryKind::count); ++k) {
    const Unary f = with_usual_parameters(static_cast<UnaryKind>(k));
    SCOPED_TRACE(k);
    std::vector<float> fused(x.size()), split(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      fused[i] = oracle::unary<true>(f, x[i]);
      split[i] = oracle::unary<false>(f, x[i]);
    }
    test::for_each_table([&](const Loops& table) {
      std::vector<float> y(x.size());
      table.unary_f32(f, x.data(), y.data(), x.size());
      test::expect_same(y, test::fuses(table) ? fused : split);
    });
  }
}

TEST(SimdUnary, EveryLengthByTheSameFormula) {
  const std::vector<float> x = test::test_floats(100);
  const Unary f{UnaryKind::tanh};
  test::for_each_table([&](const Loops& table) {
    std::vector<float> whole(x.size());
    table.unary_f32(f, x.data(), whole.data(), x.size());
    for (size_t n = 0; n <= 40; ++n) {
      std::vector<float> y(n + 1, 7.0F), expected(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      expected.push_back(7.0F);
      table.unary_f32(f, x.data(), y.data(), n);
      test::expect_same(y, expected);
    }
    std::vector<float> in_place = x;
    table.unary_f32(f, in_place.data(), in_place.data(), x.size());
    test::expect_same(in_place, whole);
  });
}

// But for the one that is told by a comparison, which is false of NaN.
TEST(SimdUnary, NanStaysNan) {
  const float nan = std::nanf("");
  for (int k = 0; k < static_cast<int>(UnaryKind::count); ++k) {
    test::for_each_table([&](const Loops& table) {
      float y = 1;
      table.unary_f32(with_usual_parameters(static_cast<UnaryKind>(k)), &nan, &y, 1);
      EXPECT_NE(std::isnan(y), static_cast<UnaryKind>(k) == UnaryKind::thresholded_relu) << k;
    });
  }
}

TEST(SimdUnary, NanBecomesWhatIsAskedFor) {
  const std::vector<float> x = test::test_floats(77);
  for (const Unary& f : {Unary{UnaryKind::relu, 0, 0, 0}, Unary{UnaryKind::clamp, -1.5F, 6, 6}}) {
    std::vector<float> expected(x.size());
    for (size_t i = 0; i < x.size(); ++i) expected[i] = oracle::unary<true>(f, x[i]);
    EXPECT_TRUE(std::none_of(expected.begin(), expected.end(), [](float y) { return std::isnan(y); }));
    test::for_each_table([&](const Loops& table) {
      std::vector<float> y(x.size());
      table.unary_f32(f, x.data(), y.data(), x.size());
      test::expect_same(y, expected);
    });
  }
}

TEST(SimdUnary, ClampWithAbsentLimits) {
  const std::vector<float> x = {-3, 0, 3, std::nanf("")};
  std::vector<float> y(4);
  const Loops& table = loops(best_isa());
  table.unary_f32({UnaryKind::clamp, std::nanf(""), 1.0F}, x.data(), y.data(), 4);
  test::expect_same(y, {-3, 0, 1, std::nanf("")});
  table.unary_f32({UnaryKind::clamp, 2.0F, 1.0F}, x.data(), y.data(), 3);
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[2], 1);
}

// The error bounds the doc comments state, in units of the last place of the true result (subnormal results: of
// 2^-149).
const struct {
  UnaryKind kind;
  double (*reference)(double);
  double bound;
} accuracy_rows[] = {
    {UnaryKind::exp, [](double x) { return std::exp(x); }, 1.0},
    {UnaryKind::log, [](double x) { return std::log(x); }, 1.0},
    {UnaryKind::tanh, [](double x) { return std::tanh(x); }, 3.0},
    {UnaryKind::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 3.0},
    {UnaryKind::erf, [](double x) { return std::erf(x); }, 2.0},
    {UnaryKind::softplus, [](double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }, 3.0},
    {UnaryKind::sin, [](double x) { return std::sin(x); }, 2.0},
    {UnaryKind::cos, [](double x) { return std::cos(x); }, 2.0},
    {UnaryKind::asin, [](double x) { return std::asin(x); }, 2.0},
    {UnaryKind::acos, [](double x) { return std::acos(x); }, 2.0},
    {UnaryKind::atan, [](double x) { return std::atan(x); }, 2.0},
    {UnaryKind::rsqrt, [](double x) { return std::pow(x, -0.5); }, 1.5},
};

double error_in_ulps(float found, double expected) {
  const float rounded = static_cast<float>(expected);
  if (std::isnan(rounded) || std::isinf(rounded) || rounded == 0) return test::same_bits(found, rounded) ? 0 : 1e9;
  if (!std::isfinite(found)) return 1e9;
  int exponent;
  std::frexp(rounded, &exponent);
  return std::fabs(found - expected) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

TEST(SimdUnary, ErrorWithinTheStatedBound) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits <= 0xffffffff; bits += 28657) x.push_back(test::float_of(static_cast<uint32_t>(bits)));
  for (float v : test::test_floats(20000)) x.push_back(v);
  std::vector<float> y(x.size());
  for (const auto& row : accuracy_rows) {
    for (Numbers numbers : {Numbers::fast, Numbers::exact}) {
      loops(best_isa(), numbers).unary_f32({row.kind}, x.data(), y.data(), x.size());
      double worst = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double error = error_in_ulps(y[i], row.reference(x[i]));
        ASSERT_LT(error, 1e9) << "kind " << int(row.kind) << " at " << x[i] << ": " << y[i];
        worst = std::max(worst, error);
      }
      EXPECT_LE(worst, row.bound) << "kind " << int(row.kind);
    }
  }
}

}  // namespace
}  // namespace nnex::kernels
