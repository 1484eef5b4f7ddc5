#include "kernels/pool/pool.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <utility>

#include "kernels/convert/convert.h"
#include "kernels/pool/planes.h"
#include "kernels/resize/resize.h"
#include "oracle_math.h"
#include "simd_test.h"

namespace nnex::kernels {
namespace {

using simd::Loops;

TEST(SimdTaps, EqualTheirOracles) {
  const std::vector<float> x = test::test_floats(2000), weights = test::uniform_floats(9);
  test::for_each_table([&](const Loops& table) {
    for (size_t n : {0, 1, 7, 16, 65, 150}) {
      for (size_t count : {1, 2, 9}) {
        const float* taps[9];
        for (size_t t = 0; t < count; ++t) taps[t] = x.data() + 170 * t;
        for (int form = 0; form < 4; ++form) {
          const bool maximum = form & 1;
          std::vector<float> y = test::uniform_floats(n, 2, 3), expected = y;
          const float* start = form & 2 ? y.data() : nullptr;
          for (size_t c = 0; c < n; ++c) {
            float sum = start ? y[c] : taps[0][c];
            for (size_t t = start ? 0 : 1; t < count; ++t)
              sum = maximum ? oracle::maximum(taps[t][c], sum) : sum + taps[t][c];
            expected[c] = sum / 3.0F;
          }
          table.fold_taps_f32(maximum, taps, count, start, 3.0F, y.data(), n, 1, 0);
          test::expect_same(y, expected);
          if (start) continue;
          constexpr size_t kPixels = 4, kStep = 5;  // 150 + 3 * 5 of the 170 between taps
          std::vector<float> several(kPixels * n), one_by_one(kPixels * n);
          for (size_t p = 0; p < kPixels; ++p) {
            const float* here[9];
            for (size_t t = 0; t < count; ++t) here[t] = taps[t] + p * kStep;
            table.fold_taps_f32(maximum, here, count, nullptr, 3.0F, one_by_one.data() + p * n, n, 1, 0);
          }
          table.fold_taps_f32(maximum, taps, count, nullptr, 3.0F, several.data(), n, kPixels, kStep);
          test::expect_same(several, one_by_one);
        }
        std::vector<float> y(n), expected(n);
        for (size_t c = 0; c < n; ++c) {
          expected[c] = taps[0][c] * weights[0];
          for (size_t t = 1; t < count; ++t)
            expected[c] = test::fuses(table) ? oracle::madd<true>(taps[t][c], weights[t], expected[c])
                                             : oracle::madd<false>(taps[t][c], weights[t], expected[c]);
        }
        table.weigh_taps_f32(taps, weights.data(), count, y.data(), n);
        test::expect_same(y, expected);
      }
    }
  });
}

float pooled(const simd::PoolLines& p, const float* x) {
  float kept = x[0];
  for (size_t r = 0; r < p.rows; ++r)
    for (size_t t = 0; t < p.taps; ++t) {
      const float next = x[r * p.row_step + (p.phase ? t % 2 * p.phase + t / 2 : t * p.dilation)];
      if (r + t > 0) kept = p.maximum ? oracle::maximum(next, kept) : kept + next;
    }
  return p.maximum ? kept : kept / p.divisor;
}

TEST(SimdPoolLines, EqualTheirOracle) {
  const std::vector<float> x = test::test_floats(4000);
  test::for_each_table([&](const Loops& table) {
    for (size_t n : {1, 2, 3, 7, 15, 16, 17, 40})
      for (size_t stride : {1, 2, 3, 7})
        for (size_t taps : {1, 2, 3, 4, 5})
          for (size_t rows : {1, 3})
            for (bool maximum : {false, true})
              for (auto [line_gap, plane_gap] : {std::pair<size_t, size_t>{1, 2}, {0, 2}, {0, 0}}) {
                if (stride == 2 && taps == 1) continue;
                simd::PoolLines p;
                p.maximum = maximum, p.divisor = 3, p.x = x.data() + 1, p.x_step = 211, p.row_step = 97;
                p.rows = rows, p.taps = taps, p.stride = stride, p.dilation = stride == 1 && taps > 3 ? 2 : 1;
                p.planes = 1 + n % 3, p.x_plane = 643, p.y_step = n + line_gap, p.lines = 3, p.n = n;
                p.y_plane = p.lines * p.y_step + plane_gap;
                std::vector<float> y(p.planes * p.y_plane + 16, 7.0F), expected = y;
                p.y = y.data();
                for (size_t plane = 0; plane < p.planes; ++plane)
                  for (size_t line = 0; line < p.lines; ++line)
                    for (size_t o = 0; o < n; ++o)
                      expected[plane * p.y_plane + line * p.y_step + o] =
                          pooled(p, p.x + plane * p.x_plane + line * p.x_step + o * stride);
                table.pool_lines_f32(p);
                test::expect_same(y, expected);  // and nothing behind a line is written
              }
  });
}

TEST(SimdPoolLines, PhasesAndLinesTogetherEqualTheirOracle) {
  const std::vector<float> with_nan = test::test_floats(4000), numbers = test::uniform_floats(4000);
  test::for_each_table([&](const Loops& table) {
    for (const auto* x : {&with_nan, &numbers})
      for (size_t n : {1, 15, 16, 17, 40})
        for (size_t taps : {1, 2, 3, 5})
          for (size_t rows : {1, 2, 3, 4, 5, 7})
            for (bool maximum : {false, true}) {
              simd::PoolLines p;
              p.maximum = maximum, p.divisor = 3, p.x = x->data() + 1, p.x_step = p.row_step = 101;
              p.rows = rows, p.taps = taps, p.phase = taps > 1 ? 50 : 0;
              std::vector<float> y(11 * (n + 1), 7.0F), expected = y;
              p.y = y.data(), p.y_step = n + 1, p.lines = 11, p.n = n;
              for (size_t line = 0; line < p.lines; ++line)
                for (size_t o = 0; o < n; ++o) expected[line * (n + 1) + o] = pooled(p, p.x + line * p.x_step + o);
              table.pool_lines_f32(p);
              test::expect_same(y, expected);
            }
  });
}

TEST(SimdMaxRows, EqualTheirOracleAndTellWhatIsNotPlain) {
  const std::vector<float> plain = test::uniform_floats(2000);
  test::for_each_table([&](const Loops& table) {
    for (size_t n : {1, 7, 15, 16, 17, 40})
      for (size_t rows : {1, 3, 4, 6})
        for (size_t x_step : {50, 150})
          for (float odd : {1.0F, -0.0F, std::nanf("")}) {
            simd::PoolLines p;
            p.maximum = true, p.x_step = x_step, p.row_step = 50, p.rows = rows, p.n = n, p.lines = 5;
            p.planes = 2, p.x_plane = 903, p.y_step = n + 1, p.y_plane = 5 * (n + 1) + 2;
            std::vector<float> x = plain, y(2 * p.y_plane, 7.0F), expected = y;
            for (size_t r = 0; r < rows; ++r) x[p.x_plane + 2 * x_step + 50 * r + n / 2] = -1;
            x[p.x_plane + 2 * x_step + 50 * (rows - 1) + n / 2] = odd;
            p.x = x.data(), p.y = y.data();
            for (size_t plane = 0; plane < 2; ++plane)
              for (size_t line = 0; line < 5; ++line)
                for (size_t o = 0; o < n; ++o)
                  expected[plane * p.y_plane + line * (n + 1) + o] =
                      pooled(p, p.x + plane * p.x_plane + line * x_step + o);
            ASSERT_EQ(table.max_rows_f32(p), odd == 1.0F);
            if (odd == 1.0F) test::expect_same(y, expected);
          }
  });
}

/// One output element by the definition.
struct Plain {
  float maximum = -INFINITY;
  float sum = 0;
  int64_t inside = 0, padded = 0;
};
Plain plain_window(const PoolWindow& w, const std::vector<float>& x, int64_t b, const int64_t (&o)[3], int64_t c) {
  Plain p;
  for (int64_t i = 0; i < w.size[0]; ++i) {
    for (int64_t j = 0; j < w.size[1]; ++j) {
      for (int64_t k = 0; k < w.size[2]; ++k) {
        const int64_t tap[3] = {i, j, k};
        bool in = true, near = true;
        int64_t at = b;
        for (int a = 0; a < 3; ++a) {
          const int64_t p0 = o[a] * w.stride[a] - w.before[a] + tap[a] * w.dilation[a];
          in = in && p0 >= 0 && p0 < w.in[a];
          near = near && p0 >= -w.before[a] && p0 < w.in[a] + w.after[a];
          at = at * w.in[a] + p0;
        }
        p.padded += near;
        if (!in) continue;
        const float v = x[static_cast<size_t>(at * w.channels + c)];
        p.maximum = p.inside == 0 || v > p.maximum || v != v ? v : p.maximum;
        p.sum = p.inside == 0 ? v : p.sum + v;
        ++p.inside;
      }
    }
  }
  return p;
}

/// [batch, pixels, channels] as [batch, channels, pixels].
std::vector<float> channels_first(const PoolWindow& w, const std::vector<float>& x) {
  const size_t channels = static_cast<size_t>(w.channels), batch = static_cast<size_t>(w.batch);
  const size_t pixels = x.size() / channels / batch;
  std::vector<float> y(x.size());
  for (size_t b = 0; b < batch; ++b)
    for (size_t p = 0; p < pixels; ++p)
      for (size_t c = 0; c < channels; ++c) y[(b * channels + c) * pixels + p] = x[(b * pixels + p) * channels + c];
  return y;
}

/// What planes give where they lie is what channels give side by side, byte for byte.
void expect_same_by_planes(const Loops& loops, Team& team, const PoolWindow& w, int form, const std::vector<float>& x,
                           const std::vector<float>& expected) {
  const PoolPlanes planes(loops, w, form == 0);
  if (!planes.fit() || form == 1) return;
  std::vector<std::byte> workspace(static_cast<size_t>(planes.workspace(team.size())));
  std::vector<float> y(expected.size());
  const std::vector<float> from = channels_first(w, x);
  if (form == 0) {
    planes.max(loops, team, from.data(), y.data(), workspace.data());
  } else {
    planes.average(loops, team, static_cast<PoolDivisor>(form - 2), from.data(), y.data(), workspace.data());
  }
  test::expect_same(y, channels_first(w, expected));
}

TEST(Pool, EqualsPlainWindows) {
  const PoolWindow windows[] = {
      {.batch = 2,
       .channels = 5,
       .in = {1, 9, 8},
       .out = {1, 4, 4},
       .size = {1, 3, 3},
       .stride = {1, 2, 2},
       .before = {0, 0, 1},
       .after = {0, 0, 0}},
      {.batch = 1,
       .channels = 70,
       .in = {1, 7, 7},
       .out = {1, 7, 7},
       .size = {1, 3, 3},
       .before = {0, 1, 1},
       .after = {0, 1, 1}},
      {.batch = 1,
       .channels = 3,
       .in = {4, 5, 6},
       .out = {2, 3, 3},
       .size = {2, 3, 2},
       .stride = {2, 1, 2},
       .dilation = {1, 1, 1}},
      {.batch = 1,
       .channels = 2,
       .in = {1, 1, 20},
       .out = {1, 1, 9},
       .size = {1, 1, 4},
       .stride = {1, 1, 3},
       .dilation = {1, 1, 2},
       .before = {0, 0, 6},
       .after = {0, 0, 7}},
      {.batch = 1, .channels = 17, .in = {1, 14, 14}, .out = {1, 1, 1}, .size = {1, 14, 14}},
      {.batch = 2, .channels = 3, .in = {1, 14, 15}, .out = {1, 2, 2}, .size = {1, 7, 7}, .stride = {1, 7, 7}},
      {.batch = 1, .channels = 3, .in = {1, 30, 40}, .out = {1, 5, 8}, .size = {1, 6, 5}, .stride = {1, 6, 5}},
      {.batch = 1, .channels = 2, .in = {1, 13, 33}, .out = {1, 6, 16}, .size = {1, 3, 3}, .stride = {1, 2, 2}},
      {.batch = 1,
       .channels = 3,
       .in = {1, 20, 21},
       .out = {1, 20, 21},
       .size = {1, 13, 13},
       .before = {0, 6, 6},
       .after = {0, 6, 6}},
      {.batch = 1,
       .channels = 2,
       .in = {1, 25, 41},
       .out = {1, 11, 19},
       .size = {1, 5, 6},
       .stride = {1, 2, 2},
       .before = {0, 1, 1},
       .after = {0, 1, 1}},
      {.batch = 1,
       .channels = 2,
       .in = {1, 12, 24},
       .out = {1, 2, 8},
       .size = {1, 4, 5},
       .stride = {1, 4, 2},
       .dilation = {1, 2, 2}},
      {.batch = 2,
       .channels = 3,
       .in = {5, 6, 7},
       .out = {4, 6, 4},
       .size = {3, 3, 3},
       .stride = {2, 1, 2},
       .before = {3, 1, 1},
       .after = {4, 1, 1}},
      {.batch = 1,
       .channels = 11,
       .in = {1, 20, 20},
       .out = {1, 20, 20},
       .size = {1, 5, 5},
       .before = {0, 2, 2},
       .after = {0, 2, 2}},
      {.batch = 2, .channels = 9, .in = {1, 13, 13}, .out = {1, 6, 6}, .size = {1, 3, 3}, .stride = {1, 2, 2}},
      {.batch = 1,
       .channels = 1,
       .in = {1, 120, 110},
       .out = {1, 61, 56},
       .size = {1, 3, 3},
       .stride = {1, 2, 2},
       .before = {0, 2, 1},
       .after = {0, 2, 1}},
      {.batch = 1, .channels = 2, .in = {6, 9, 10}, .out = {2, 3, 2}, .size = {3, 3, 4}, .stride = {3, 3, 4}},
      {.batch = 1,
       .channels = 2,
       .in = {1, 9, 9},
       .out = {1, 3, 2},
       .size = {1, 3, 4},
       .stride = {1, 2, 2},
       .before = {0, -1, -2},
       .after = {0, 0, -1}},
      {.batch = 3, .channels = 64, .in = {1, 40, 40}, .out = {1, 20, 20}, .size = {1, 2, 2}, .stride = {1, 2, 2}},
      {.batch = 1,
       .channels = 1,
       .in = {1, 1, 2},
       .out = {1, 1, 4},
       .size = {1, 1, 1},
       .stride = {1, 1, 1},
       .before = {0, 0, 1},
       .after = {0, 0, 1}},
  };
  // Order matters to zeros of both signs and to NaN: of equal ones the first wins, of NaN the last.
  enum class Numbers { plain, zeros, not_a_number, in_one_channel };
  test::for_each_table([&](const Loops& loops) {
    for (size_t test = 0; test < 4 * std::size(windows); ++test) {
      const PoolWindow& w = windows[test / 4];
      const auto kind = static_cast<Numbers>(test % 4);
      std::vector<float> x =
          test::uniform_floats(static_cast<size_t>(w.batch * w.in[0] * w.in[1] * w.in[2] * w.channels));
      for (size_t i = 0; i < x.size(); ++i) {
        if (kind == Numbers::zeros) x[i] = i % 7 == 0 ? -1 : std::copysign(0.0F, x[i]);
        if (kind == Numbers::in_one_channel && i % static_cast<size_t>(w.channels) == 0) x[i] = std::nanf("");
        if (kind == Numbers::not_a_number && i % 17 == 3)
          x[i] = std::bit_cast<float>(0x7FC00000U + static_cast<uint32_t>(i));
      }
      const size_t n = static_cast<size_t>(w.batch * w.out[0] * w.out[1] * w.out[2] * w.channels);
      for (int threads : {1, 2}) {
        Team team(threads);
        for (int form = 0; form < (kind == Numbers::plain ? 6 : 1); ++form) {
          std::vector<float> y(n), expected(n);
          if (form < 2) {
            max_pool(loops, team, w, form == 1, x.data(), y.data());
          } else {
            average_pool(loops, team, w, static_cast<PoolDivisor>(form - 2), x.data(), y.data());
          }
          size_t at = 0;
          for (int64_t b = 0; b < w.batch; ++b)
            for (int64_t i = 0; i < w.out[0]; ++i)
              for (int64_t j = 0; j < w.out[1]; ++j)
                for (int64_t k = 0; k < w.out[2]; ++k)
                  for (int64_t c = 0; c < w.channels; ++c) {
                    const Plain p = plain_window(w, x, b, {i, j, k}, c);
                    const int64_t volume = w.size[0] * w.size[1] * w.size[2];
                    const int64_t by[] = {1, volume, p.padded, p.inside};
                    float& e = expected[at++];
                    if (form == 0) e = p.maximum;
                    if (form == 1) e = p.inside < volume ? std::fmax(p.maximum, 0.0F) : p.maximum;
                    if (form >= 2) e = p.inside ? p.sum / static_cast<float>(by[form - 2]) : 0.0F;
                  }
          test::expect_same(y, expected);
          expect_same_by_planes(loops, team, w, form, x, y);
        }
      }
    }
  });
}

TEST(Resize, BilinearAndNearest) {
  const Loops& loops = simd::loops(simd::best_isa());
  Team team(2);
  const int64_t channels = 19;
  const std::vector<float> x = test::uniform_floats(static_cast<size_t>(2 * 3 * 4 * channels));
  const int32_t line[] = {0, 0, 0, 1, 1, 2, 1, 2, 2, 2}, column[] = {0, 1, 2, 3, 3, 3},
                nearest_line[] = {0, 0, 1, 2, 2}, nearest_column[] = {3, 1, 0};
  const float line_weight[] = {1, 0, 0.5F, 0.5F, 0.25F, 0.75F, 0.5F, 0.5F, 1, 0},
              column_weight[] = {0.5F, 0.5F, 0.25F, 0.75F, 1, 0};
  const ResizeAxis linear[3] = {{}, {3, 5, 2, line, line_weight}, {4, 3, 2, column, column_weight}};
  const ResizeAxis nearest[3] = {{}, {3, 5, 1, nearest_line, nullptr}, {4, 3, 1, nearest_column, nullptr}};
  std::vector<float> y(static_cast<size_t>(2 * 5 * 3 * channels)), z(y.size()), expected_z(y.size());
  resize_channels_last(loops, team, linear, 2, channels, x.data(), y.data());
  resize_channels_last(loops, team, nearest, 2, channels, x.data(), z.data());
  size_t at = 0;
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t j = 0; j < 3; ++j)
        for (int64_t c = 0; c < channels; ++c, ++at) {
          const auto pixel = [&](int64_t r, int64_t k) {
            return x[static_cast<size_t>(((b * 3 + r) * 4 + k) * channels + c)];
          };
          double sum = 0;
          for (int64_t p = 0; p < 2; ++p)
            for (int64_t q = 0; q < 2; ++q)
              sum += static_cast<double>(line_weight[i * 2 + p]) * column_weight[j * 2 + q] *
                     pixel(line[i * 2 + p], column[j * 2 + q]);
          ASSERT_NEAR(y[at], sum, 1e-6);
          expected_z[at] = pixel(nearest_line[i], nearest_column[j]);
        }
  test::expect_same(z, expected_z);
}

TEST(Convert, QuantizeByAxis) {
  const Loops& loops = simd::loops(simd::best_isa());
  Team team(2);
  const std::vector<float> x = test::uniform_floats(4 * 3 * 5, 10), scale = {0.1F, 0.5F, 1};
  const std::vector<uint8_t> zero = {3, 128, 255};
  for (auto [outer, inner] : {std::pair{4, 5}, {20, 1}}) {
    std::vector<uint8_t> y(x.size());
    std::vector<float> back(x.size());
    quantize(loops, team, x.data(), scale.data(), zero.data(), y.data(), outer, 3, inner);
    dequantize(loops, team, y.data(), scale.data(), zero.data(), back.data(), outer, 3, inner);
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t c = i / static_cast<size_t>(inner) % 3;
      const float q = std::nearbyint(x[i] / scale[c]) + zero[c];
      ASSERT_EQ(y[i], static_cast<uint8_t>(std::fmin(std::fmax(q, 0), 255)));
      ASSERT_EQ(back[i], static_cast<float>(y[i] - zero[c]) * scale[c]);
    }
  }
}

TEST(Convert, PlainCasts) {
  Team team(1);
  const std::vector<int64_t> whole = {1, -1, 0, INT64_MAX, INT64_MIN, 0, 0};
  std::vector<int32_t> low(7);
  cast_i64_to_i32(team, whole.data(), low.data(), 7);
  test::expect_same(low, {1, -1, 0, -1, 0, 0, 0});
}

}  // namespace
}  // namespace nnex::kernels
