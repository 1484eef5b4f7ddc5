// Pictures whose pixels lie plain in the file: BMP and the portable any maps.

#include <algorithm>
#include <array>
#include <cstring>

#include "base/try.h"
#include "ops/picture.h"

namespace nnex {
namespace {

// ---- BMP

struct BmpHeader {
  int64_t data = 0, size = 0, width = 0, height = 0, colors = 0;
  int bits = 0;
  uint32_t compression = 0;
  bool down = false;                   ///< The first row is the top one.
  std::array<uint32_t, 3> masks = {};  ///< Of 16 and 32 bits: red, green, blue.
  std::array<std::array<uint8_t, 3>, 256> palette = {};
};

enum : uint32_t { kPlain = 0, kRle8 = 1, kRle4 = 2, kFields = 3, kAlphaFields = 6 };

uint32_t little(Bytes b, size_t at, size_t n) {
  uint32_t v = 0;
  for (size_t i = n; i-- > 0;) v = v << 8 | b[at + i];
  return v;
}

Result<BmpHeader> bmp_header(Bytes b) {
  const auto broken = [](std::string_view why) { return broken_picture("BMP", why); };
  if (b.size() < 26) return broken("its header is cut off");
  BmpHeader h;
  h.data = little(b, 10, 4), h.size = little(b, 14, 4);
  const bool old = h.size == 12;
  if (!old && (h.size < 40 || h.size > 1024)) return broken("its header has an unknown size");
  if (b.size() < 14 + static_cast<size_t>(h.size)) return broken("its header is cut off");
  if (old) {
    h.width = little(b, 18, 2), h.height = little(b, 20, 2), h.bits = static_cast<int>(little(b, 24, 2));
  } else {
    h.width = static_cast<int32_t>(little(b, 18, 4)), h.height = static_cast<int32_t>(little(b, 22, 4));
    h.bits = static_cast<int>(little(b, 28, 2)), h.compression = little(b, 30, 4), h.colors = little(b, 46, 4);
    h.down = h.height < 0;
    if (h.down) h.height = -h.height;
  }
  h.masks =
      h.bits == 16 ? std::array<uint32_t, 3>{0x7C00, 0x3E0, 0x1F} : std::array<uint32_t, 3>{0xFF0000, 0xFF00, 0xFF};
  size_t palette = 14 + static_cast<size_t>(h.size);
  if (h.compression == kFields || h.compression == kAlphaFields) {
    if (b.size() < 14 + 40 + 12) return broken("its masks are cut off");
    for (size_t i = 0; i < 3; ++i) h.masks[i] = little(b, 54 + 4 * i, 4);
    if (h.size == 40) palette += h.compression == kFields ? 12 : 16;
  }
  if (h.bits > 8) return h;
  const size_t entry = old ? 3 : 4;
  size_t colors = size_t{1} << h.bits;
  if (h.colors > 0) colors = std::min(colors, static_cast<size_t>(h.colors));
  for (size_t i = 0; i < colors && palette + entry * (i + 1) <= b.size(); ++i)
    for (size_t k = 0; k < 3; ++k) h.palette[i][k] = b[palette + entry * i + 2 - k];
  return h;
}

/// A channel of `mask` bits as 0 to 255.
uint8_t masked(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const int shift = __builtin_ctz(mask);
  const uint64_t max = mask >> shift, v = (pixel & mask) >> shift;
  return static_cast<uint8_t>((v * 255 + max / 2) / max);
}

/// Row y of the picture, counted from the top.
uint8_t* row_of(Tensor& t, const BmpHeader& h, int64_t stored) {
  return t.mutable_as<uint8_t>().data() + (h.down ? stored : h.height - 1 - stored) * h.width * 3;
}

Status bmp_rows(Bytes b, const BmpHeader& h, Tensor& t) {
  const int64_t stride = (h.width * h.bits + 31) / 32 * 4;
  if (h.data > static_cast<int64_t>(b.size()) || (static_cast<int64_t>(b.size()) - h.data) / stride < h.height) {
    // The last row may lack its padding.
    const int64_t min = stride * (h.height - 1) + (h.width * h.bits + 7) / 8;
    if (static_cast<int64_t>(b.size()) - h.data < min) return broken_picture("BMP", "its pixels are cut off");
  }
  for (int64_t y = 0; y < h.height; ++y) {
    const size_t row = static_cast<size_t>(h.data + y * stride);
    uint8_t* to = row_of(t, h, y);
    for (int64_t x = 0; x < h.width; ++x, to += 3) {
      const auto i = static_cast<size_t>(x);
      if (h.bits <= 8) {
        const size_t bit = i * static_cast<size_t>(h.bits);
        const int v = b[row + bit / 8] >> (8 - h.bits - static_cast<int>(bit % 8)) & ((1 << h.bits) - 1);
        std::copy_n(h.palette[static_cast<size_t>(v)].data(), 3, to);
      } else if (h.bits == 24) {
        for (size_t k = 0; k < 3; ++k) to[k] = b[row + 3 * i + 2 - k];
      } else {
        const auto bytes = static_cast<size_t>(h.bits / 8);
        const uint32_t v = little(b, row + bytes * i, bytes);
        for (size_t k = 0; k < 3; ++k) to[k] = masked(v, h.masks[k]);
      }
    }
  }
  return {};
}

/// Runs: (n, value) or (0, 0) next row, (0, 1) end, (0, 2, dx, dy) move, (0, n, values...). Pixels nobody names have
/// colour 0.
Status bmp_runs(Bytes b, const BmpHeader& h, Tensor& t) {
  const bool nibbles = h.bits == 4;
  int64_t x = 0, y = 0;
  size_t at = static_cast<size_t>(h.data);
  for (int64_t row = 0; row < h.height; ++row)
    for (int64_t i = 0; i < h.width; ++i) std::copy_n(h.palette[0].data(), 3, row_of(t, h, row) + 3 * i);
  const auto put = [&](int v) {
    if (x < h.width && y < h.height) std::copy_n(h.palette[static_cast<size_t>(v)].data(), 3, row_of(t, h, y) + 3 * x);
    ++x;
  };
  const auto nibble = [&](uint8_t v, size_t i) { return nibbles ? (i % 2 ? v & 15 : v >> 4) : v; };
  while (y < h.height) {
    if (at + 2 > b.size()) return broken_picture("BMP", "its runs are cut off");
    const uint8_t n = b[at], v = b[at + 1];
    at += 2;
    if (n > 0) {
      for (size_t i = 0; i < n; ++i) put(nibble(v, i));
    } else if (v == 0) {
      x = 0, ++y;
    } else if (v == 1) {
      return {};
    } else if (v == 2) {
      if (at + 2 > b.size()) return broken_picture("BMP", "its runs are cut off");
      x += b[at], y += b[at + 1];
      at += 2;
    } else {
      const size_t bytes = nibbles ? (size_t{v} + 1) / 2 : v;
      if (at + bytes > b.size()) return broken_picture("BMP", "its runs are cut off");
      for (size_t i = 0; i < v; ++i) put(nibble(b[at + (nibbles ? i / 2 : i)], i));
      at += bytes + bytes % 2;
    }
  }
  return {};
}

// ---- PBM, PGM, PPM

class PnmReader {
 public:
  explicit PnmReader(Bytes b) : b_(b) {}
  /// The next number, comments skipped; -1 when there is none.
  int64_t number() {
    while (at_ < b_.size() && (is_space(b_[at_]) || b_[at_] == '#')) {
      if (b_[at_] == '#')
        while (at_ < b_.size() && b_[at_] != '\n') ++at_;
      else
        ++at_;
    }
    int64_t v = -1;
    for (; at_ < b_.size() && b_[at_] >= '0' && b_[at_] <= '9'; ++at_)
      if (v < kMaxPixels) v = (v < 0 ? 0 : v) * 10 + (b_[at_] - '0');
    return v;
  }
  /// The next digit 0 or 1 of a text bitmap.
  int bit() {
    while (at_ < b_.size() && (is_space(b_[at_]) || b_[at_] == '#')) {
      if (b_[at_] == '#')
        while (at_ < b_.size() && b_[at_] != '\n') ++at_;
      else
        ++at_;
    }
    return at_ < b_.size() && (b_[at_] == '0' || b_[at_] == '1') ? b_[at_++] - '0' : -1;
  }
  void skip(size_t n) { at_ += n; }
  Bytes rest() const { return b_.subspan(std::min(at_, b_.size())); }

 private:
  static bool is_space(uint8_t c) { return c == ' ' || (c >= 9 && c <= 13); }
  Bytes b_;
  size_t at_ = 2;
};

}  // namespace

Result<Tensor> decode_bmp(Bytes bytes) {
  NNEX_ASSIGN(BmpHeader h, bmp_header(bytes));
  const bool runs = h.compression == kRle8 || h.compression == kRle4;
  const bool fields = h.compression == kFields || h.compression == kAlphaFields;
  const bool fits = runs     ? h.bits == (h.compression == kRle8 ? 8 : 4)
                    : fields ? h.bits == 16 || h.bits == 32
                             : h.compression == kPlain && (h.bits == 1 || h.bits == 2 || h.bits == 4 || h.bits == 8 ||
                                                           h.bits == 16 || h.bits == 24 || h.bits == 32);
  if (!fits) return broken_picture("BMP", "its kind of compression or number of bits is unknown");
  NNEX_ASSIGN(Tensor t, picture_of(h.height, h.width));
  NNEX_TRY(runs ? bmp_runs(bytes, h, t) : bmp_rows(bytes, h, t));
  return t;
}

Result<Tensor> decode_pnm(Bytes bytes) {
  const int kind = bytes[1] - '0';
  const bool text = kind <= 3, color = kind % 3 == 0, bitmap = kind % 3 == 1;
  PnmReader r(bytes);
  const int64_t width = r.number(), height = r.number(), max = bitmap ? 1 : r.number();
  if (width < 1 || height < 1 || max < 1 || max > 65535) return broken_picture("PNM", "its header is wrong");
  NNEX_ASSIGN(Tensor t, picture_of(height, width));
  uint8_t* to = t.mutable_as<uint8_t>().data();
  if (!text) r.skip(1);
  const Bytes rest = r.rest();
  const int64_t samples = width * height * (color ? 3 : 1), wide = max > 255 ? 2 : 1, row = (width + 7) / 8;
  const int64_t needed = bitmap ? row * height : samples * wide;
  const int64_t found = static_cast<int64_t>(rest.size());
  if (found < (text ? samples : needed)) return broken_picture("PNM", "its pixels are cut off");
  for (int64_t i = 0; i < samples; ++i) {
    int64_t v = 0;
    if (bitmap)
      v = text ? r.bit() : rest[static_cast<size_t>(i / width * row + i % width / 8)] >> (7 - i % width % 8) & 1;
    else if (text)
      v = r.number();
    else
      v = wide == 2 ? rest[static_cast<size_t>(2 * i)] << 8 | rest[static_cast<size_t>(2 * i + 1)]
                    : rest[static_cast<size_t>(i)];
    if (v < 0) return broken_picture("PNM", "its pixels are cut off");
    if (bitmap) v = 1 - v;  // 1 is black
    const auto byte = static_cast<uint8_t>((std::min(v, max) * 255 + max / 2) / max);
    for (int k = color ? 2 : 0; k < 3; ++k) *to++ = byte;
  }
  return t;
}

}  // namespace nnex
