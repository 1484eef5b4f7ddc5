#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/conv/int8.h"
#include "kernels/product/gemm_i8.h"
#include "kernels/product/tiles_i8.h"
#include "simd_test.h"

namespace nnex::kernels {
namespace {

using simd::Loops;

std::vector<std::byte> random_bytes(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(static_cast<size_t>(n));
  for (std::byte& b : bytes) b = static_cast<std::byte>(random() % 7 == 0 ? 0xff : random() & 0xff);
  return bytes;
}

int32_t value(std::byte b, bool is_signed) {
  return is_signed ? static_cast<int8_t>(b) : static_cast<int32_t>(static_cast<uint8_t>(b));
}

uint8_t expected_byte(const simd::Requantize& f, int32_t sum, int64_t column) {
  const float scaled = static_cast<float>(sum) * f.scale[column * f.step];
  const int64_t whole = static_cast<int64_t>(std::nearbyint(std::clamp(scaled, -1e6F, 1e6F))) + f.zero;
  return static_cast<uint8_t>(std::clamp<int64_t>(whole, f.low, f.high));
}

/// Each table of loops, and those that use less of its machine.
template <class F>
void for_each_int_table(F test) {
  test::for_each_table([&](const Loops& table) {
    if (table.numbers == simd::Numbers::exact) return;  // integers are the same
    for (const test::ByteTable& t : test::byte_tables(table)) {
      SCOPED_TRACE(t.name);
      test(t.loops);
    }
  });
}

/// Bytes and scales, by column.
struct ToBytes {
  std::vector<float> scale;
  simd::Requantize f;
  ToBytes(int64_t n, bool each) : scale(static_cast<size_t>(n) + 1) {
    for (size_t i = 0; i < scale.size(); ++i) scale[i] = 0.0007F * static_cast<float>(i % 5 + 1);
    f = {.scale = scale.data(),
         .step = each ? 1 : 0,
         .zero = each ? -3 : 7,
         .low = each ? -128 : 0,
         .high = each ? 127 : 255};
  }
};

struct ProductCase {
  int64_t m, n, k;
  bool a_signed, b_signed;
  int32_t a_zero;
  bool b_zero, a_transposed = false, b_transposed = false;
};

const ProductCase products[] = {
    {0, 3, 3, false, true, 0, false},      {3, 0, 3, false, true, 0, false},
    {3, 5, 0, false, true, 9, false},      {1, 1, 1, false, true, 0, false},
    {5, 7, 3, false, false, 128, true},    {14, 32, 64, false, true, 3, false},
    {29, 65, 33, true, true, -5, false},   {16, 48, 100, true, false, 12, true, true, true},
    {3, 40, 2500, false, true, 255, true}, {20, 33, 4100, true, true, -128, false, false, true},
};

/// What the bytes of a product are: tiles of pairs take columns whose weights side by side are 128 at most, and those
/// a little beyond would saturate. Of a few, what is beyond is multiplied by itself.
enum class Fill : uint8_t { any, pairs, beyond, few_beyond, extremes };
constexpr Fill kFills[] = {Fill::any, Fill::pairs, Fill::beyond, Fill::few_beyond, Fill::extremes};

void set_fill(Fill fill, std::vector<std::byte>& a, std::vector<std::byte>& b, bool b_signed) {
  const uint8_t flip = b_signed ? 0 : 0x80;  // unsigned columns are moved down by 128
  if (fill == Fill::extremes) {
    constexpr uint8_t kEnds[] = {0x00, 0xff, 0x80, 0x7f};
    for (std::byte& x : a) x = std::byte{kEnds[static_cast<uint8_t>(x) % 4]};
    for (std::byte& x : b) x = static_cast<std::byte>((static_cast<uint8_t>(x) % 3 ? 0x7f : 0x81) ^ flip);
  }
  if (fill == Fill::few_beyond) {
    for (std::byte& x : a)
      if (static_cast<uint8_t>(x) % 4) x = std::byte{0xff};
    for (std::byte& x : b) {
      const int w = static_cast<uint8_t>(x);
      x = static_cast<std::byte>(static_cast<uint8_t>(w == 241 ? 127 : w == 242 ? -128 : w % 61 - 30) ^ flip);
    }
  }
  if (fill == Fill::pairs || fill == Fill::beyond) {
    for (std::byte& x : a)
      if (static_cast<uint8_t>(x) % 2) x = std::byte{0xff};
    for (std::byte& x : b) {
      const int w = static_cast<uint8_t>(x) % 5 == 0 ? static_cast<int8_t>(x) % 65 : fill == Fill::pairs ? 64 : 65;
      x = static_cast<std::byte>(static_cast<uint8_t>(static_cast<uint8_t>(x) % 5 == 1 ? -w : w) ^ flip);
    }
  }
}

void check_product(const ProductCase& row, const Loops& table, int threads, Fill fill) {
  SCOPED_TRACE(testing::Message() << row.m << "x" << row.n << "x" << row.k << ", fill " << static_cast<int>(fill));
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  auto a = random_bytes(row.m * row.k, 1), b = random_bytes(row.k * row.n, 2);
  set_fill(fill, a, b, row.b_signed);
  std::vector<int32_t> zeros(size(row.n)), bias(size(row.n)), expected(size(row.m * row.n));
  for (size_t j = 0; j < zeros.size(); ++j) {
    if (row.b_zero) zeros[j] = static_cast<int32_t>(j % 90) - (row.b_signed ? 40 : 0);
    bias[j] = static_cast<int32_t>(j * 1000) - 5000;
  }
  Team team(threads);
  ByteMatrix right{.b = b.data(), .k = row.k, .n = row.n, .is_signed = row.b_signed};
  right.row_stride = row.b_transposed ? 1 : row.n;
  right.col_stride = row.b_transposed ? row.k : 1;
  right.zero = zeros.data();
  right.zero_stride = 1;
  std::vector<std::byte> packed(size(packed_bytes_i8(table, row.k, row.n)));
  pack_b_i8(table, team, right, packed.data());
  GemmI8 p{.m = row.m, .n = row.n, .k = row.k, .a = a.data(), .a_signed = row.a_signed, .a_zero = row.a_zero};
  p.a_row_stride = row.a_transposed ? 1 : row.k;
  p.a_col_stride = row.a_transposed ? row.m : 1;
  p.b = packed.data();
  p.end.bias = bias.data();
  for (int64_t i = 0; i < row.m; ++i) {
    for (int64_t j = 0; j < row.n; ++j) {
      int64_t sum = bias[size(j)];
      for (int64_t k = 0; k < row.k; ++k)
        sum += int64_t{value(a[size(i * p.a_row_stride + k * p.a_col_stride)], row.a_signed) - row.a_zero} *
               (value(b[size(k * right.row_stride + j * right.col_stride)], row.b_signed) - zeros[size(j)]);
      expected[size(i * row.n + j)] = static_cast<int32_t>(sum);
    }
  }
  std::vector<int32_t> c(expected.size());
  p.end.c = c.data();
  p.end.c_row_stride = row.n;
  std::vector<std::byte> workspace(size(gemm_i8_workspace(table, row.m, row.n, row.k, false)));
  gemm_i8(table, team, p, workspace.data());
  test::expect_same(c, expected);

  const ToBytes to(row.n, row.m % 2 == 1);
  std::vector<uint8_t> y(expected.size()), bytes(expected.size());
  p.end.c = nullptr;
  p.end.y = reinterpret_cast<std::byte*>(y.data());
  p.end.y_row_stride = row.n;
  p.end.to_bytes = to.f;
  workspace.resize(size(gemm_i8_workspace(table, row.m, row.n, row.k, true)));
  gemm_i8(table, team, p, workspace.data());
  for (int64_t i = 0; i < row.m * row.n; ++i) bytes[size(i)] = expected_byte(to.f, expected[size(i)], i % row.n);
  test::expect_same(y, bytes);
}

TEST(ProductI8, EqualsTheSums) {
  for_each_int_table([&](const Loops& table) {
    for (const ProductCase& row : products)
      for (int threads : {1, 2})
        for (Fill fill : kFills) check_product(row, table, threads, fill);
  });
}

TEST(ProductI8, AFewPairsBeyondSixteenBitsAreMultipliedByThemselves) {
  constexpr int64_t kDepth = 2500, kColumns = 40;
  bool tried = false;
  for_each_int_table([&](const Loops& table) {
    if (int_tiles(table) != IntTiles::pairs) return;
    tried = true;
    for (Fill fill : {Fill::pairs, Fill::beyond, Fill::few_beyond}) {
      auto none = random_bytes(0, 1), b = random_bytes(kDepth * kColumns, 2);
      set_fill(fill, none, b, true);
      ByteMatrix right{.b = b.data(), .k = kDepth, .n = kColumns, .is_signed = true};
      right.row_stride = kColumns, right.col_stride = 1;
      std::vector<std::byte> packed(static_cast<size_t>(packed_bytes_i8(table, kDepth, kColumns)));
      Team team(2);
      pack_b_i8(table, team, right, packed.data());
      const IntColumns columns(table, kDepth, kColumns, packed.data());
      EXPECT_EQ(columns.tiles == IntTiles::wide, fill == Fill::beyond);
      EXPECT_EQ(columns.any_more(), fill == Fill::few_beyond);
    }
  });
  if (!tried) GTEST_SKIP() << "no instruction set here has tiles of pairs";
}

struct ConvCase {
  const char* name;
  int64_t batch, in_channels, out_channels, h, w, kernel, stride, padding, groups;
  bool x_signed, w_signed, w_zero;
};

const ConvCase convs[] = {
    {"1x1", 2, 20, 33, 5, 7, 1, 1, 0, 1, false, true, false},
    {"3x3 in place", 1, 16, 40, 6, 30, 3, 1, 1, 1, false, true, false},
    {"3x3 signed", 1, 16, 40, 6, 30, 3, 1, 1, 1, true, true, true},
    {"3x3 strided, odd channels", 1, 7, 9, 9, 33, 3, 2, 1, 1, false, false, true},
    {"7x7 of 3", 1, 3, 16, 17, 40, 7, 2, 3, 1, false, true, false},
    {"7x7 of 32, deeper than a block", 1, 32, 40, 9, 12, 7, 1, 3, 1, false, true, false},
    {"5x5 of 1, zero points", 1, 1, 9, 12, 12, 5, 1, 2, 1, false, false, true},
    {"3x3 of 18, zero points", 2, 18, 20, 7, 11, 3, 1, 1, 1, true, true, true},
    {"grouped", 2, 24, 16, 4, 5, 3, 1, 1, 2, false, true, false},
    {"groups of 2", 2, 34, 34, 9, 20, 3, 1, 1, 17, false, true, false},
    {"groups of 4, strided", 1, 40, 40, 21, 18, 5, 2, 2, 10, true, true, true},
    {"groups of 8, several bands", 1, 48, 48, 30, 40, 3, 1, 1, 6, false, false, true},
    {"groups of 8, few channels", 3, 8, 8, 5, 6, 1, 1, 0, 1, true, false, false},
    {"deep", 1, 300, 20, 3, 4, 3, 1, 1, 1, false, true, false},
    {"depthwise", 2, 35, 35, 5, 20, 3, 1, 1, 35, false, true, true},
    {"depthwise signed strided", 1, 16, 16, 9, 21, 5, 2, 2, 16, true, false, true},
    {"depthwise of few", 1, 5, 5, 6, 6, 3, 1, 1, 5, false, true, false},
    {"empty", 0, 4, 4, 5, 5, 3, 1, 1, 1, false, true, false},
};

void check_conv(const ConvCase& row, const Loops& table, int threads, Fill fill) {
  SCOPED_TRACE(testing::Message() << row.name << ", fill " << static_cast<int>(fill));
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  ConvShape s{
      .batch = row.batch, .in_channels = row.in_channels, .out_channels = row.out_channels, .groups = row.groups};
  s.in = {1, row.h, row.w};
  s.kernel = {1, row.kernel, row.kernel};
  s.stride = {1, row.stride, row.stride};
  s.before = {0, row.padding, row.padding};
  for (size_t i = 1; i < 3; ++i) s.out[i] = (s.in[i] + 2 * row.padding - row.kernel) / row.stride + 1;
  const int64_t pixels = s.batch * s.out_pixels(), taps = s.taps(), inputs = s.group_inputs();
  auto x = random_bytes(s.batch * s.in_pixels() * s.in_channels, 1);
  auto w = random_bytes(s.out_channels * inputs * taps, 2);
  set_fill(fill, x, w, row.w_signed);
  const int32_t x_zero = row.x_signed ? -7 : 131;
  std::vector<int32_t> zeros(size(s.out_channels)), bias(size(s.out_channels)), expected;
  for (size_t j = 0; j < zeros.size(); ++j) {
    if (row.w_zero) zeros[j] = static_cast<int32_t>(j % 100);
    bias[j] = static_cast<int32_t>(j * 77) - 500;
  }
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    const int64_t ox = pixel % s.out[2], oy = pixel / s.out[2] % s.out[1], image = pixel / s.out_pixels();
    for (int64_t o = 0; o < s.out_channels; ++o) {
      int64_t sum = bias[size(o)];
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t iy = oy * row.stride - row.padding + t / row.kernel;
        const int64_t ix = ox * row.stride - row.padding + t % row.kernel;
        if (iy < 0 || iy >= row.h || ix < 0 || ix >= row.w) continue;
        for (int64_t c = 0; c < inputs; ++c) {
          const int64_t at = ((image * row.h + iy) * row.w + ix) * s.in_channels + o / s.group_outputs() * inputs + c;
          sum += int64_t{value(x[size(at)], row.x_signed) - x_zero} *
                 (value(w[size((o * inputs + c) * taps + t)], row.w_signed) - zeros[size(o)]);
        }
      }
      expected.push_back(static_cast<int32_t>(sum));
    }
  }
  Team team(threads);
  std::vector<std::byte> packed(size(conv_i8_filter_bytes(table, s)));
  conv_i8_pack_filter(table, team, s, {w.data(), row.w_signed, zeros.data(), 1}, packed.data());
  ConvI8 c{.x = x.data(), .x_signed = row.x_signed, .x_zero = x_zero, .packed = packed.data()};
  std::vector<int32_t> sums(expected.size());
  c.end = {.bias = bias.data(), .c = sums.data(), .c_row_stride = s.out_channels};
  constexpr size_t kBeyond = 1 << 16;
  const auto convolve = [&](bool to_bytes) {
    const size_t bytes = size(conv_i8_workspace(table, s, to_bytes));
    std::vector<std::byte> workspace(bytes + kBeyond, std::byte{0x5a});
    conv_i8(table, team, s, c, workspace.data());
    EXPECT_EQ(std::count(workspace.begin() + static_cast<ptrdiff_t>(bytes), workspace.end(), std::byte{0x5a}), kBeyond);
  };
  convolve(false);
  test::expect_same(sums, expected);

  const ToBytes to(s.out_channels, row.x_signed);
  std::vector<uint8_t> y(expected.size()), bytes(expected.size());
  c.end = {.bias = bias.data(), .y = reinterpret_cast<std::byte*>(y.data()), .y_row_stride = s.out_channels};
  c.end.to_bytes = to.f;
  convolve(true);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = expected_byte(to.f, expected[i], static_cast<int64_t>(i) % s.out_channels);
  test::expect_same(y, bytes);
}

TEST(ConvI8, EqualsTheSums) {
  for_each_int_table([&](const Loops& table) {
    for (const ConvCase& row : convs)
      for (int threads : {1, 2})
        for (Fill fill : kFills) check_conv(row, table, threads, fill);
  });
}

}  // namespace
}  // namespace nnex::kernels
