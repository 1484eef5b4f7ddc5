#include <gtest/gtest.h>

#include <cmath>

#include "oracle_math.h"
#include "simd_test.h"

namespace nnex::kernels {
namespace {

using simd::Loops;

float clipped(float clip, float v) { return clip > 0 ? oracle::clamp(v, -clip, clip) : v; }

template <bool fused>
void lstm(const simd::LstmRow& row, size_t n, std::vector<float>& c, std::vector<float>& h) {
  for (size_t i = 0; i < n; ++i) {
    const auto gate = [&](const float* z, const float* p, float state) {
      return oracle::sigmoid<fused>(clipped(row.clip, p ? oracle::madd<fused>(p[i], state, z[i]) : z[i]));
    };
    const float before = row.c_before[i];
    const float input = gate(row.z_input, row.p_input, before);
    const float forget = row.couples ? 1.0F - input : gate(row.z_forget, row.p_forget, before);
    c[i] = oracle::madd<fused>(forget, before, input * oracle::tanh<fused>(clipped(row.clip, row.z_cell[i])));
    h[i] = gate(row.z_output, row.p_output, c[i]) * oracle::tanh<fused>(c[i]);
  }
}

template <bool fused>
void gru(const simd::GruRow& row, size_t n, std::vector<float>& h) {
  for (size_t i = 0; i < n; ++i) {
    const float update = oracle::sigmoid<fused>(clipped(row.clip, row.z_update[i]));
    float sum = row.z_hidden[i];
    if (row.r_hidden)
      sum = oracle::madd<fused>(oracle::sigmoid<fused>(clipped(row.clip, row.z_reset[i])), row.r_hidden[i], sum);
    h[i] = oracle::madd<fused>(1.0F - update, oracle::tanh<fused>(clipped(row.clip, sum)), update * row.h_before[i]);
  }
}

struct Gates {
  std::vector<float> z[5];
  Gates() {
    for (uint32_t i = 0; i < 5; ++i) z[i] = test::uniform_floats(200, 6, i + 1);
  }
};

constexpr size_t kCounts[] = {0, 1, 7, 16, 100, 200};

TEST(SimdRecurrent, LstmEqualsItsOracle) {
  const Gates g;
  const std::vector<float> peephole = test::uniform_floats(200, 1, 9);
  test::for_each_table([&](const Loops& table) {
    for (int form = 0; form < 8; ++form) {
      for (size_t n : kCounts) {
        std::vector<float> c(n), h(n), expected_c(n), expected_h(n);
        simd::LstmRow row = {.z_input = g.z[0].data(),
                             .z_output = g.z[1].data(),
                             .z_forget = g.z[2].data(),
                             .z_cell = g.z[3].data(),
                             .c_before = g.z[4].data(),
                             .c = c.data(),
                             .h = h.data()};
        if (form & 1) row.p_input = row.p_output = row.p_forget = peephole.data();
        if (form & 2) row.clip = 2.5F;
        row.couples = form & 4;
        table.lstm_f32(row, n);
        if (test::fuses(table)) {
          lstm<true>(row, n, expected_c, expected_h);
        } else {
          lstm<false>(row, n, expected_c, expected_h);
        }
        test::expect_same(c, expected_c);
        test::expect_same(h, expected_h);
      }
    }
  });
}

TEST(SimdRecurrent, GruEqualsItsOracle) {
  const Gates g;
  test::for_each_table([&](const Loops& table) {
    for (int form = 0; form < 4; ++form) {
      for (size_t n : kCounts) {
        std::vector<float> h(n), expected(n), reset(n), expected_reset(n);
        simd::GruRow row = {.z_update = g.z[0].data(),
                            .z_reset = g.z[1].data(),
                            .z_hidden = g.z[2].data(),
                            .h_before = g.z[4].data(),
                            .h = h.data()};
        if (form & 1) row.r_hidden = g.z[3].data();
        if (form & 2) row.clip = 2.5F;
        table.gru_f32(row, n);
        table.gru_reset_f32(row.z_reset, row.h_before, row.clip, reset.data(), n);
        for (size_t i = 0; i < n; ++i) {
          const float z = clipped(row.clip, row.z_reset[i]);
          expected_reset[i] =
              (test::fuses(table) ? oracle::sigmoid<true>(z) : oracle::sigmoid<false>(z)) * row.h_before[i];
        }
        if (test::fuses(table)) {
          gru<true>(row, n, expected);
        } else {
          gru<false>(row, n, expected);
        }
        test::expect_same(h, expected);
        test::expect_same(reset, expected_reset);
      }
    }
  });
}

}  // namespace
}  // namespace nnex::kernels
