#include "nnex/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tensor/convert.h"
#include "tensor/dim.h"
#include "tensor/half.h"
#include "tensor/stack.h"
#include "tensor/unknown_names.h"

namespace nnex {
namespace {

TEST(Shape, Broadcast) {
  const struct {
    const char* name;
    Shape a, b;
    std::optional<Shape> expected;
  } rows[] = {
      {"axis of one stretches", {2, 1}, {2, 3}, Shape{2, 3}},
      {"empty axis stays empty", {0, 3}, {1, 3}, Shape{0, 3}},
      {"rank grows", {3}, {2, 1}, Shape{2, 3}},
      {"extents differ", {2}, {3}, std::nullopt},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(broadcast(row.a, row.b), row.expected);
  }
}

TEST(Shape, ManyAxesAndOverflow) {
  Shape long_shape{1, 2, 3, 4, 5, 6, 7, 8};
  Shape copy = long_shape;
  EXPECT_EQ(copy.count(), 40320);
  EXPECT_EQ(copy.text(), "[1,2,3,4,5,6,7,8]");
  EXPECT_FALSE((Shape{int64_t{1} << 40, int64_t{1} << 40}.checked_count()));
  EXPECT_EQ((Shape{int64_t{1} << 40, int64_t{1} << 40, 0}.checked_count()), 0);
}

TEST(Tensor, TooLargeIsAnError) {
  EXPECT_EQ(Tensor::make(DType::f32, Shape{int64_t{1} << 62}).error().code(), Code::limit);
}

// Every bit pattern of the 16-bit floats survives the way to float and back.
TEST(Tensor, WhatWasMovedElsewhereIsEmpty) {
  const auto expect_empty = [](const Tensor& gone) {
    EXPECT_EQ(gone.data(), nullptr);
    EXPECT_EQ(gone.count(), 0);
    EXPECT_EQ(gone.bytes(), 0);
    EXPECT_EQ(gone.shape().count(), 0);
    EXPECT_FALSE(gone.owned());
  };
  Tensor a = Tensor::of(Shape{1, 3}, std::vector<int64_t>{1, 2, 3}), b = std::move(a), c;
  expect_empty(a);  // NOLINT: what this test is about
  c = std::move(b);
  expect_empty(b);  // NOLINT
  EXPECT_EQ(c.as<int64_t>()[2], 3);
  a = c;
  EXPECT_EQ(a.data(), c.data());

  Value v = Tensor::scalar(1.0f), w = std::move(v);
  EXPECT_TRUE(v.empty());  // NOLINT
  v = std::move(w);
  EXPECT_TRUE(w.empty());  // NOLINT
  EXPECT_EQ(v.text(), "f32[]");
  Value pair = Sequence{DType::f32, {v, v}}, other = std::move(pair);
  EXPECT_TRUE(pair.empty());  // NOLINT
  EXPECT_EQ(other.text(), "sequence of 2");
}

TEST(Tensor, IsMadeOfIntegersByTheirWidth) {
  EXPECT_EQ(Tensor::of<long long>({1}, {-3}).dtype(), DType::i64);
  EXPECT_EQ(Tensor::of<long>({1}, {-3}).dtype(), sizeof(long) == 8 ? DType::i64 : DType::i32);
  EXPECT_EQ(Tensor::scalar(7ULL).as<uint64_t>()[0], 7u);
  EXPECT_EQ(Tensor::scalar(f16(0.5f)).dtype(), DType::f16);
  EXPECT_EQ(static_cast<float>(Tensor::of<bf16>({1}, {bf16(2.0f)}).as<bf16>()[0]), 2.0f);
  EXPECT_FALSE(kIsElement<char> || kIsElement<const char*> || kIsElement<wchar_t>);
}

TEST(Half, RoundTrip) {
  for (uint32_t b = 0; b < 65536; ++b) {
    f16 h;
    h.bits = static_cast<uint16_t>(b);
    const float x = h;
    if (std::isnan(x)) continue;
    ASSERT_EQ(f16(x).bits, b);
    ASSERT_EQ(f16(static_cast<double>(x)).bits, b);
    bf16 g;
    g.bits = static_cast<uint16_t>(b);
    const float y = g;
    if (!std::isnan(y)) {
      ASSERT_EQ(bf16(y).bits, b);
    }
  }
}

TEST(Half, TiesGoToEven) {
  EXPECT_EQ(f16(1.0f + 0x1p-11f).bits, 0x3c00);
  EXPECT_EQ(f16(1.0f + 3 * 0x1p-11f).bits, 0x3c02);
  EXPECT_EQ(f16(65519.99f).bits, 0x7bff);
  EXPECT_EQ(f16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(f16(0x1p-25f).bits, 0);
  EXPECT_EQ(f16(0x1.8p-25f).bits, 1);
  EXPECT_EQ(bf16(1.0 + 0x1p-8 + 0x1p-40).bits, bf16(1.0f).bits + 1);  // one rounding, not two
}

template <class T>
void float8_round_trip() {
  for (uint32_t b = 0; b < 256; ++b) {
    T h{};
    h.bits = static_cast<uint8_t>(b);
    const float x = h;
    if (std::isnan(x) || std::isinf(x)) continue;
    EXPECT_EQ(T(x).bits, b) << b;
  }
}

TEST(Float8, RoundTrip) {
  float8_round_trip<f8e4m3fn>();
  float8_round_trip<f8e4m3fnuz>();
  float8_round_trip<f8e5m2>();
  float8_round_trip<f8e5m2fnuz>();
  float8_round_trip<f8e8m0>();
  for (uint8_t b = 0; b < 16; ++b) EXPECT_EQ(f4e2m1_bits(f4e2m1_value(b)), b);
}

TEST(Float8, Overflow) {
  EXPECT_EQ(static_cast<float>(f8e4m3fn(1000.0f)), 448.0f);
  EXPECT_TRUE(std::isnan(static_cast<float>(f8e4m3fn(1000.0f, Overflow::overflow))));
  EXPECT_TRUE(std::isinf(static_cast<float>(f8e5m2(1e6f, Overflow::overflow))));
  EXPECT_EQ(static_cast<float>(f8e5m2fnuz(-1e6f)), -57344.0f);
}

TEST(Convert, FloatsToIntegersSaturate) {
  Tensor x = Tensor::of(Shape{5}, std::vector<float>{2.9f, -2.9f, 300.0f, -1e20f, NAN});
  EXPECT_EQ(ints_of(*convert(x, DType::i8)), (std::vector<int64_t>{2, -2, 127, -128, 0}));
  EXPECT_EQ(ints_of(*convert(x, DType::u8)), (std::vector<int64_t>{2, 0, 255, 0, 0}));
  EXPECT_EQ(ints_of(*convert(x, DType::i64)), (std::vector<int64_t>{2, -2, 300, INT64_MIN, 0}));
}

TEST(Convert, IntegersKeepLowBits) {
  Tensor x = Tensor::of(Shape{3}, std::vector<int64_t>{257, -1, 128});
  EXPECT_EQ(ints_of(*convert(x, DType::u8)), (std::vector<int64_t>{1, 255, 128}));
  EXPECT_EQ(ints_of(*convert(x, DType::i8)), (std::vector<int64_t>{1, -1, -128}));
}

/// Long tensors go piece by piece, and each piece by blocks.
TEST(Convert, LongTensors) {
  constexpr int64_t kMany = 3 * (int64_t{1} << 18) + 77;
  Tensor bytes = *Tensor::make(DType::i8, Shape{kMany}), reals = *Tensor::make(DType::f32, Shape{kMany});
  for (int64_t i = 0; i < kMany; ++i) {
    bytes.mutable_as<int8_t>()[static_cast<size_t>(i)] = static_cast<int8_t>(i * 37 + i / 256);
    reals.mutable_as<float>()[static_cast<size_t>(i)] = static_cast<float>(i - kMany / 2) * 0.75f;
  }
  const Tensor wide = *convert(bytes, DType::i64), low = *convert(wide, DType::u8), real = *convert(bytes, DType::f32),
               whole = *convert(reals, DType::i8), twice = *convert(reals, DType::f64);
  for (int64_t i = 0; i < kMany; ++i) {
    const auto at = static_cast<size_t>(i);
    const int8_t x = bytes.as<int8_t>()[at];
    const float y = reals.as<float>()[at];
    ASSERT_EQ(wide.as<int64_t>()[at], x) << i;
    ASSERT_EQ(low.as<uint8_t>()[at], static_cast<uint8_t>(x)) << i;
    ASSERT_EQ(real.as<float>()[at], x) << i;
    ASSERT_EQ(whole.as<int8_t>()[at], static_cast<int8_t>(std::max(-128.0f, std::min(127.0f, std::trunc(y))))) << i;
    ASSERT_EQ(twice.as<double>()[at], y) << i;
  }
}

TEST(Convert, PackedTypes) {
  Tensor x = Tensor::of(Shape{3}, std::vector<float>{9.0f, -3.0f, 2.5f});
  Tensor packed = *convert(x, DType::i4);
  EXPECT_EQ(packed.bytes(), 2);
  EXPECT_EQ(ints_of(packed), (std::vector<int64_t>{-7, -3, 2}));
  EXPECT_EQ(reals_of(*convert(packed, DType::f32)), (std::vector<double>{-7, -3, 2}));
  EXPECT_EQ(ints_of(*convert(Tensor::of(Shape{5}, std::vector<int64_t>{0, 1, 2, 3, -1}), DType::u2)),
            (std::vector<int64_t>{0, 1, 2, 3, 3}));
}

TEST(Convert, Text) {
  Tensor x = Tensor::of(Shape{4}, std::vector<std::string>{"1e3", "-0.5", "INF", "nan"});
  auto r = reals_of(*convert(x, DType::f32));
  EXPECT_EQ(r[0], 1000);
  EXPECT_EQ(r[1], -0.5);
  EXPECT_TRUE(std::isinf(r[2]));
  EXPECT_TRUE(std::isnan(r[3]));
  EXPECT_EQ(convert(Tensor::of(Shape{1}, std::vector<std::string>{"ten"}), DType::f32).error().code(), Code::fault);
  EXPECT_EQ(convert(Tensor::of(Shape{2}, std::vector<float>{0.1f, -INFINITY}), DType::str)->strings()[1], "-INF");
}

TEST(Dim, FormulasAreCanonical) {
  Dim n = Dim::symbol("N"), t = Dim::symbol("T"), h = Dim::symbol("H");
  EXPECT_EQ(n * t, t * n);
  EXPECT_EQ((n * t * 4).text(), "4*N*T");
  EXPECT_EQ((Dim(2) * h + 1).text(), "2*H+1");
  EXPECT_EQ(n - n, Dim(0));
  EXPECT_EQ(floor_div(n * t * 6, t * 3), n * 2);
  EXPECT_EQ(floor_div(h - 1, Dim(2)), floor_div(h + (-1), Dim(2)));
  EXPECT_EQ(floor_div(h - 1, Dim(2)).text(), "floor((H+1)/2)-1");
  EXPECT_FALSE(Dim::unknown("a") == Dim::unknown("a"));
  EXPECT_EQ((h * 2 + n).with({{"H", 5}}).text(), "N+10");
  EXPECT_EQ(compare(n + 1, n), 1);
  EXPECT_EQ(compare(n, t), std::nullopt);
}

TEST(Dim, UnknownsOfAScopeCountFromZero) {
  for (int again = 0; again < 2; ++again) {
    const UnknownNames outer;
    EXPECT_EQ(Dim::unknown("a").text(), "?a0");
    const UnknownNames inner;  // goes on
    EXPECT_EQ(Dim::unknown("b").text(), "?b1");
  }
  const Dim later = Dim::unknown("a");
  EXPECT_NE(later.text(), "?a0");
  EXPECT_NE(later.text(), "?a1");
}

TEST(Dim, QuotientsByNumbersAreCanonical) {
  const Dim h = Dim::symbol("H");
  const Dim half = floor_div(h - 1, Dim(2)) + 1;
  EXPECT_EQ(half.text(), "floor((H+1)/2)");
  EXPECT_EQ((floor_div(half - 1, Dim(2)) + 1).text(), "floor((H+3)/4)");
  EXPECT_EQ(ceil_div(ceil_div(h, Dim(3)), Dim(5)).text(), "ceil(H/15)");
  EXPECT_EQ(floor_div(ceil_div(h, Dim(2)), Dim(2)).text(), "floor(ceil(H/2)/2)");
  EXPECT_EQ(floor_div(h * 7 + 9, Dim(3)).text(), "2*H+floor(H/3)+3");
  EXPECT_EQ(half.symbols(), std::vector<std::string>{"H"});
  // The canonical form has the value of the steps it was made of.
  for (int64_t n = 0; n < 50; ++n) {
    const auto down = [](int64_t a, int64_t b) { return a / b - (a % b < 0); };
    const int64_t first = down(n - 1, 2) + 1, second = down(5 * first - 7, 3) + 1;
    const Dim steps = floor_div(half * 5 - 7, Dim(3)) + 1;
    EXPECT_EQ(steps.with({{"H", n}}), Dim(second)) << n;
    EXPECT_EQ((floor_div(half - 1, Dim(2)) + 1).with({{"H", n}}), Dim(down(first - 1, 2) + 1)) << n;
    EXPECT_EQ(ceil_div(ceil_div(h - 4, Dim(3)) + 1, Dim(2)).with({{"H", n}}), Dim(-down(-(-down(-(n - 4), 3) + 1), 2)))
        << n;
  }
}

TEST(Stack, SliceAndStackAreInverse) {
  Tensor x = Tensor::of(Shape{2, 3}, std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < 3; ++i) parts.push_back(*slice_at(x, 1, i));
  EXPECT_EQ(ints_of(*stack(parts, 1, {})), ints_of(x));
}

}  // namespace
}  // namespace nnex
