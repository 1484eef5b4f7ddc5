#ifdef NNEX_PNG
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <vector>
#endif

#include <fmt/format.h>

#include "base/try.h"
#include "ops/picture.h"

namespace nnex {

#ifdef NNEX_PNG
namespace {

struct Source {
  Bytes bytes;
  size_t at = 0;
  char message[120] = {};
};

void read_bytes(png_structp png, png_bytep to, size_t n) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (n > source->bytes.size() - source->at) png_error(png, "it is cut off");
  std::memcpy(to, source->bytes.data() + source->at, n);
  source->at += n;
}
void failed(png_structp png, png_const_charp message) {
  auto* source = static_cast<Source*>(png_get_error_ptr(png));
  std::strncpy(source->message, message, sizeof source->message - 1);
  png_longjmp(png, 1);
}
void quiet(png_structp, png_const_charp) {}

struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

// Between setjmp and what may jump back stand no objects with destructors.
bool read_header(Reader& r, int64_t& height, int64_t& width) {
  if (setjmp(png_jmpbuf(r.png))) return false;
  png_read_info(r.png, r.info);
  height = png_get_image_height(r.png, r.info), width = png_get_image_width(r.png, r.info);
  png_set_expand(r.png);  // palettes, few bits and transparent colours become bytes
  png_set_strip_16(r.png);
  png_set_gray_to_rgb(r.png);
  png_set_strip_alpha(r.png);
  png_set_interlace_handling(r.png);
  png_read_update_info(r.png, r.info);
  return true;
}
bool read_rows(Reader& r, png_bytepp rows) {
  if (setjmp(png_jmpbuf(r.png))) return false;
  png_read_image(r.png, rows);
  png_read_end(r.png, nullptr);
  return true;
}

}  // namespace

Result<Tensor> decode_png(Bytes bytes) {
  Source source{bytes};
  Reader r;
  r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, failed, quiet);
  if (r.png) r.info = png_create_info_struct(r.png);
  if (!r.info) return Error(Code::limit, "no memory for a PNG picture");
  png_set_read_fn(r.png, &source, read_bytes);
  png_set_chunk_malloc_max(r.png, 1 << 26);
  int64_t height = 0, width = 0;
  if (!read_header(r, height, width)) return broken_picture("PNG", source.message);
  NNEX_ASSIGN(Tensor t, picture_of(height, width));
  if (static_cast<int64_t>(png_get_rowbytes(r.png, r.info)) != width * 3)
    return broken_picture("PNG", "its pixels have an unknown form");
  // Deflate makes at most 1032 bytes of one; a pixel has a bit at least.
  if (height * width / 8 / 1032 > static_cast<int64_t>(bytes.size()))
    return broken_picture("PNG", fmt::format("{} bytes are too few for {} x {} pixels", bytes.size(), height, width));
  std::vector<png_bytep> rows(static_cast<size_t>(height));
  for (int64_t y = 0; y < height; ++y) rows[static_cast<size_t>(y)] = t.mutable_as<uint8_t>().data() + y * width * 3;
  if (!read_rows(r, rows.data())) return broken_picture("PNG", source.message);
  return t;
}

#else
Result<Tensor> decode_png(Bytes) { return no_decoder("PNG", "libpng"); }
#endif

}  // namespace nnex
