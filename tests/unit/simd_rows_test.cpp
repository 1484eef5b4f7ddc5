#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "oracle_rows.h"
#include "simd_test.h"

namespace nnex::kernels {
namespace {

using simd::Loops;

constexpr size_t kRowLengths[] = {0, 1, 2, 7, 15, 16, 17, 31, 33, 64, 100, 333};

TEST(SimdRows, ReduceEqualsItsOracle) {
  const std::vector<float> special = test::test_floats(400), usual = test::uniform_floats(400, 2);
  test::for_each_table([&](const Loops& table) {
    for (int k = 0; k < static_cast<int>(ReduceKind::count); ++k) {
      const ReduceKind kind = static_cast<ReduceKind>(k);
      for (const std::vector<float>& x : {special, usual}) {
        for (size_t n : kRowLengths) {
          const float expected =
              test::fuses(table) ? oracle::reduce<true>(kind, x.data(), n) : oracle::reduce<false>(kind, x.data(), n);
          ASSERT_TRUE(test::same_bits(table.reduce_f32(kind, x.data(), n), expected)) << k << " " << n;
        }
      }
    }
    for (size_t n : kRowLengths) {
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
  const std::vector<float> wild = test::test_floats(kStride * 300);
  std::vector<float> numbers = test::uniform_floats(wild.size());
  for (size_t i = 0; i < numbers.size(); ++i)
    if (i % 5 < 2) numbers[i] = i % 3 ? 0.0F : -0.0F;
  test::for_each_table([&](const Loops& table) {
    for (const std::vector<float>& x : {wild, numbers})
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

/// Elements of a row, and the loops of their type.
template <class T>
struct Typed {
  std::vector<T> x;
  simd::ReduceRow<T>* Loops::*row;
  simd::ReduceColumns<T>* Loops::*columns;
};

/// Sums of whole numbers wrap; extremes of either are those of the standard library.
template <class T>
T plain_fold(ReduceKind kind, const T* x, size_t stride, size_t n) {
  constexpr auto kEnds = std::numeric_limits<T>();
  T sum = 0, top = kEnds.min(), bottom = kEnds.max();
  for (size_t i = 0; i < n; ++i) {
    const T v = x[i * stride];
    sum = static_cast<T>(static_cast<std::make_unsigned_t<T>>(sum) + static_cast<std::make_unsigned_t<T>>(v));
    top = std::max(top, v), bottom = std::min(bottom, v);
  }
  return kind == ReduceKind::max ? top : kind == ReduceKind::min ? bottom : sum;
}

template <class T>
void expect_plain(const Typed<T>& typed) {
  constexpr size_t kStride = 75;
  test::for_each_table([&](const Loops& table) {
    for (ReduceKind kind : {ReduceKind::sum, ReduceKind::max, ReduceKind::min}) {
      if (sizeof(T) == 1 && kind == ReduceKind::sum) continue;
      for (size_t n : {0, 1, 2, 7, 15, 16, 17, 63, 64, 65, 100, 255, 256, 257, 333, 1000})
        EXPECT_EQ((table.*typed.row)(kind, typed.x.data() + 1, n), plain_fold(kind, typed.x.data() + 1, 1, n)) << n;
      for (size_t rows : {0, 1, 3, 13}) {
        std::vector<T> y(kStride);
        (table.*typed.columns)(kind, typed.x.data(), kStride, rows, y.data(), 71);
        for (size_t c = 0; c < 71; ++c) EXPECT_EQ(y[c], plain_fold(kind, typed.x.data() + c, kStride, rows)) << c;
        for (size_t c = 71; c < kStride; ++c) EXPECT_EQ(y[c], 0);  // nothing behind the columns is written
      }
    }
  });
}

template <class T>
std::vector<T> whole_numbers() {
  std::vector<T> x(1100);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>((i + 1) * 0x9E3779B97F4A7C15U >> 3);
  return x;
}

TEST(SimdRows, ReduceWholeNumbers) {
  expect_plain<int32_t>({whole_numbers<int32_t>(), &Loops::reduce_i32, &Loops::reduce_columns_i32});
  expect_plain<int64_t>({whole_numbers<int64_t>(), &Loops::reduce_i64, &Loops::reduce_columns_i64});
  expect_plain<uint8_t>({whole_numbers<uint8_t>(), &Loops::reduce_u8, &Loops::reduce_columns_u8});
  expect_plain<int8_t>({whole_numbers<int8_t>(), &Loops::reduce_i8, &Loops::reduce_columns_i8});
}

/// 16 partials and one tree, as for floats, but every product is rounded.
double double_fold(ReduceKind kind, const double* x, size_t n) {
  const bool product = kind == ReduceKind::product, square = kind == ReduceKind::l2 || kind == ReduceKind::sum_squares;
  double p[16];
  std::fill_n(p, 16, product ? 1.0 : 0.0);
  for (size_t i = 0; i < n; ++i) {
    const double v = kind == ReduceKind::sum_abs ? std::fabs(x[i]) : square ? x[i] * x[i] : x[i];
    p[i % 16] = product ? p[i % 16] * v : p[i % 16] + v;
  }
  for (size_t far : {8, 4, 2, 1})
    for (size_t j = 0; j < far; ++j) p[j] = product ? p[j] * p[j + far] : p[j] + p[j + far];
  return p[0];
}

TEST(SimdRows, ReduceDoubles) {
  std::vector<double> x(400);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i)) * 1.5;
  test::for_each_table([&](const Loops& table) {
    for (size_t n : kRowLengths) {
      for (ReduceKind kind : {ReduceKind::sum, ReduceKind::mean, ReduceKind::product, ReduceKind::sum_squares,
                              ReduceKind::sum_abs, ReduceKind::l2})
        EXPECT_EQ(table.reduce_f64(kind, x.data(), n), double_fold(kind, x.data(), n)) << n;
      const auto end = x.begin() + static_cast<std::ptrdiff_t>(n);
      const double inf = HUGE_VAL;
      EXPECT_EQ(table.reduce_f64(ReduceKind::max, x.data(), n), n ? *std::max_element(x.begin(), end) : -inf);
      EXPECT_EQ(table.reduce_f64(ReduceKind::min, x.data(), n), n ? *std::min_element(x.begin(), end) : inf);
      for (size_t at = 0; at < n; at += 11) {  // a NaN wins wherever it stands
        std::vector<double> with_nan(x.begin(), end);
        with_nan[at] = std::nan("");
        EXPECT_TRUE(std::isnan(table.reduce_f64(ReduceKind::max, with_nan.data(), n)));
        EXPECT_TRUE(std::isnan(table.reduce_f64(ReduceKind::min, with_nan.data(), n)));
      }
    }
    std::vector<double> y(20), twice(20);
    table.reduce_columns_f64(ReduceKind::sum, x.data(), 20, 20, y.data(), 19);
    table.reduce_columns_f64(ReduceKind::max, x.data(), 20, 20, twice.data(), 19);
    for (size_t c = 0; c < 19; ++c) {
      double sum = 0, top = -HUGE_VAL;
      for (size_t r = 0; r < 20; ++r) sum += x[r * 20 + c], top = std::max(top, x[r * 20 + c]);
      EXPECT_EQ(y[c], sum);
      EXPECT_EQ(twice[c], top);
    }
  });
}

TEST(SimdRows, SoftmaxEqualsItsOracle) {
  std::vector<float> usual = test::uniform_floats(333, 20);
  usual[5] = -oracle::kInf;
  usual[6] = -1e9F;
  test::for_each_table([&](const Loops& table) {
    for (bool logarithm : {false, true}) {
      for (size_t n : kRowLengths) {
        const std::vector<float> x(usual.begin(), usual.begin() + static_cast<std::ptrdiff_t>(n));
        std::vector<float> y(n);
        const auto softmax = logarithm ? table.log_softmax_f32 : table.softmax_f32;
        softmax(x.data(), y.data(), n, 1);
        test::expect_same(
            y, test::fuses(table) ? oracle::softmax<true>(logarithm, x) : oracle::softmax<false>(logarithm, x));
        if (n == 0) continue;
        constexpr size_t kRows = 21;
        const std::vector<float> many = test::uniform_floats(n * kRows, 20);
        std::vector<float> together(many.size()), alone(many.size());
        softmax(many.data(), together.data(), n, kRows);
        for (size_t r = 0; r < kRows; ++r) softmax(many.data() + r * n, alone.data() + r * n, n, 1);
        test::expect_same(together, alone);
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

TEST(SimdRows, LogSumExpEqualsItsOracle) {
  std::vector<float> usual = test::uniform_floats(333, 20);
  usual[5] = -oracle::kInf;
  usual[6] = -1e9F;
  test::for_each_table([&](const Loops& table) {
    for (size_t n : kRowLengths) {
      if (n == 0) continue;
      const std::vector<float> x(usual.begin(), usual.begin() + static_cast<std::ptrdiff_t>(n));
      const float expected = test::fuses(table) ? oracle::log_sum_exp<true>(x) : oracle::log_sum_exp<false>(x);
      ASSERT_TRUE(test::same_bits(table.log_sum_exp_f32(x.data(), n), expected)) << n;
    }
    const auto of = [&](std::vector<float> x) { return table.log_sum_exp_f32(x.data(), x.size()); };
    const float nan = std::nanf("");
    EXPECT_EQ(of({-oracle::kInf, -oracle::kInf}), -oracle::kInf);
    EXPECT_EQ(of({1, oracle::kInf, 2}), oracle::kInf);
    EXPECT_TRUE(std::isnan(of({1, nan, 2})));
    EXPECT_TRUE(std::isnan(of({nan, oracle::kInf})));
    EXPECT_TRUE(std::isnan(of({oracle::kInf, 1, nan})));
    EXPECT_TRUE(std::isnan(of({-oracle::kInf, nan})));
  });
}

TEST(SimdRows, DotRowsAreChains) {
  constexpr size_t kStride = 41;
  const std::vector<float> a = test::uniform_floats(kStride * 100, 2), b = test::uniform_floats(kStride, 2, 3);
  test::for_each_table([&](const Loops& table) {
    for (size_t rows : {0, 1, 3, 4, 7, 16, 31, 33, 64, 100})
      for (size_t k : {0, 1, 3, 4, 5, 8, 39}) {
        std::vector<float> y(rows + 1, 7.0F), expected = y;
        for (size_t r = 0; r < rows; ++r) {
          expected[r] = 0;
          for (size_t i = 0; i < k; ++i)
            expected[r] = test::fuses(table) ? oracle::madd<true>(a[r * kStride + i], b[i], expected[r])
                                             : oracle::madd<false>(a[r * kStride + i], b[i], expected[r]);
        }
        table.dot_rows_f32(a.data(), kStride, b.data(), y.data(), rows, k);
        test::expect_same(y, expected);  // and nothing behind the rows is written
      }
  });
}

TEST(SimdRows, SoftmaxOfInfinitiesAndNan) {
  const Loops& table = simd::loops(simd::best_isa());
  for (const std::vector<float>& x : {std::vector<float>(5, -oracle::kInf), std::vector<float>{1, std::nanf(""), 2},
                                      std::vector<float>{1, oracle::kInf, 2}}) {
    std::vector<float> y(x.size());
    table.softmax_f32(x.data(), y.data(), x.size(), 1);
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
      for (size_t n : kRowLengths) {
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

TEST(SimdRows, ExtremesAreThoseOfTheStandardLibrary) {
  for (size_t n : {0, 1, 3, 15, 16, 17, 64, 65, 300}) {
    const std::vector<float> x = test::uniform_floats(n);
    std::vector<float> with_nan = x;
    if (n > 0) with_nan[n - 1] = std::nanf("");
    float low = INFINITY, high = -INFINITY;
    for (float v : x) low = std::min(low, v), high = std::max(high, v);
    test::for_each_table([&](const Loops& table) {
      float least = 7, greatest = 7;
      table.extremes_f32(x.data(), n, &least, &greatest);
      EXPECT_EQ(least, low);
      EXPECT_EQ(greatest, high);
      table.extremes_f32(with_nan.data(), n, &least, &greatest);
      EXPECT_EQ(std::isnan(least), n > 0);
      EXPECT_EQ(std::isnan(greatest), n > 0);
    });
  }
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
}  // namespace nnex::kernels
