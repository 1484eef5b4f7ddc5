#pragma once
// Pictures in files' bytes to rows of RGB. Bytes are hostile: nothing here crashes, and no picture above kMostPixels is
// made.

#include <cstdint>
#include <span>
#include <string_view>

#include "nnex/tensor.h"

namespace nnex {

constexpr int64_t kMostPixels = int64_t{1} << 27;

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
Error no_decoder(std::string_view format, std::string_view library);

}  // namespace nnex
