#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "simd_test.h"

namespace nnex::kernels {
namespace {

/// The chain of multiply-adds by itself.
double chain(const simd::TypedProduct<double>& p, size_t i, size_t j, bool fused) {
  double sum = 0;
  for (size_t q = 0; q < p.k; ++q) {
    const double a = p.a[i * p.a_row + q * p.a_column], b = p.b[q * p.b_row + j];
    if (fused) {
      sum = std::fma(a, b, sum);
    } else {
      const double product = a * b;
      sum += product;
    }
  }
  return sum;
}

TEST(SimdDouble, ProductEqualsItsOracle) {
  for (size_t m : {1, 2, 7, 13})
    for (size_t n : {1, 2, 3, 7, 8, 15, 16, 17, 40})
      for (size_t k : {0, 1, 9, 128, 131}) {
        for (bool columns : {false, true}) {
          std::vector<double> a(m * k + 1), b(k * (n + 2) + 1);
          for (size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<double>(i * 7 + 1));
          for (size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<double>(i * 3 + n));
          test::for_each_table([&](const simd::Loops& table) {
            std::vector<double> z(m * (n + 1), 7.0);
            simd::TypedProduct<double> p;
            p.a = a.data(), p.a_row = columns ? 1 : k, p.a_column = columns ? m : 1;
            p.b = b.data(), p.b_row = n + 2;
            p.z = z.data(), p.z_row = n + 1;
            p.m = m, p.k = k, p.n = n;
            table.product_f64(p);
            for (size_t i = 0; i < m; ++i) {
              for (size_t j = 0; j < n; ++j)
                EXPECT_EQ(z[i * (n + 1) + j], chain(p, i, j, test::fuses(table))) << m << ' ' << n << ' ' << k;
              EXPECT_EQ(z[i * (n + 1) + n], 7.0);  // nothing behind a row is written
            }
          });
        }
      }
}

template <class T>
void expect_wrapped_products(simd::ProductOf<T>* simd::Loops::*product) {
  using U = std::make_unsigned_t<T>;
  for (size_t m : {1, 2, 5, 7})
    for (size_t n : {1, 3, 7, 15, 16, 17, 40}) {
      const size_t k = 9;
      std::vector<T> a(m * k), b(k * n);
      for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>((i + 1) * 0x9E3779B97F4A7C15U);
      for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>((i + 3) * 0xC2B2AE3D27D4EB4FU);
      test::for_each_table([&](const simd::Loops& table) {
        std::vector<T> z(m * n);
        simd::TypedProduct<T> p;
        p.a = a.data(), p.a_row = k, p.a_column = 1, p.b = b.data(), p.b_row = n, p.z = z.data(), p.z_row = n;
        p.m = m, p.k = k, p.n = n;
        (table.*product)(p);
        for (size_t i = 0; i < m; ++i)
          for (size_t j = 0; j < n; ++j) {
            U sum = 0;
            for (size_t q = 0; q < k; ++q) sum += static_cast<U>(a[i * k + q]) * static_cast<U>(b[q * n + j]);
            EXPECT_EQ(z[i * n + j], static_cast<T>(sum)) << m << ' ' << n;
          }
      });
    }
}

TEST(SimdDouble, ProductsOfWholeNumbersWrap) {
  expect_wrapped_products<int32_t>(&simd::Loops::product_i32);
  expect_wrapped_products<int64_t>(&simd::Loops::product_i64);
}

TEST(SimdDouble, FunctionsAreTheSameEverywhere) {
  std::vector<double> x = {0, -0.0, HUGE_VAL, -HUGE_VAL, 1e-310, -746, -744.5, 709.78, 709.79, 22};
  for (double v = -30; v < 30; v += 0.0217) x.push_back(v);
  const struct {
    UnaryKind kind;
    double (*plain)(double);
  } rows[] = {{UnaryKind::sqrt, [](double v) { return std::sqrt(v); }},
              {UnaryKind::exp, [](double v) { return std::exp(v); }},
              {UnaryKind::tanh, [](double v) { return std::tanh(v); }},
              {UnaryKind::sigmoid, [](double v) { return 1 / (1 + std::exp(-v)); }}};
  for (const auto& row : rows) {
    std::vector<double> first;
    test::for_each_table([&](const simd::Loops& table) {
      std::vector<double> y(x.size());
      table.unary_f64(row.kind, x.data(), y.data(), x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        const double wanted = row.plain(x[i]);
        if (std::isnan(wanted))
          EXPECT_TRUE(std::isnan(y[i])) << x[i];
        else if (std::isinf(wanted))
          EXPECT_EQ(y[i], wanted) << x[i];
        else
          EXPECT_NEAR(y[i], wanted, 3 * 0x1p-52 * std::fabs(wanted) + 5e-324) << x[i];
      }
      if (first.empty()) first = y;
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_TRUE(y[i] != y[i] || std::memcmp(&y[i], &first[i], sizeof y[i]) == 0) << x[i];
    });
  }
}

}  // namespace
}  // namespace nnex::kernels
