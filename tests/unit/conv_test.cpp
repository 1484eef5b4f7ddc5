#include "kernels/conv/conv.h"
#include "kernels/conv/few.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "conv_oracle.h"
#include "kernels/conv/planes.h"
#include "share.h"
#include "simd_test.h"

namespace nnex::kernels {
namespace {

using simd::Loops;
using Axes = ConvShape::Axes;

struct Given {
  const char* name;
  ConvShape s;
};

ConvShape plane(int64_t batch, int64_t in_channels, int64_t out_channels, int64_t h, int64_t w, int64_t kernel,
                int64_t stride, int64_t padding, int64_t groups = 1, int64_t dilation = 1) {
  ConvShape s{.batch = batch, .in_channels = in_channels, .out_channels = out_channels, .groups = groups};
  s.in = {1, h, w};
  s.kernel = {1, kernel, kernel};
  s.stride = {1, stride, stride};
  s.dilation = {1, dilation, dilation};
  s.before = {0, padding, padding};
  for (size_t i = 1; i < 3; ++i) s.out[i] = (s.in[i] + 2 * padding - (kernel - 1) * dilation - 1) / stride + 1;
  return s;
}

ConvShape with_out(ConvShape s, Axes out, Axes before) {
  s.out = out;
  s.before = before;
  return s;
}

const Given rows[] = {
    {"1x1", plane(2, 5, 7, 4, 3, 1, 1, 0)},
    {"1x1 strided", plane(1, 20, 33, 9, 9, 1, 2, 0)},
    {"3x3", plane(2, 16, 20, 5, 17, 3, 1, 1)},
    {"3x3 many channels", plane(1, 96, 40, 2, 16, 3, 1, 1)},
    {"3x3 short lines", plane(2, 24, 65, 4, 4, 3, 1, 1)},
    {"3x3 strided", plane(1, 13, 17, 9, 33, 3, 2, 1)},
    {"3x3 dilated", plane(1, 16, 8, 9, 24, 3, 1, 2, 1, 2)},
    {"3x3 far dilated", plane(2, 20, 37, 13, 17, 3, 1, 6, 1, 6)},
    {"3x3 beyond the image", plane(1, 16, 8, 7, 30, 3, 1, 9, 1, 9)},
    {"3x3 far dilated, of 64 channels", plane(2, 64, 33, 13, 17, 3, 1, 6, 1, 6)},
    {"3x3 dilated beyond the image, of 96", plane(1, 96, 17, 9, 10, 3, 1, 12, 1, 12)},
    {"3x3 far dilated, in several depths", plane(1, 320, 16, 9, 16, 3, 1, 7, 1, 7)},
    {"5x5 far dilated and strided, of 72", plane(1, 72, 40, 20, 22, 5, 2, 10, 1, 5)},
    {"3x3 dilated, fewer zeros around than taps reach", plane(1, 64, 24, 30, 31, 3, 1, 3, 1, 9)},
    {"5x5 far dilated, strided", plane(1, 24, 16, 20, 22, 5, 2, 10, 1, 5)},
    {"7x7 of 3 channels", plane(1, 3, 16, 17, 40, 7, 2, 3)},
    {"5x5 of 1 channel", plane(1, 1, 6, 12, 20, 5, 1, 2)},
    {"no padding", plane(1, 4, 4, 6, 12, 3, 1, 0)},
    {"grouped", plane(1, 12, 18, 5, 15, 3, 1, 1, 3)},
    {"many groups", plane(1, 16, 32, 5, 9, 3, 1, 1, 8)},
    {"groups of 2", plane(2, 10, 10, 5, 19, 3, 1, 1, 5)},
    {"groups of 4", plane(2, 36, 36, 5, 19, 3, 1, 1, 9)},
    {"groups of 4, strided", plane(1, 16, 16, 9, 37, 3, 2, 1, 4)},
    {"groups of 4, few channels", plane(1, 8, 8, 4, 11, 3, 1, 1, 2)},
    {"groups of 4, 5x5 dilated", plane(1, 20, 20, 12, 23, 5, 1, 4, 5, 2)},
    {"groups of 8", plane(1, 24, 24, 4, 13, 3, 1, 1, 3)},
    {"groups of 8, 1x1 strided", plane(1, 32, 32, 5, 21, 1, 2, 0, 4)},
    {"groups of 16, strided", plane(1, 48, 48, 5, 19, 3, 2, 1, 3)},
    {"groups of one tap, short lines", plane(2, 66, 84, 7, 7, 1, 1, 0, 3)},
    {"3x3 of lines that leave small tiles, many outputs", plane(2, 20, 130, 7, 7, 3, 1, 1)},
    {"the same in several depths, strided", plane(1, 70, 144, 13, 13, 3, 2, 1)},
    {"groups of 16, many", plane(1, 1040, 1040, 3, 9, 3, 1, 1, 65)},
    {"depthwise", plane(2, 19, 19, 6, 21, 3, 1, 1, 19)},
    {"depthwise strided", plane(1, 32, 32, 9, 37, 3, 2, 1, 32)},
    {"depthwise 5x5", plane(1, 24, 24, 7, 23, 5, 1, 2, 24)},
    {"depthwise 5x5 strided", plane(1, 8, 8, 11, 41, 5, 2, 2, 8)},
    {"depthwise 4x4 dilated", plane(1, 9, 9, 12, 30, 4, 1, 3, 9, 2)},
    {"depthwise narrow", plane(1, 6, 6, 2, 2, 3, 1, 1, 6)},
    {"depthwise of few channels, wide", plane(1, 5, 5, 4, 260, 3, 1, 1, 5)},
    {"depthwise of few channels, dilated", plane(2, 3, 3, 9, 40, 5, 1, 6, 3, 3)},
    {"depthwise of few channels, taps far apart", plane(1, 9, 9, 3, 150, 3, 1, 30, 9, 30)},
    {"one channel", plane(2, 1, 1, 7, 33, 3, 1, 1)},
    {"one channel, 7x7", plane(1, 1, 1, 9, 600, 7, 1, 3)},
    {"one channel, strided", plane(1, 1, 1, 9, 33, 3, 2, 1)},
    {"depthwise, two outputs a channel", plane(1, 6, 12, 5, 9, 3, 1, 1, 6)},
    {"planes of 5 outputs a channel", plane(2, 3, 15, 9, 41, 3, 1, 1, 3)},
    {"planes of 9 outputs, strided", plane(1, 1, 9, 11, 70, 5, 2, 2)},
    {"planes of 9 outputs, several strips", plane(2, 1, 9, 130, 33, 3, 1, 1)},
    {"depthwise 7x7", plane(1, 17, 17, 12, 30, 7, 1, 3, 17)},
    {"depthwise, short lines", plane(2, 33, 33, 9, 14, 3, 1, 1, 33)},
    {"depthwise, wide padding", plane(1, 32, 32, 9, 20, 3, 1, 6, 32)},
    {"uneven padding", with_out(plane(1, 8, 8, 7, 18, 3, 2, 0), {1, 4, 9}, {0, 0, 1})},
    {"padding longer than the filter", with_out(plane(1, 4, 5, 3, 3, 2, 1, 0), {1, 9, 20}, {0, 4, 5})},
    {"one axis",
     {.batch = 2,
      .in_channels = 6,
      .out_channels = 5,
      .in = {1, 1, 50},
      .out = {1, 1, 50},
      .kernel = {1, 1, 5},
      .before = {0, 0, 2}}},
    {"three axes",
     {.batch = 1,
      .in_channels = 5,
      .out_channels = 9,
      .in = {4, 5, 16},
      .out = {2, 5, 16},
      .kernel = {3, 3, 3},
      .stride = {2, 1, 1},
      .before = {1, 1, 1}}},
    {"three axes, depthwise",
     {.batch = 1,
      .in_channels = 5,
      .out_channels = 5,
      .groups = 5,
      .in = {4, 5, 16},
      .out = {4, 5, 16},
      .kernel = {3, 3, 3},
      .before = {1, 1, 1}}},
    {"three axes, 6 outputs of one channel",
     {.batch = 2,
      .in_channels = 1,
      .out_channels = 6,
      .in = {4, 6, 40},
      .out = {2, 6, 40},
      .kernel = {3, 3, 3},
      .stride = {2, 1, 1},
      .before = {1, 1, 1}}},
    {"pixels apart",
     {.batch = 1,
      .in_channels = 16,
      .out_channels = 9,
      .in = {1, 5, 18},
      .out = {1, 5, 18},
      .kernel = {1, 3, 3},
      .before = {0, 1, 1},
      .x_stride = 20,
      .y_stride = 13}},
    {"colliding rows",
     {.batch = 1,
      .in_channels = 16,
      .out_channels = 9,
      .in = {1, 3, 18},
      .out = {1, 3, 18},
      .kernel = {1, 3, 3},
      .before = {0, 1, 1},
      .x_stride = 512}},
    {"short lines of wide windows", plane(2, 30, 40, 9, 20, 5, 1, 2)},
    {"the shortest, padded on one side", with_out(plane(1, 23, 5, 4, 8, 3, 1, 0), {1, 4, 8}, {0, 0, 2})},
    {"winograd", plane(2, 32, 69, 12, 16, 3, 1, 1)},
    {"winograd, few outputs", plane(1, 64, 18, 13, 11, 3, 1, 1)},
    {"winograd, odd extents", plane(1, 67, 32, 11, 13, 3, 1, 1)},
    {"winograd, no padding", plane(1, 33, 70, 14, 15, 3, 1, 0)},
    {"winograd, pixels apart", [] {
       ConvShape s = plane(1, 40, 60, 12, 12, 3, 1, 1);
       s.x_stride = 43, s.y_stride = 64;
       return s;
     }()},
    {"to few channels, lower than the window", plane(1, 10, 5, 1, 16, 3, 1, 1)},
    {"to few channels, dilated beyond the image",
     [] {
       ConvShape s = plane(2, 9, 3, 6, 18, 3, 1, 4);
       s.dilation = {1, 4, 2}, s.before = {0, 4, 2};
       return s;
     }()},
    {"to one channel", plane(2, 9, 1, 20, 33, 3, 1, 1)},
    {"to two channels, several bands", plane(1, 40, 2, 40, 150, 3, 1, 1)},
    {"to three channels, no padding", plane(1, 33, 3, 12, 40, 5, 1, 0)},
    {"to four channels, dilated",
     [] {
       ConvShape s = plane(2, 8, 4, 17, 40, 3, 1, 2);
       s.dilation = {1, 2, 3}, s.before = {0, 2, 3};
       return s;
     }()},
    {"to two channels, pixels apart",
     [] {
       ConvShape s = plane(1, 16, 2, 5, 18, 3, 1, 1);
       s.x_stride = 20, s.y_stride = 5;
       return s;
     }()},
    {"to three channels, one tap", plane(2, 19, 3, 40, 66, 1, 1, 0)},
    {"to one channel, along one axis", with_out(plane(3, 12, 1, 1, 70, 1, 1, 0), {1, 1, 64}, {0, 0, 2})},
    {"to one channel, more padding than its lines", with_out(plane(1, 10, 1, 4, 16, 3, 1, 0), {1, 12, 40}, {0, 5, 19})},
    {"empty batch", plane(0, 4, 4, 5, 5, 3, 1, 1)},
    {"no input channels", plane(1, 0, 4, 5, 5, 3, 1, 1)},
    {"no output pixels", with_out(plane(1, 2, 2, 5, 5, 3, 1, 1), {1, 0, 5}, {0, 1, 1})},
};

const float* const kGiven = reinterpret_cast<const float*>(64);

void check(const ConvShape& s, const Loops& table, int threads, Epilogue end) {
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  const int64_t pixels = s.batch * s.out_pixels();
  const std::vector<float> x = test::uniform_floats(size(s.batch * s.in_pixels() * s.x_step()), 2, 1);
  const std::vector<float> filter = test::uniform_floats(size(s.out_channels * s.group_inputs() * s.taps()), 2, 2);
  std::vector<float> bias = test::uniform_floats(size(s.out_channels), 1, 3);
  if (end.activation.replaces_nan()) bias.back() = std::nanf("");
  const std::vector<float> residual = test::uniform_floats(size(pixels * (s.out_channels + 1)), 1, 4);
  if (end.bias) end.bias = bias.data();
  if (end.residual) end.residual = residual.data();
  end.residual_stride = s.out_channels + 1;

  const auto one = conv_method(s) == ConvMethod::winograd ? oracle::winograd : oracle::conv;
  Team team(threads);
  std::vector<std::byte> bytes(filter.size() * 4 + 1);
  if (!filter.empty()) std::memcpy(bytes.data() + 1, filter.data(), filter.size() * 4);
  std::vector<float> packed(size(conv_filter_floats(table, s)));
  conv_pack_filter(table, team, s, bytes.data() + 1, packed.data());
  std::vector<std::byte> workspace(size(conv_workspace(table, s, team.size())));
  std::vector<float> y(size(pixels * s.y_step()), 7.0F), expected = y;
  conv(table, team, s, x.data(), packed.data(), y.data(), end, workspace.data());
  const int64_t one_in = test::share();  // of the outputs; the memory that all of them touch is the same
  for (int64_t row = 0; row < pixels; ++row)
    for (int64_t c = 0; c < s.out_channels; ++c) {
      const size_t at = size(row * s.y_step() + c);
      const bool counts = (row * s.out_channels + c) % one_in == 0;
      expected[at] = counts ? one(s, x.data(), filter.data(), end, row, c, test::fuses(table)) : y[at];
    }
  test::expect_same(y, expected);
}

TEST(Conv, EqualsTheChainOfEveryOutput) {
  test::for_each_table([&](const Loops& table) {
    for (const Given& row : rows) {
      SCOPED_TRACE(row.name);
      check(row.s, table, 1, {});
      check(row.s, table, 2, {.bias = kGiven, .residual = kGiven, .activation = {UnaryKind::relu}});
    }
  });
}

TEST(Conv, FewPatchesForManyThreads) {
  for (const ConvShape& s : {plane(1, 48, 80, 13, 12, 3, 1, 1), plane(2, 64, 33, 11, 12, 3, 1, 1)}) {
    ASSERT_EQ(conv_method(s), ConvMethod::winograd);
    test::for_each_table([&](const Loops& table) {
      for (int threads : {3, 20})
        check(s, table, threads, {.bias = kGiven, .residual = kGiven, .activation = {UnaryKind::silu}});
    });
  }
}

/// [batch, pixels, channels] as [batch, channels, pixels].
std::vector<float> as_planes(const std::vector<float>& x, int64_t batch, int64_t channels) {
  std::vector<float> planes(x.size());
  const int64_t pixels = batch * channels > 0 ? static_cast<int64_t>(x.size()) / batch / channels : 0;
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < pixels; ++p)
        planes[static_cast<size_t>((i * channels + c) * pixels + p)] =
            x[static_cast<size_t>((i * pixels + p) * channels + c)];
  return planes;
}

/// The same convolution of planes: x and y turned around it.
void check_planes(const ConvShape& s, const Loops& table, int threads, Epilogue end) {
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  const int64_t pixels = s.out_pixels();
  const std::vector<float> x = test::uniform_floats(size(s.batch * s.in_pixels() * s.in_channels), 2, 1);
  const std::vector<float> filter = test::uniform_floats(size(s.out_channels * s.group_inputs() * s.taps()), 2, 2);
  std::vector<float> bias = test::uniform_floats(size(s.out_channels), 1, 3);
  if (end.activation.replaces_nan()) bias.back() = std::nanf("");
  if (end.bias) end.bias = bias.data();
  const std::vector<float> planes = as_planes(x, s.batch, s.in_channels);

  Team team(threads);
  std::vector<float> packed(size(plane_filter_floats(s)));
  pack_plane_filter(s, reinterpret_cast<const std::byte*>(filter.data()), packed.data());
  const int64_t bytes = plane_workspace(table, s, team.size());
  std::vector<std::byte> workspace(size(bytes + 64), std::byte{0x7f});
  const auto at = reinterpret_cast<uintptr_t>(workspace.data());
  std::vector<float> y(size(s.batch * pixels * s.out_channels), 7.0F), expected = y;
  conv_planes(table, team, s, planes.data(), packed.data(), y.data(), end, workspace.data() + (64 - at % 64));
  for (int64_t i = 0; i < s.batch; ++i)
    for (int64_t c = 0; c < s.out_channels; ++c)
      for (int64_t p = 0; p < pixels; ++p)
        expected[size((i * s.out_channels + c) * pixels + p)] =
            oracle::conv(s, x.data(), filter.data(), end, i * pixels + p, c, test::fuses(table));
  test::expect_same(y, expected);
}

TEST(Conv, ToFewChannelsPlanesEqualPixels) {
  test::for_each_table([&](const Loops& table) {
    size_t tried = 0;
    for (const Given& row : rows) {
      const ConvShape& s = row.s;
      if (conv_method(s) != ConvMethod::few || s.x_stride || s.y_stride) continue;
      SCOPED_TRACE(row.name);
      ++tried;
      const auto size = [](int64_t n) { return static_cast<size_t>(n); };
      const std::vector<float> x = test::uniform_floats(size(s.batch * s.in_pixels() * s.in_channels), 2, 1);
      const std::vector<float> filter = test::uniform_floats(size(s.out_channels * s.in_channels * s.taps()), 2, 2);
      const std::vector<float> bias = test::uniform_floats(size(s.out_channels), 1, 3);
      for (const Unary& activation : {Unary{}, Unary{UnaryKind::relu}, Unary{UnaryKind::sigmoid}})
        for (int threads : {1, 3}) {
          Team team(threads);
          Epilogue end;
          end.bias = bias.data(), end.activation = activation;
          std::vector<float> packed(size(few_filter_floats(s)));
          pack_few_filter(s, reinterpret_cast<const std::byte*>(filter.data()), packed.data());
          std::vector<std::byte> workspace(size(few_workspace(s, threads)), std::byte{0x7f});
          std::vector<float> y(size(s.batch * s.out_pixels() * s.out_channels)), of_planes(y.size());
          conv_few(table, team, s, false, x.data(), packed.data(), y.data(), end, workspace.data());
          const std::vector<float> planes = as_planes(x, s.batch, s.in_channels);
          conv_few(table, team, s, true, planes.data(), packed.data(), of_planes.data(), end, workspace.data());
          test::expect_same(of_planes, as_planes(y, s.batch, s.out_channels));
        }
    }
    EXPECT_GE(tried, 5U);
  });
}

TEST(Conv, PlanesEqualTheChainOfEveryOutput) {
  ConvShape wide = plane(1, 2, 2, 40, 700, 3, 1, 1, 2);  // more lines than a strip has
  ConvShape volume = plane(2, 3, 6, 9, 18, 3, 2, 1, 3);
  volume.in[0] = 5, volume.out[0] = 3, volume.kernel[0] = 2, volume.stride[0] = 2, volume.before[0] = 1;
  ConvShape tall = plane(1, 3, 3, 30, 11, 3, 1, 2, 3);
  tall.kernel = {1, 5, 2}, tall.stride = {1, 3, 3}, tall.dilation = {1, 2, 4}, tall.out = {1, 9, 4};
  const Given more[] = {
      {"more lines than a strip has", wide},
      {"three axes, two outputs a channel", volume},
      {"every axis its own stride and dilation", tall},
      {"3x3 of few lines", plane(1, 5, 5, 3, 70, 3, 1, 1, 5)},
      {"5x5 strided, no padding", plane(1, 2, 2, 21, 39, 5, 2, 0, 2)},
      {"1x1 strided by three", plane(1, 4, 4, 10, 50, 1, 3, 0, 4)},
      {"pictures of three channels", plane(2, 3, 17, 61, 53, 3, 2, 1)},
      {"pictures of four channels, more lines than a strip has", plane(1, 4, 6, 40, 300, 5, 1, 2)},
      {"two channels to three, 7x7", plane(1, 2, 3, 20, 45, 7, 2, 3)},
      {"padding longer than the line", with_out(plane(1, 2, 2, 3, 3, 2, 2, 0, 2), {1, 5, 9}, {0, 5, 9})}};
  test::for_each_table([&](const Loops& table) {
    const auto both = [&](const Given& row) {
      SCOPED_TRACE(row.name);
      check_planes(row.s, table, 1, {});
      check_planes(row.s, table, 2, {.bias = kGiven, .activation = {UnaryKind::clamp, -1, 1}});
      check_planes(row.s, table, 1, {.bias = kGiven, .activation = {UnaryKind::relu, 0, 0, 0.25F}});
      check_planes(row.s, table, 3, {.scale = 0.5F, .bias = kGiven, .activation = {UnaryKind::silu, 1}});
    };
    for (const Given& row : rows)
      if (is_plane_conv(row.s)) both(row);
    for (const Given& row : more) {
      ASSERT_TRUE(is_plane_conv(row.s)) << row.name;
      both(row);
    }
  });
}

TEST(Conv, DepthwiseLinesOfEveryLength) {
  test::for_each_table([&](const Loops& table) {
    for (int64_t kernel : {3, 5, 7})
      for (int64_t stride : {1, 2})
        for (int64_t width = 1; width < 35; width += width < 17 ? 1 : 3)
          for (int64_t padding : {0, 1, 2, 3, 4})
            for (int64_t channels : {16, 25, 64}) {  // 64 of 35 pixels leave the first level cache
              if (width + 2 * padding < kernel || (channels == 64 && padding != kernel / 2)) continue;
              ConvShape s = plane(1, channels, channels, kernel, width, kernel, stride, padding, channels);
              s.out[1] = 1, s.before[1] = padding;
              check(s, table, 1, {.bias = kGiven, .activation = {UnaryKind::relu}});
              if (padding == 2) {  // less of it behind: the last window ends where it may
                s.out[2] = std::max<int64_t>(1, s.out[2] - 1);
                check(s, table, 1, {.residual = kGiven});
              }
            }
  });
}

TEST(Conv, WinogradIsForManyChannelsAndPixels) {
  EXPECT_EQ(conv_method(plane(1, 64, 64, 14, 14, 3, 1, 1)), ConvMethod::winograd);
  EXPECT_EQ(conv_method(plane(9, 64, 64, 7, 7, 3, 1, 1)), ConvMethod::tiles);  // whatever the batch
  EXPECT_EQ(conv_method(plane(1, 24, 24, 14, 14, 3, 1, 1)), ConvMethod::winograd);
  EXPECT_EQ(conv_method(plane(1, 16, 48, 14, 14, 3, 1, 1)), ConvMethod::winograd);
  EXPECT_EQ(conv_method(plane(1, 16, 32, 14, 14, 3, 1, 1)), ConvMethod::tiles);  // transforms for few products
  EXPECT_EQ(conv_method(plane(1, 8, 96, 14, 14, 3, 1, 1)), ConvMethod::tiles);
  EXPECT_EQ(conv_method(plane(1, 64, 64, 14, 14, 3, 2, 1)), ConvMethod::tiles);
  EXPECT_EQ(conv_method(plane(1, 64, 64, 1, 200, 3, 1, 1)), ConvMethod::tiles);
  ConvShape small = plane(1, 64, 64, 14, 14, 3, 1, 1);
  small.low_memory = true;
  EXPECT_EQ(conv_method(small), ConvMethod::tiles);
}

TEST(Conv, EveryEpilogue) {
  const Epilogue ends[] = {
      {.scale = 0.5F},
      {.bias = kGiven},
      {.residual = kGiven, .residual_scale = 0.3F},
      {.bias = kGiven, .activation = {UnaryKind::clamp, 0, 6}},
      {.bias = kGiven, .activation = {UnaryKind::relu, 0, 0, 0.25F}},
      {.bias = kGiven, .activation = {UnaryKind::clamp, -1, 1, 0.5F}},
      {.bias = kGiven, .activation = {UnaryKind::leaky_relu, 0.1F}},
      {.bias = kGiven, .residual = kGiven, .activation = {UnaryKind::silu, 1}},
      {.activation = {UnaryKind::hard_swish}},
  };
  test::for_each_table([&](const Loops& table) {
    for (const Epilogue& end : ends)
      for (size_t i : {0, 2, 3, 10, 12, 26}) check(rows[i].s, table, 2, end);
  });
}

}  // namespace
}  // namespace nnex::kernels
