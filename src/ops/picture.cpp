#include "ops/picture.h"

#include <cstring>

#include "base/failure.h"

namespace nnex {

Result<Tensor> picture_of(int64_t height, int64_t width) {
  if (height < 1 || width < 1) return failure(Code::unreadable, "a picture of {} x {} pixels is none", width, height);
  if (width > kMaxPixels / height)
    return failure(Code::limit, "a picture of {} x {} pixels; the limit is {} pixels", width, height, kMaxPixels);
  return Tensor::make(DType::u8, Shape{height, width, 3});
}

Error broken_picture(std::string_view format, std::string_view why) {
  return failure(Code::unreadable, "not a {} picture: {}", format, why);
}

Error large_picture(std::string_view format, int64_t height, int64_t width, size_t file_bytes) {
  return failure(Code::limit,
                 "a {} picture of {} x {} pixels in a file of {} bytes; reading it may take {} "
                 "bytes of memory beside the pixels",
                 format, height, width, file_bytes, decoder_memory(file_bytes));
}

Error no_decoder(std::string_view format, std::string_view library) {
  return failure(Code::unsupported, "{} pictures: this build lacks {}", format, library);
}

Result<Tensor> decode_picture(Bytes bytes) {
  const auto begins = [&](std::string_view with) {
    return bytes.size() >= with.size() && std::memcmp(bytes.data(), with.data(), with.size()) == 0;
  };
  using namespace std::literals;
  if (begins("\x89PNG"sv)) return decode_png(bytes);
  if (begins("\xFF\xD8"sv)) return decode_jpeg(bytes);
  if (begins("BM"sv)) return decode_bmp(bytes);
  if (begins("RIFF"sv) && bytes.size() >= 12 && std::memcmp(bytes.data() + 8, "WEBP", 4) == 0)
    return decode_webp(bytes);
  if (begins("II*\0"sv) || begins("MM\0*"sv)) return decode_tiff(bytes);
  if (begins("\0\0\0\x0CjP  "sv) || begins("\xFF\x4F\xFF\x51"sv)) return decode_jpeg2000(bytes);
  if (bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6') return decode_pnm(bytes);
  return Error(Code::unreadable, "the bytes begin no picture known here");
}

}  // namespace nnex
