#include <gtest/gtest.h>

#include <cmath>

#include "oracle_rows.h"
#include "simd_test.h"

namespace nnex {
namespace {

using simd::Loops;

constexpr size_t kLengths[] = {0, 1, 2, 7, 15, 16, 17, 31, 33, 64, 100, 333};

TEST(SimdRows, ReduceEqualsItsOracle) {
  const std::vector<float> special = test::test_floats(400), usual = test::uniform_floats(400, 2);
  test::for_each_table([&](const Loops& table) {
    for (int k = 0; k < static_cast<int>(ReduceKind::count); ++k) {
      const ReduceKind kind = static_cast<ReduceKind>(k);
      for (const std::vector<float>& x : {special, usual}) {
        for (size_t n : kLengths) {
          const float expected =
              test::fuses(table) ? oracle::reduce<true>(kind, x.data(), n) : oracle::reduce<false>(kind, x.data(), n);
          ASSERT_TRUE(test::same_bits(table.reduce_f32(kind, x.data(), n), expected)) << k << " " << n;
        }
      }
    }
    for (size_t n : kLengths) {
      const auto about = [&](auto madd) {
        return oracle::fold(
            usual.data(), n, 0.0F, [&](float a, float v) { return madd(v - 0.3F, v - 0.3F, a); }, oracle::add);
      };
      const float expected = test::fuses(table) ? about(oracle::madd<true>) : about(oracle::madd<false>);
      ASSERT_TRUE(test::same_bits(table.sum_squares_about_f32(usual.data(), n, 0.3F), expected)) << n;
    }
  });
}

TEST(SimdRows, ReduceColumnsEqualsItsOracle) {
  constexpr size_t kStride = 150;
  const std::vector<float> x = test::test_floats(kStride * 300);
  test::for_each_table([&](const Loops& table) {
    for (int k = 0; k < static_cast<int>(ReduceKind::count); ++k) {
      const ReduceKind kind = static_cast<ReduceKind>(k);
      for (size_t rows : {0, 1, 5, 128, 300}) {
        for (size_t columns : {1, 5, 16, 131}) {
          std::vector<float> y(columns), expected(columns);
          table.reduce_columns_f32(kind, x.data(), kStride, rows, y.data(), columns);
          for (size_t c = 0; c < columns; ++c)
            expected[c] = test::fuses(table) ? oracle::reduce_column<true>(kind, x.data() + c, kStride, rows)
                                             : oracle::reduce_column<false>(kind, x.data() + c, kStride, rows);
          test::expect_same(y, expected);
        }
      }
    }
  });
}

TEST(SimdRows, SoftmaxEqualsItsOracle) {
  std::vector<float> usual = test::uniform_floats(333, 20);
  usual[5] = -oracle::kInf;
  usual[6] = -1e9F;
  test::for_each_table([&](const Loops& table) {
    for (bool logarithm : {false, true}) {
      for (size_t n : kLengths) {
        const std::vector<float> x(usual.begin(), usual.begin() + static_cast<std::ptrdiff_t>(n));
        std::vector<float> y(n);
        (logarithm ? table.log_softmax_f32 : table.softmax_f32)(x.data(), y.data(), n);
        test::expect_same(
            y, test::fuses(table) ? oracle::softmax<true>(logarithm, x) : oracle::softmax<false>(logarithm, x));
        if (n == 0) continue;
        constexpr size_t kStride = 40;
        const size_t columns = n % 37 + 1;
        std::vector<float> sheet = test::uniform_floats(n * kStride, 9), turned(sheet.size()), expected(sheet.size());
        table.softmax_columns_f32(logarithm, sheet.data(), turned.data(), kStride, n, columns);
        for (size_t c = 0; c < columns; ++c) {
          std::vector<float> column(n);
          for (size_t r = 0; r < n; ++r) column[r] = sheet[r * kStride + c];
          column = test::fuses(table) ? oracle::softmax_column<true>(logarithm, column)
                                      : oracle::softmax_column<false>(logarithm, column);
          for (size_t r = 0; r < n; ++r) expected[r * kStride + c] = column[r];
        }
        test::expect_same(turned, expected);
      }
    }
  });
}

TEST(SimdRows, SoftmaxOfInfinitiesAndNan) {
  const Loops& table = simd::loops(simd::best_isa());
  for (const std::vector<float>& x : {std::vector<float>(5, -oracle::kInf), std::vector<float>{1, std::nanf(""), 2},
                                      std::vector<float>{1, oracle::kInf, 2}}) {
    std::vector<float> y(x.size());
    table.softmax_f32(x.data(), y.data(), x.size());
    EXPECT_TRUE(std::isnan(y[1]));
  }
}

template <bool fused>
std::vector<float> normalize(const simd::NormalizeRow& row, size_t n, float* stats) {
  std::vector<float> t(row.x, row.x + n), y(n);
  if (row.residual)
    for (size_t i = 0; i < n; ++i) t[i] += row.residual[i];
  const float count = static_cast<float>(n);
  const float mean = row.centred ? oracle::fold(t.data(), n, 0.0F, oracle::add, oracle::add) / count : 0.0F;
  const float variance =
      oracle::fold(
          t.data(), n, 0.0F, [&](float a, float v) { return oracle::madd<fused>(v - mean, v - mean, a); },
          oracle::add) /
      count;
  const float inv_std = 1.0F / std::sqrt(variance + row.epsilon);
  for (size_t i = 0; i < n; ++i) {
    const float away = (row.centred ? t[i] - mean : t[i]) * inv_std;
    y[i] = row.scale && row.offset ? oracle::madd<fused>(away, row.scale[i], row.offset[i])
           : row.scale             ? away * row.scale[i]
           : row.offset            ? away + row.offset[i]
                                   : away;
  }
  stats[0] = mean;
  stats[1] = inv_std;
  return y;
}

TEST(SimdRows, NormalizeEqualsItsOracle) {
  const std::vector<float> x = test::uniform_floats(400, 3, 1), residual = test::uniform_floats(400, 3, 2),
                           scale = test::uniform_floats(400, 3, 3), offset = test::uniform_floats(400, 3, 4);
  test::for_each_table([&](const Loops& table) {
    for (int ports = 0; ports < 16; ++ports) {
      for (size_t n : kLengths) {
        if (n == 0) continue;
        std::vector<float> y(n), sum(n), stats(2), expected_stats(2);
        simd::NormalizeRow row = {.x = x.data(), .y = y.data(), .stats = stats.data(), .epsilon = 1e-5F};
        if (ports & 1) row.residual = residual.data();
        if (ports & 2) row.scale = scale.data();
        if (ports & 4) row.offset = offset.data();
        row.centred = ports & 8;
        if (n % 2) row.sum = sum.data();
        table.normalize_f32(row, n);
        test::expect_same(y, test::fuses(table) ? normalize<true>(row, n, expected_stats.data())
                                                : normalize<false>(row, n, expected_stats.data()));
        test::expect_same(stats, expected_stats);
        if (row.sum && row.residual) {
          EXPECT_EQ(sum[n - 1], x[n - 1] + residual[n - 1]);
        }
      }
    }
  });
}

TEST(SimdRows, FindFirst) {
  std::vector<float> x = test::uniform_floats(100);
  x[40] = x[77] = 5;
  x[90] = std::nanf("");
  test::for_each_table([&](const Loops& table) {
    EXPECT_EQ(table.find_f32(x.data(), 100, 5), 40U);
    EXPECT_EQ(table.find_f32(x.data(), 100, std::nanf("")), 90U);
    EXPECT_EQ(table.find_f32(x.data(), 100, 6), 100U);
    EXPECT_EQ(table.find_f32(x.data(), 41, 5), 40U);
    EXPECT_EQ(table.find_f32(x.data(), 40, 5), 40U);
  });
}

}  // namespace
}  // namespace nnex
