// Transforms of every kind of length against the sum that defines them; windows, frames and mel bins by hand.

#include <gtest/gtest.h>

#include <cmath>

#include "op_run.h"
#include "ops/fft.h"

namespace nnex {
namespace {

using test::absent;
using test::run_op;
using test::shown;

std::vector<Complex> noise(int64_t n) {
  std::vector<Complex> x(static_cast<size_t>(n));
  uint32_t state = 7;
  const auto roll = [&] { return static_cast<double>((state = state * 1664525 + 1013904223) >> 8) / (1 << 23) - 1; };
  for (Complex& c : x) c = {roll(), roll()};
  return x;
}

std::vector<Complex> transform(const std::vector<Complex>& x) {
  std::vector<Complex> y(x.size());
  Fft fft = std::move(Fft::make(static_cast<int64_t>(x.size()))).value();
  fft.run(x.data(), y.data());
  return y;
}

void expect_sums(int64_t n) {
  SCOPED_TRACE(n);
  const std::vector<Complex> x = noise(n), y = transform(x);
  double worst = 0;
  for (int64_t k = 0; k < n; ++k) {
    Complex sum;
    for (int64_t t = 0; t < n; ++t) sum = sum + x[static_cast<size_t>(t)] * turn(k * t % n, n);
    const Complex d = sum - y[static_cast<size_t>(k)];
    worst = std::max(worst, std::hypot(d.re, d.im));
  }
  EXPECT_LT(worst, 1e-14 * static_cast<double>(n) + 1e-13);
}

TEST(Fft, LengthsOfEveryKind) {
  for (int64_t n = 1; n <= 130; ++n) expect_sums(n);
  for (int64_t n : {134, 169, 243, 256, 360, 509, 512, 625, 1009, 1024, 2 * 509, 61 * 8}) expect_sums(n);
}

TEST(Fft, LongPrimesTakeNoSquareOfTheirLength) {
  const int64_t n = 100003;
  const std::vector<Complex> x = noise(n), y = transform(x);
  // Energy is kept, and one number is the sum that defines it.
  double in = 0, out = 0;
  for (const Complex& c : x) in += c.re * c.re + c.im * c.im;
  for (const Complex& c : y) out += c.re * c.re + c.im * c.im;
  EXPECT_NEAR(out / static_cast<double>(n) / in, 1, 1e-10);
  Complex sum;
  for (int64_t t = 0; t < n; ++t) sum = sum + x[static_cast<size_t>(t)] * turn(t * 12345 % n, n);
  EXPECT_NEAR(y[12345].re, sum.re, 1e-7);
  EXPECT_NEAR(y[12345].im, sum.im, 1e-7);
}

TEST(Fft, TurnsAreExactWhereTheyCanBe) {
  EXPECT_EQ(turn(0, 8).re, 1);
  EXPECT_EQ(turn(2, 8).im, -1);
  EXPECT_EQ(std::fabs(turn(2, 8).re), 0);
  EXPECT_EQ(turn(4, 8).re, -1);
  EXPECT_EQ(turn(6, 8).im, 1);
  EXPECT_NEAR(turn(1, 8).re, -turn(1, 8).im, 2e-16);
  EXPECT_EQ(turn(1, 3).im, -turn(2, 3).im);
}

// ---- dft

Tensor signal(Shape s, const std::vector<float>& v) { return Tensor::of(std::move(s), v); }
Tensor one(int64_t n) { return Tensor::scalar<int64_t>(n); }

TEST(Dft, OfFourNumbers) {
  const Tensor x = signal(Shape{1, 4, 1}, {1, 2, 3, 4});
  // 10, -2 + 2 i, -2, -2 - 2 i
  EXPECT_EQ(shown(run_op("dft", {x, absent(), one(1)})), "f32[1,4,2] 10 0 -2 2 -2 0 -2 -2");
  EXPECT_EQ(shown(run_op("dft", {x})), "f32[1,4,2] 10 0 -2 2 -2 0 -2 -2");
  EXPECT_EQ(shown(run_op("dft", {x, absent(), one(-2)}, {{"onesided", true}})), "f32[1,3,2] 10 0 -2 2 -2 0");
  EXPECT_EQ(shown(run_op("dft", {x, one(2)})), "f32[1,2,2] 3 0 -1 0");                                          // cut
  EXPECT_EQ(shown(run_op("dft", {x, one(5)}, {{"onesided", true}}, 1, true)).substr(0, 14), "f32[1,3,2] 10 ");  // zeros
  const Tensor half = signal(Shape{1, 3, 2}, {10, 0, -2, 2, -2, 0});
  const AttrMap back = {{"inverse", true}, {"onesided", true}};
  EXPECT_EQ(shown(run_op("dft", {half}, back)), "f32[1,4,1] 1 2 3 4");
  EXPECT_EQ(shown(run_op("dft", {half, one(2)}, back)), "f32[1,2,1] 4 6");  // (10 - 2) / 2, (10 + 2) / 2
  const Tensor whole = signal(Shape{1, 4, 2}, {10, 0, -2, 2, -2, 0, -2, -2});
  EXPECT_EQ(shown(run_op("dft", {whole}, {{"inverse", true}})), "f32[1,4,2] 1 0 2 0 3 0 4 0");
}

TEST(Dft, AlongAnyAxis) {
  // Columns (1, 3) and (2, 4).
  const Tensor x = signal(Shape{2, 2, 1}, {1, 2, 3, 4});
  EXPECT_EQ(shown(run_op("dft", {x, absent(), one(0)})), "f32[2,2,2] 4 0 6 0 -2 0 -2 0");
  EXPECT_EQ(shown(run_op("dft", {x, absent(), one(0)}, {}, 1, true)), "f32[2,2,2] 4 0 6 0 -2 0 -2 0");
}

TEST(Dft, SmallNumbersBesideLargeOnes) {
  // A cosine of one line: the others are noise of f64, not of f32.
  std::vector<float> v;
  for (int i = 0; i < 128; ++i) v.push_back(static_cast<float>(std::lround(100 * std::cos(2 * M_PI * i * 4 / 16.0))));
  const auto y = run_op("dft", {signal(Shape{1, 128, 1}, v)});
  ASSERT_TRUE(y.ok());
  const auto out = (*y)[0].as<float>();
  EXPECT_EQ(out[2 * 32], 6400.0F);
  EXPECT_LT(std::fabs(out[2 * 31]), 1e-10F);
}

TEST(Dft, Faults) {
  const Tensor complex = signal(Shape{1, 2, 2}, {1, 2, 3, 4}), real = signal(Shape{1, 2, 1}, {1, 2});
  EXPECT_EQ(shown(run_op("dft", {complex}, {{"onesided", true}})),
            "dft: onesided needs a real x; its last axis has extent 2");
  EXPECT_EQ(shown(run_op("dft", {real, one(0)})), "dft: length is 0; needed at least 1");
  EXPECT_EQ(shown(run_op("dft", {real, one(0)}, {}, 1, true)), "dft: length is 0; needed at least 1");
  EXPECT_EQ(shown(run_op("dft", {real, absent(), one(2)})),
            "dft: axis names the last axis, which holds real and imaginary parts");
  EXPECT_EQ(shown(run_op("dft", {real, absent(), one(2)}, {}, 1, true)),
            "dft: axis names the last axis, which holds real and imaginary parts");
  EXPECT_EQ(shown(run_op("dft", {signal(Shape{1, 1, 3}, {1, 2, 3})})),
            "dft: the last axis of x has extent 3; needed 1 (real) or 2 (complex)");
  EXPECT_EQ(shown(run_op("dft", {real}, {{"inverse", true}, {"onesided", true}})), "f32[1,2,1] 1.5 -0.5");
  EXPECT_EQ(shown(run_op("dft", {signal(Shape{1, 1, 1}, {1})}, {{"inverse", true}, {"onesided", true}})),
            "dft: length is 0; needed at least 1");
  EXPECT_FALSE(run_op("dft", {real, one(int64_t{1} << 46)}, {}, 1, true).ok());
}

TEST(Stft, FramesWithoutPadding) {
  const Tensor x = signal(Shape{1, 5, 1}, {1, 2, 3, 4, 5});
  // Frames (1, 2), (3, 4); bins sum and difference.
  EXPECT_EQ(shown(run_op("stft", {x, one(2), absent(), one(2)})), "f32[1,2,2,2] 3 0 -1 0 7 0 -1 0");
  const Tensor window = signal(Shape{2}, {1, 10});
  EXPECT_EQ(shown(run_op("stft", {x, one(3), window})), "f32[1,2,2,2] 21 0 -19 0 54 0 -46 0");
  EXPECT_EQ(shown(run_op("stft", {x, one(3), window}, {}, 1, true)), "f32[1,2,2,2] 21 0 -19 0 54 0 -46 0");
  EXPECT_EQ(shown(run_op("stft", {x, one(9), absent(), one(3)}, {{"onesided", false}})).substr(0, 14),
            "f32[1,1,3,2] 6");
  EXPECT_EQ(shown(run_op("stft", {x, one(0), window})), "stft: step is 0; needed at least 1");
  EXPECT_EQ(shown(run_op("stft", {x, one(1)})), "stft: window or length must be given");
  EXPECT_EQ(shown(run_op("stft", {x, one(1), absent(), one(6)})), "stft: x has 5 samples; a frame has 6");
}

TEST(Windows, ByHand) {
  const auto window = [](int64_t n, bool periodic, double a0, double a1, double a2) {
    return shown(run_op("cosine_window", {one(n)},
                        {{"a0", a0}, {"a1", a1}, {"a2", a2}, {"periodic", periodic}, {"dtype", DType::f64}}));
  };
  EXPECT_EQ(window(2, true, .5, .5, 0), "f64[2] 0 1");
  EXPECT_EQ(window(3, false, .5, .5, 0), "f64[3] 0 1 0");
  EXPECT_EQ(window(1, false, .5, .5, 0), "f64[1] 1");
  EXPECT_EQ(window(0, true, .5, .5, 0), "f64[0]");
  EXPECT_EQ(window(2, true, .25, .5, .25), "f64[2] 0 1");
  EXPECT_EQ(shown(run_op("cosine_window", {one(-1)}, {{"a0", .5}, {"a1", .5}, {"a2", 0.0}})),
            "cosine_window: length is -1; needed 0 or more");
}

TEST(Mel, ColumnsAreTriangles) {
  const auto matrix = [](int64_t bins, int64_t length, int64_t rate, float low, float high) {
    return run_op("mel_weight_matrix", {one(bins), one(length), one(rate), Tensor::scalar(low), Tensor::scalar(high)});
  };
  const auto m = matrix(4, 32, 8000, 0, 4000);
  ASSERT_TRUE(m.ok());
  const auto y = (*m)[0].as<float>();
  for (size_t b = 0; b < 4; ++b) {
    int turns = 0;
    float top = 0;
    for (size_t i = 0; i < 17; ++i) {
      top = std::max(top, y[i * 4 + b]);
      turns += i > 1 && y[(i - 1) * 4 + b] > y[(i - 2) * 4 + b] && y[(i - 1) * 4 + b] >= y[i * 4 + b];
    }
    EXPECT_EQ(top, 1.0F);
    EXPECT_LE(turns, 1);
  }
  EXPECT_EQ(shown(matrix(1, 8, 0, 0, 100)), "mel_weight_matrix: rate is 0; needed at least 1");
  EXPECT_FALSE(matrix(3, 8, 8000, 4000, 0).ok());
  EXPECT_TRUE(matrix(3, 8, 8000, 0, 1e30F).ok());  // edges past the spectrum
}

}  // namespace
}  // namespace nnex
