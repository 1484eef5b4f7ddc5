#pragma once
// Pictures in files' bytes to rows of RGB. Bytes are hostile: nothing here crashes, and no picture above kMaxPixels is
// made.

#include <cstdint>
#include <span>
#include <string_view>

#include "nnex/tensor.h"

namespace nnex {

constexpr int64_t kMaxPixels = int64_t{1} << 26;

/// Bytes that a decoder may take for itself, beside the picture: the more, the longer the file.
constexpr int64_t decoder_memory(size_t file_bytes) {
  constexpr int64_t kMin = int64_t{16} << 20, kMax = int64_t{512} << 20, kForEach = 1024;
  const int64_t n = static_cast<int64_t>(file_bytes < kMax ? file_bytes : kMax) * kForEach;
  return n < kMin ? kMin : n < kMax ? n : kMax;
}

using Bytes = std::span<const uint8_t>;

/// u8 [height, width, 3], red first, from a BMP, PNM, PNG, JPEG, JPEG 2000, TIFF or WebP file; no colour profile and no
/// orientation is applied, transparency is dropped.
/// Errors: unreadable when it is no such picture or broken; limit when it is too large; unsupported when this build has
/// no library for the format.
Result<Tensor> decode_picture(Bytes bytes);

// One function a format, for bytes that begin with its signature.
Result<Tensor> decode_bmp(Bytes bytes);
Result<Tensor> decode_pnm(Bytes bytes);
Result<Tensor> decode_png(Bytes bytes);
Result<Tensor> decode_jpeg(Bytes bytes);
Result<Tensor> decode_jpeg2000(Bytes bytes);
Result<Tensor> decode_tiff(Bytes bytes);
Result<Tensor> decode_webp(Bytes bytes);

/// Memory for a picture of that size. Errors: unreadable when it has no pixels, limit when it has too many.
Result<Tensor> picture_of(int64_t height, int64_t width);
/// "not a PNG picture: <why>".
Error broken_picture(std::string_view format, std::string_view why);
/// "a PNG picture of 3 x 4 pixels would take more than ... bytes".
Error large_picture(std::string_view format, int64_t height, int64_t width, size_t file_bytes);
Error no_decoder(std::string_view format, std::string_view library);

}  // namespace nnex
