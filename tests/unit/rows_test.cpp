#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/normalize/normalize.h"
#include "kernels/normalize/softmax.h"
#include "kernels/reduce/reduce.h"
#include "simd_test.h"

namespace nnex::kernels {
namespace {

using Shape = std::vector<int64_t>;

void expect_near(const std::vector<float>& found, const std::vector<double>& expected, double bound) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], bound * (1 + std::fabs(expected[i]))) << "at " << i;
}

const struct {
  const char* name;
  Shape shape, axes;
} reduce_rows[] = {
    {"all", {3, 4, 5}, {0, 1, 2}},
    {"last", {30, 40}, {1}},
    {"first", {300, 40}, {0}},
    {"middle", {3, 20, 7}, {1}},
    {"channels of an image", {2, 5, 6, 7}, {0, 2, 3}},
    {"alternating", {2, 3, 4, 5, 6}, {0, 2, 4}},
    {"ones beside", {1, 7, 1, 5, 1}, {1, 2}},
    {"nothing folds", {3, 1, 4}, {1}},
    {"no axes", {3, 4}, {}},
    {"long", {2, 200000}, {1}},
    {"long and whole", {300000}, {0}},
    {"empty axis", {3, 0, 2}, {1}},
};

TEST(AxisFold, EqualsPlainSums) {
  const simd::Loops& loops = simd::loops(simd::best_isa());
  for (const auto& row : reduce_rows) {
    SCOPED_TRACE(row.name);
    const int64_t n = std::accumulate(row.shape.begin(), row.shape.end(), int64_t{1}, std::multiplies<int64_t>());
    const std::vector<float> x = test::uniform_floats(static_cast<size_t>(n));
    int64_t kept = 1;
    for (size_t axis = 0; axis < row.shape.size(); ++axis)
      if (std::find(row.axes.begin(), row.axes.end(), static_cast<int64_t>(axis)) == row.axes.end())
        kept *= row.shape[axis];
    for (ReduceKind kind : {ReduceKind::sum, ReduceKind::mean, ReduceKind::max, ReduceKind::l2}) {
      std::vector<double> expected(static_cast<size_t>(kept), kind == ReduceKind::max ? -INFINITY : 0.0);
      for (int64_t i = 0; i < n; ++i) {
        int64_t rest = i, to = 0, step = 1;
        for (size_t axis = row.shape.size(); axis-- > 0;) {
          const int64_t index = rest % row.shape[axis];
          rest /= row.shape[axis];
          if (std::find(row.axes.begin(), row.axes.end(), static_cast<int64_t>(axis)) != row.axes.end()) continue;
          to += index * step;
          step *= row.shape[axis];
        }
        double& e = expected[static_cast<size_t>(to)];
        const double v = x[static_cast<size_t>(i)];
        e = kind == ReduceKind::max ? std::fmax(e, v) : kind == ReduceKind::l2 ? e + v * v : e + v;
      }
      for (double& e : expected) {
        if (kind == ReduceKind::mean) e /= static_cast<double>(n) / static_cast<double>(kept);
        if (kind == ReduceKind::l2) e = std::sqrt(e);
      }
      const AxisFold reduction(kind, row.shape, row.axes);
      ASSERT_TRUE(reduction.ok());
      std::vector<float> alone(expected.size()), y(expected.size());
      std::vector<float> workspace(static_cast<size_t>(reduction.workspace(4) / 4));
      Team one(1), two(2);
      reduction.run(loops, one, x.data(), alone.data(), workspace.data());
      reduction.run(loops, two, x.data(), y.data(), workspace.data());
      test::expect_same(y, alone);
      if (n > 0 || kind != ReduceKind::mean) {
        if (n == 0 && kind == ReduceKind::max) {
          EXPECT_EQ(y[0], -INFINITY);
        } else {
          expect_near(y, expected, 1e-6 * (1 + std::sqrt(static_cast<double>(n / kept))));
        }
      }
    }
  }
}

TEST(ArgExtreme, FirstLastAndNan) {
  const simd::Loops& loops = simd::loops(simd::best_isa());
  Team team(2);
  const float nan = std::nanf("");
  const std::vector<float> x = {1, 5, 5, 2, 3, 3, 3, 3, 1, nan, 7, nan};  // [3, 4]
  std::vector<int64_t> y(3);
  arg_extreme(loops, team, true, false, x.data(), y.data(), 3, 4, 1);
  test::expect_same(y, {1, 0, 1});
  arg_extreme(loops, team, true, true, x.data(), y.data(), 3, 4, 1);
  test::expect_same(y, {2, 3, 1});
  arg_extreme(loops, team, false, false, x.data(), y.data(), 3, 4, 1);
  test::expect_same(y, {0, 0, 1});
  std::vector<int64_t> columns(4);
  arg_extreme(loops, team, true, false, x.data(), columns.data(), 1, 3, 4);
  test::expect_same(columns, {1, 2, 2, 2});
  const std::vector<float> ties = {2, 2, 2, 1, 2, 3};  // [3, 2]
  columns.resize(2);
  arg_extreme(loops, team, true, true, ties.data(), columns.data(), 1, 3, 2);
  test::expect_same(columns, {2, 2});
}

TEST(Softmax, RowsAndMiddleAxisWhateverTheTeam) {
  const simd::Loops& loops = simd::loops(simd::best_isa());
  const struct { int outer, n, inner; } shapes[] = {{3000, 50, 1}, {20, 30, 100}, {2, 1, 1}, {1, 9, 3}};
  for (const auto& shape : shapes) {
    const int outer = shape.outer, n = shape.n, inner = shape.inner;
    const std::vector<float> x = test::uniform_floats(static_cast<size_t>(outer * n * inner), 9);
    for (bool logarithm : {false, true}) {
      std::vector<float> alone(x.size()), y = x;
      Team one(1), two(2);
      softmax(loops, one, logarithm, x.data(), alone.data(), outer, n, inner);
      softmax(loops, two, logarithm, y.data(), y.data(), outer, n, inner);
      test::expect_same(y, alone);
      std::vector<double> expected(x.size());
      for (int o = 0; o < outer; ++o) {
        for (int i = 0; i < inner; ++i) {
          double sum = 0;
          const auto at = [&](int k) { return static_cast<size_t>((o * n + k) * inner + i); };
          for (int k = 0; k < n; ++k) sum += std::exp(static_cast<double>(x[at(k)]));
          for (int k = 0; k < n; ++k)
            expected[at(k)] = logarithm ? x[at(k)] - std::log(sum) : std::exp(static_cast<double>(x[at(k)])) / sum;
        }
      }
      expect_near(y, expected, 2e-6);
    }
  }
}

/// x factor - mean factor would keep nothing of it: the mean is as many deviations from 0 as floats have numbers.
TEST(Normalize, GroupsFarFromZero) {
  const simd::Loops& loops = simd::loops(simd::best_isa());
  Team team(1);
  const float scale = 26528, offset = -2.25F;
  for (const float far : {-1.27F, 5.43F, 1000.7F}) {
    const std::vector<float> x(5000, far);
    std::vector<float> y(x.size());
    normalize_groups(loops, team, x.data(), &scale, &offset, y.data(), 5000, 1, 1, 1, 1e-6F);
    EXPECT_EQ(y, std::vector<float>(x.size(), offset)) << far;
  }
}

TEST(Normalize, RowsGroupsAndLocalResponse) {
  const simd::Loops& loops = simd::loops(simd::best_isa());
  Team team(2);
  const int64_t batch = 3, channels = 8, inner = 50, groups = 2, n = channels / groups * inner;
  const std::vector<float> x = test::uniform_floats(static_cast<size_t>(batch * channels * inner), 2);
  const std::vector<float> scale = test::uniform_floats(8, 2, 5), offset = test::uniform_floats(8, 2, 6);
  std::vector<float> y(x.size()), rows(x.size()), mean(6), inv_std(6);
  normalize_groups(loops, team, x.data(), scale.data(), offset.data(), y.data(), batch, channels, inner, groups, 1e-3F);
  normalize_rows(loops, team,
                 {.x = x.data(), .y = rows.data(), .mean = mean.data(), .inv_std = inv_std.data(), .epsilon = 1e-3F}, 6,
                 n);
  std::vector<double> expected(x.size()), expected_rows(x.size());
  for (size_t row = 0; row < 6; ++row) {
    double m = 0, v = 0;
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) m += x[row * n + i] / static_cast<double>(n);
    for (size_t i = 0; i < static_cast<size_t>(n); ++i)
      v += (x[row * n + i] - m) * (x[row * n + i] - m) / static_cast<double>(n);
    EXPECT_NEAR(mean[row], m, 1e-6);
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      const size_t c = row % 2 * 4 + i / 50;
      expected_rows[row * n + i] = (x[row * n + i] - m) / std::sqrt(v + 1e-3);
      expected[row * n + i] = expected_rows[row * n + i] * scale[c] + offset[c];
    }
  }
  expect_near(rows, expected_rows, 2e-6);
  expect_near(y, expected, 3e-6);

  for (float beta : {0.75F, 0.5F, 0.6F}) {
    const LocalResponse what = {.factor = 0.1F, .beta = beta, .bias = 2, .before = 2, .after = 3};
    const int64_t pixels = 2, wide = 600;
    std::vector<float> z(1200);
    std::vector<double> expected_z(1200);
    local_response(loops, team, what, x.data(), z.data(), pixels, wide);
    for (int64_t p = 0; p < pixels; ++p) {
      for (int64_t c = 0; c < wide; ++c) {
        double sum = 0;
        for (int64_t k = std::max<int64_t>(0, c - 2); k <= std::min(wide - 1, c + 3); ++k)
          sum += static_cast<double>(x[static_cast<size_t>(p * wide + k)]) * x[static_cast<size_t>(p * wide + k)];
        const size_t i = static_cast<size_t>(p * wide + c);
        expected_z[i] = x[i] / std::pow(2 + 0.1 * sum, static_cast<double>(beta));
      }
    }
    expect_near(z, expected_z, 2e-6);
  }
}

}  // namespace
}  // namespace nnex::kernels
