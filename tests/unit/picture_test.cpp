// Pictures of every format, whole and broken.

#include "ops/picture.h"

#include <gtest/gtest.h>

#include <string>

#include "op_run.h"

namespace nnex {
namespace {

using test::run_op;
using test::shown;

// 4 x 3 pixels, made by the formats' own libraries: red 80 x, green 120 y, blue 255 where x = y.
// clang-format off
constexpr std::string_view kPng =
    "89504e470d0a1a0a0000000d49484452000000040000000308020000003b963991000000017352474200aece1ce900000025494441540899"
    "2dc7310d00300800b092201039c899c43980877ec5148f4fea6008a4c67d01873f05da767ac7220000000049454e44ae426082";
constexpr std::string_view kJpg =
    "ffd8ffe000104a46494600010100000100010000ffdb00430001010101010101010101010101010101010101010101010101010101010101"
    "010101010101010101010101010101010101010101010101010101010101010101ffdb004301010101010101010101010101010101010101"
    "01010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101ffc00011080003000403"
    "011100021101031101ffc40014000100000000000000000000000000000009ffc4001d100002020301010100000000000000000003040102"
    "050708110912ffc400150101010000000000000000000000000000060affc4001e1100010403010101000000000000000000060203040501"
    "0708111209ffda000c03010002110311003f005879abe747101747ebe789cdbae6cde4b12769e3ca791fdb4d0b24ea10c97cc8c56c722c92"
    "f0c1bc82347a91b66c56cec1cb30fdadd3dbfad0974f1ed86d3289261b3b4fcf2c3fbe5c88d898565557bd7776bd6c9adf088c961f20b118"
    "061b411dce1945895dec7b13027936e6040437b6ac7f323b1ba791ca027151ba0c931e1582d88ad624c4f96185d00e4bcb2dfb0fdc3487a4"
    "bd965bf7e186b288ec25b8ed32d23fffd9";
constexpr std::string_view kWebp =
    "5249464646000000574542505650384c3a0000002f038000005f40906d5384e11efb38048120218c36ea682308088afc1f6dfe835f9c60dc"
    "2c61a65104100490d06490d0067b4cb27144ffa3ee01";
constexpr std::string_view kTif =
    "49492a002a0000008000000ff28409410278408007800140f0ff50431e10c00424a109503c1fef084c040a00000103000100000004000000"
    "0101030001000000030000000201030003000000a80000000301030001000000050000000601030001000000020000001101040001000000"
    "080000001501030001000000030000001601030001000000030000001701040001000000220000001c010300010000000100000000000000"
    "080008000800";
constexpr std::string_view kJp2 =
    "0000000c6a5020200d0a870a00000014667479706a703220000000006a7032200000002d6a70326800000016696864720000000300000004"
    "0003070700000000000f636f6c7201000000000010000000b66a703263ff4fff51002f000000000004000000030000000000000000000000"
    "040000000300000000000000000003070101070101070101ff52000c00000001010004040001ff5c00044040ff6400250001437265617465"
    "64206279204f70656e4a5045472076657273696f6e20322e352e30ff90000a00000000003e0001ff93cfb43408368b586c271fd468aff5a4"
    "3fdf807002beb8e8309ab0fcc7dfa2d7ff7fdf80600e2bc0ae87ddb4d92fca33bfffd9";
// clang-format on
constexpr std::string_view kPixels =
    "u8[3,4,3] 0 0 255 80 0 0 160 0 0 240 0 0 0 120 0 80 120 255 160 120 0 240 120 0 0 240 0 80 240 0 160 240 255 240 "
    "240 0";

std::vector<uint8_t> bytes_of(std::string_view hex) {
  std::vector<uint8_t> out;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<uint8_t>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  return out;
}
std::vector<uint8_t> plain(std::string_view text) { return {text.begin(), text.end()}; }

std::string decoded(const std::vector<uint8_t>& bytes) {
  auto t = decode_picture(bytes);
  if (!t.ok()) return t.error().message();
  std::vector<Tensor> one;
  one.push_back(std::move(t).value());
  return shown(Result<std::vector<Tensor>>(std::move(one)));
}

TEST(Picture, FormatsWithoutLoss) {
  for (std::string_view file : {kPng, kWebp, kTif, kJp2}) {
    const std::string got = decoded(bytes_of(file));
    if (got.find("this build lacks") != std::string::npos) continue;
    EXPECT_EQ(got, kPixels);
  }
}

TEST(Picture, Jpeg) {
  auto t = decode_picture(bytes_of(kJpg));
  if (!t.ok() && t.error().code() == Code::unsupported) GTEST_SKIP() << t.error().message();
  ASSERT_TRUE(t.ok()) << t.error().message();
  EXPECT_EQ(t->shape().text(), "[3,4,3]");
  for (int64_t y = 0; y < 3; ++y)
    for (int64_t x = 0; x < 4; ++x) {
      EXPECT_NEAR(int_at(*t, (y * 4 + x) * 3), 80 * x, 8);
      EXPECT_NEAR(int_at(*t, (y * 4 + x) * 3 + 1), 120 * y, 8);
    }
}

// ---- Formats read here

std::string little(uint32_t v, int bytes) {
  std::string s;
  for (int i = 0; i < bytes; ++i) s += static_cast<char>(uint64_t{v} >> (8 * i));
  return s;
}

/// A BMP with a header of 40 bytes; `more` (masks, palette) stands before the pixels.
std::vector<uint8_t> bmp(int width, int height, int bits, uint32_t compression, const std::string& more,
                         const std::string& pixels, uint32_t colors = 0) {
  const auto offset = static_cast<uint32_t>(54 + more.size());
  return plain("BM" + little(offset + static_cast<uint32_t>(pixels.size()), 4) + little(0, 4) + little(offset, 4) +
               little(40, 4) + little(static_cast<uint32_t>(width), 4) + little(static_cast<uint32_t>(height), 4) +
               little(1, 2) + little(static_cast<uint32_t>(bits), 2) + little(compression, 4) + little(0, 4) +
               little(0, 8) + little(colors, 4) + little(0, 4) + more + pixels);
}

const std::string kPalette = std::string("\1\2\3\0", 4) + std::string("\4\5\6\0", 4) + std::string("\7\10\11\0", 4);

TEST(Picture, Bmp) {
  const std::string two = std::string("\1\2\3\4\5\6\0\0", 8);
  EXPECT_EQ(decoded(bmp(2, 1, 24, 0, "", two)), "u8[1,2,3] 3 2 1 6 5 4");
  EXPECT_EQ(decoded(bmp(1, 2, 24, 0, "", two)), "u8[2,1,3] 0 6 5 3 2 1");   // bottom row first
  EXPECT_EQ(decoded(bmp(1, -2, 24, 0, "", two)), "u8[2,1,3] 3 2 1 0 6 5");  // top row first
  EXPECT_EQ(decoded(bmp(1, 1, 32, 0, "", std::string("\1\2\3\4", 4))), "u8[1,1,3] 3 2 1");
  EXPECT_EQ(decoded(bmp(3, 1, 8, 0, kPalette, std::string("\2\0\1\0", 4), 3)), "u8[1,3,3] 9 8 7 3 2 1 6 5 4");
  EXPECT_EQ(decoded(bmp(3, 1, 4, 0, kPalette, std::string("\x20\x10\0\0", 4), 3)), "u8[1,3,3] 9 8 7 3 2 1 6 5 4");
  EXPECT_EQ(decoded(bmp(3, 1, 1, 0, kPalette.substr(0, 8), std::string("\x40\0\0\0", 4))),
            "u8[1,3,3] 3 2 1 6 5 4 3 2 1");
  // Five bits a channel, and masks of 5, 6, 5 bits.
  EXPECT_EQ(decoded(bmp(1, 1, 16, 0, "", std::string("\x1F\x7C\0\0", 4))), "u8[1,1,3] 255 0 255");
  const std::string masks = little(0xF800, 4) + little(0x7E0, 4) + little(0x1F, 4);
  EXPECT_EQ(decoded(bmp(1, 1, 16, 3, masks, std::string("\xE0\x87\0\0", 4))), "u8[1,1,3] 132 255 0");
}

TEST(Picture, BmpRuns) {
  // Two of colour 1, end of row; one plain 2, 0, 1 filled up, end.
  const std::string runs = std::string("\2\1\0\0\0\3\2\0\1\0\0\1", 12);
  EXPECT_EQ(decoded(bmp(3, 2, 8, 1, kPalette, runs, 3)), "u8[2,3,3] 9 8 7 3 2 1 6 5 4 6 5 4 6 5 4 3 2 1");
  const std::string nibbles = std::string("\3\x12\0\0\0\3\x20\x10\0\1", 10);
  EXPECT_EQ(decoded(bmp(3, 2, 4, 2, kPalette, nibbles, 3)), "u8[2,3,3] 9 8 7 3 2 1 6 5 4 6 5 4 9 8 7 6 5 4");
  const std::string far = std::string("\0\2\xFF\xFF\xFF\1\0\1", 8);  // runs outside the picture
  EXPECT_EQ(decoded(bmp(1, 1, 8, 1, kPalette, far, 3)), "u8[1,1,3] 3 2 1");
  EXPECT_EQ(decoded(bmp(1, 9, 8, 1, kPalette, std::string("\1\1", 2), 3)), "not a BMP picture: its runs are cut off");
}

TEST(Picture, Pnm) {
  EXPECT_EQ(decoded(plain("P3 # red\n1 2 255\n1 2 3 4 5 6")), "u8[2,1,3] 1 2 3 4 5 6");
  EXPECT_EQ(decoded(plain("P2 2 1 3 0 3")), "u8[1,2,3] 0 0 0 255 255 255");
  EXPECT_EQ(decoded(plain("P1 3 1 010")), "u8[1,3,3] 255 255 255 0 0 0 255 255 255");
  EXPECT_EQ(decoded(plain("P4 3 1 \x40")), "u8[1,3,3] 255 255 255 0 0 0 255 255 255");
  EXPECT_EQ(decoded(plain("P5 2 1 255 \x01\xFF")), "u8[1,2,3] 1 1 1 255 255 255");
  EXPECT_EQ(decoded(plain(std::string("P6 1 1 65535 \xFF\xFF\x80\x00\x00\x00", 19))), "u8[1,1,3] 255 128 0");
  EXPECT_EQ(decoded(plain("P6 2 1 255 abc")), "not a PNM picture: its pixels are cut off");
  EXPECT_EQ(decoded(plain("P6 2 1 99999 abc")), "not a PNM picture: its header is wrong");
}

TEST(Picture, TooLarge) {
  EXPECT_EQ(decoded(bmp(1 << 20, 1 << 20, 24, 0, "", "")),
            "a picture of 1048576 x 1048576 pixels; the limit is 67108864 pixels");
  EXPECT_EQ(decoded(plain("P6 99999999 99999999 255 a")),
            "a picture of 99999999 x 99999999 pixels; the limit is 67108864 pixels");
  auto png = bytes_of(kPng);
  for (size_t i = 16; i < 24; ++i) png[i] = i % 4 == 1;  // 65536 x 65536, and a wrong checksum
  EXPECT_NE(decoded(png).substr(0, 3), "u8[");
}

TEST(Picture, BrokenOnesAreNoPictures) {
  for (std::string_view hex : {kPng, kJpg, kWebp, kTif, kJp2}) {
    const std::vector<uint8_t> whole = bytes_of(hex);
    for (size_t n = 0; n < whole.size(); ++n) (void)decoded({whole.begin(), whole.begin() + static_cast<int64_t>(n)});
    for (size_t i = 0; i < whole.size(); ++i)
      for (uint8_t flip : {1, 16, 128, 255}) {
        auto broken = whole;
        broken[i] ^= flip;
        (void)decoded(broken);
      }
  }
  EXPECT_EQ(decoded({}), "the bytes begin no picture known here");
}

// ---- The operator

TEST(ImageDecoder, FormatsAndNoPicture) {
  const auto file = bmp(1, 1, 24, 0, "", std::string("\x0A\x14\x1E\0", 4));
  const Tensor bytes = Tensor::of(Shape{static_cast<int64_t>(file.size())}, file);
  EXPECT_EQ(shown(run_op("image_decoder", {bytes})), "u8[1,1,3] 30 20 10");
  EXPECT_EQ(shown(run_op("image_decoder", {bytes}, {{"format", "bgr"}})), "u8[1,1,3] 10 20 30");
  // 0.299 * 30 + 0.587 * 20 + 0.114 * 10 = 21.85
  EXPECT_EQ(shown(run_op("image_decoder", {bytes}, {{"format", "grayscale"}})), "u8[1,1,1] 22");
  const Tensor none = Tensor::of(Shape{3}, std::vector<uint8_t>{1, 2, 3});
  EXPECT_EQ(shown(run_op("image_decoder", {none})), "u8[0,0,3]");
  EXPECT_EQ(shown(run_op("image_decoder", {none}, {{"format", "grayscale"}})), "u8[0,0,1]");
}

}  // namespace
}  // namespace nnex
