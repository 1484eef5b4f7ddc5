#include <gtest/gtest.h>

#include <cmath>

#include "simd_test.h"
#include "tensor/half.h"

namespace nnex::kernels {
namespace {

using simd::Loops;

constexpr size_t kLengths[] = {0, 1, 5, 16, 31, 3000};

int32_t truncated(float x) {
  if (x != x) return 0;
  if (x >= 2147483648.0F) return INT32_MAX;
  if (x < -2147483648.0F) return INT32_MIN;
  return static_cast<int32_t>(x);
}

template <class T>
T quantized(float x, float scale, T zero) {
  const double q = std::nearbyint(x / scale);
  const double sum = (q != q ? 0.0 : q) + zero;
  return static_cast<T>(std::fmin(std::fmax(sum, std::numeric_limits<T>::min()), std::numeric_limits<T>::max()));
}

/// Dequantize may be null: a type whose loop is plain C++.
template <class T>
void check_quantize(simd::QuantizeTo<T>* quantize, simd::DequantizeFrom<T>* dequantize, const std::vector<float>& x) {
  std::vector<float> scale(x.size());
  std::vector<T> zero(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    scale[i] = 0.01F + static_cast<float>(i % 7);
    zero[i] = static_cast<T>(i * 13);
  }
  for (size_t n : kLengths) {
    for (size_t step : {0, 1}) {
      for (const T* z : {static_cast<const T*>(nullptr), static_cast<const T*>(zero.data() + 1)}) {
        std::vector<T> y(n), expected(n);
        std::vector<float> back(n), expected_back(n);
        for (size_t i = 0; i < n; ++i) {
          const T at = z ? z[i * step] : T{0};
          expected[i] = quantized(x[i], scale[i * step], at);
          expected_back[i] = static_cast<float>(expected[i] - at) * scale[i * step];
        }
        quantize(x.data(), scale.data(), z, step, y.data(), n);
        test::expect_same(y, expected);
        if (!dequantize) continue;
        dequantize(y.data(), scale.data(), z, step, back.data(), n);
        test::expect_same(back, expected_back);
      }
    }
  }
}

TEST(SimdConvert, QuantizeAndBackEqualTheirOracles) {
  std::vector<float> x = test::test_floats(3001);
  for (size_t i = 100; i < 400; ++i) x[i] = static_cast<float>(i) * 0.005F;  // halves of a step
  test::for_each_table([&](const Loops& table) {
    check_quantize<uint8_t>(table.quantize_u8, table.dequantize_u8, x);
    check_quantize<int8_t>(table.quantize_s8, table.dequantize_s8, x);
    check_quantize<uint16_t>(table.quantize_u16, nullptr, x);
    check_quantize<int16_t>(table.quantize_s16, nullptr, x);
  });
}

TEST(SimdConvert, BytesNextToHalvesOfAStepRoundLikeTheQuotient) {
  for (float scale : {0.02F, -0.3F, 1.0F / 3, 7e-36F, 3e37F, 1e-40F}) {
    std::vector<float> x;
    for (int half = -1400; half <= 1400; ++half) {
      float v = static_cast<float>(half) * 0.5F * scale;
      for (int i = 0; i < 3; ++i) v = std::nextafter(v, -INFINITY);
      for (int i = 0; i < 7; ++i, v = std::nextafter(v, INFINITY)) x.push_back(v);
    }
    for (float v : {3e38F, -3e38F, 1e-45F, -0.0F}) x.insert(x.end(), 64, v);
    test::for_each_table([&](const Loops& table) {
      const auto check = [&]<class T>(simd::QuantizeTo<T>* quantize, T zero) {
        std::vector<T> y(x.size()), expected(x.size());
        for (size_t i = 0; i < x.size(); ++i) expected[i] = quantized(x[i], scale, zero);
        quantize(x.data(), &scale, &zero, 0, y.data(), x.size());
        test::expect_same(y, expected);
      };
      for (uint8_t zero : {0, 77, 255}) check(table.quantize_u8, zero);
      for (int8_t zero : {-128, 0, 127}) check(table.quantize_s8, zero);
    });
  }
}

TEST(SimdConvert, NarrowFloatsEqualTheScalarOnes) {
  std::vector<float> x = test::test_floats(3000);
  for (size_t i = 1000; i < 2500; ++i) x[i] = std::ldexp(x[i], -static_cast<int>(i % 40));
  for (float v :
       {65504.0F, 65519.996F, 65520.0F, 6.1035156e-05F, 6.0975552e-05F, 2.9802322e-08F, 2.9802326e-08F, 5.9604645e-08F})
    for (float sign : {1.0F, -1.0F}) x.push_back(v * sign);
  test::for_each_table([&](const Loops& table) {
    for (size_t n : {x.size(), size_t{0}, size_t{1}, size_t{7}, size_t{33}}) {
      std::vector<uint16_t> half(n), brain(n), expected_half(n), expected_brain(n);
      for (size_t i = 0; i < n; ++i) {
        expected_half[i] = f16(x[i]).bits;
        expected_brain[i] = bf16(x[i]).bits;
      }
      table.f16_from_f32(x.data(), half.data(), n);
      table.bf16_from_f32(x.data(), brain.data(), n);
      for (size_t i = 0; i < n; ++i) {
        if (x[i] != x[i]) {
          ASSERT_GT(half[i] & 0x7fff, 0x7c00);
          ASSERT_GT(brain[i] & 0x7fff, 0x7f80);
          continue;
        }
        ASSERT_EQ(half[i], expected_half[i]) << x[i];
        ASSERT_EQ(brain[i], expected_brain[i]) << x[i];
      }
    }
    std::vector<uint16_t> all(65536);
    std::vector<float> half(65536), brain(65536), expected_half(65536), expected_brain(65536);
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = static_cast<uint16_t>(i);
      f16 h;
      bf16 b;
      h.bits = b.bits = all[i];
      expected_half[i] = h;
      expected_brain[i] = b;
    }
    table.f32_from_f16(all.data(), half.data(), all.size());
    table.f32_from_bf16(all.data(), brain.data(), all.size());
    test::expect_same(half, expected_half);
    test::expect_same(brain, expected_brain);
  });
}

TEST(SimdConvert, IntegersEqualTheirOracles) {
  std::vector<float> x = test::test_floats(3000);
  for (float v : {2147483520.0F, 2147483648.0F, -2147483648.0F, -2147483904.0F, 255.5F, 256.0F, -0.9F}) x.push_back(v);
  test::for_each_table([&](const Loops& table) {
    for (size_t n : {x.size(), size_t{0}, size_t{3}, size_t{17}}) {
      std::vector<int32_t> whole(n), expected(n);
      std::vector<uint8_t> byte(n), expected_byte(n);
      std::vector<float> back(n), expected_back(n), from_byte(n), expected_from_byte(n);
      for (size_t i = 0; i < n; ++i) {
        expected[i] = truncated(x[i]);
        expected_byte[i] = static_cast<uint8_t>(std::min(std::max(expected[i], 0), 255));
        expected_back[i] = static_cast<float>(expected[i]);
        expected_from_byte[i] = expected_byte[i];
      }
      table.i32_from_f32(x.data(), whole.data(), n);
      table.u8_from_f32(x.data(), byte.data(), n);
      test::expect_same(whole, expected);
      test::expect_same(byte, expected_byte);
      table.f32_from_i32(whole.data(), back.data(), n);
      table.f32_from_u8(byte.data(), from_byte.data(), n);
      test::expect_same(back, expected_back);
      test::expect_same(from_byte, expected_from_byte);
    }
  });
}

TEST(SimdConvert, WideIntegersAndTruthsEqualTheirOracles) {
  std::vector<float> x = test::test_floats(3000);
  for (float v :
       {9223371487098961920.0F, 9223372036854775808.0F, -9223372036854775808.0F, -9223373136366403584.0F, 0.9F, -0.9F})
    x.push_back(v);
  for (int i = 0; i < 100; ++i)  // numbers of 32 bits, among which stands one that has more, or as many as there are
    x.push_back(i == 40   ? 2147483648.0F
                : i == 60 ? -2147483904.0F
                : i == 80 ? 2147483520.0F
                          : static_cast<float>(i - 50) * 1.7F);
  const auto long_of = [](float v) {
    if (v != v) return int64_t{0};
    if (v >= 9223372036854775808.0F) return INT64_MAX;
    return v < -9223372036854775808.0F ? INT64_MIN : static_cast<int64_t>(v);
  };
  test::for_each_table([&](const Loops& table) {
    for (size_t n : {x.size(), size_t{0}, size_t{3}, size_t{17}}) {
      std::vector<int64_t> wide(n), expected(n);
      std::vector<uint8_t> truth(n), of_wide(n), expected_truth(n), expected_of_wide(n);
      for (size_t i = 0; i < n; ++i) {
        expected[i] = long_of(x[i]);
        expected_truth[i] = x[i] == 0 ? 0 : 1;
        expected_of_wide[i] = expected[i] == 0 ? 0 : 1;
      }
      std::vector<float> back(n), expected_back(n);
      for (size_t i = 0; i < n; ++i) expected_back[i] = static_cast<float>(expected[i]);
      table.i64_from_f32(x.data(), wide.data(), n);
      table.f32_from_i64(expected.data(), back.data(), n);
      test::expect_same(back, expected_back);
      table.bool_from_f32(x.data(), truth.data(), n);
      table.bool_from_i64(expected.data(), of_wide.data(), n);
      test::expect_same(wide, expected);
      test::expect_same(truth, expected_truth);
      test::expect_same(of_wide, expected_of_wide);
    }
  });
}

TEST(SimdConvert, WideIntegersRoundOnce) {
  std::vector<int64_t> x = {0, 1, -1, 16777217, -16777219, 2147483647, -2147483648};  // 16777217 lies between floats
  for (const int64_t v : {int64_t{2147483648}, int64_t{-2147483649}, int64_t{9007199791611905}, INT64_MAX, INT64_MIN})
    x.push_back(v);
  for (int64_t i = 0; i < 90; ++i) x.push_back((i - 40) * 48271001);
  test::for_each_table([&](const Loops& table) {
    std::vector<float> y(x.size()), expected(x.size());
    for (size_t i = 0; i < x.size(); ++i) expected[i] = static_cast<float>(x[i]);
    table.f32_from_i64(x.data(), y.data(), x.size());
    test::expect_same(y, expected);
  });
}

TEST(SimdConvert, DoublesAndIntegersOfHalfTheWidth) {
  std::vector<double> x = {0.0, -0.0, 1e300, -1e300, 1e-300, 3e-45, 1.0000000596046448, HUGE_VAL, std::nan("")};
  for (float v : test::test_floats(200)) x.push_back(double{v} * 1.0000000001);
  std::vector<int32_t> whole = {0, -1, INT32_MAX, INT32_MIN};
  while (whole.size() < x.size()) whole.push_back(static_cast<int32_t>(whole.size() * 48271001U));
  test::for_each_table([&](const Loops& table) {
    for (size_t n : {x.size(), size_t{0}, size_t{5}, size_t{9}}) {
      std::vector<float> y(n), expected(n);
      std::vector<int64_t> wide(n), expected_wide(n);
      for (size_t i = 0; i < n; ++i) expected[i] = static_cast<float>(x[i]), expected_wide[i] = whole[i];
      table.f32_from_f64(x.data(), y.data(), n);
      table.i64_from_i32(whole.data(), wide.data(), n);
      test::expect_same(y, expected);
      test::expect_same(wide, expected_wide);
    }
  });
}

}  // namespace
}  // namespace nnex::kernels
