#ifdef NNEX_JPEG
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>
#endif

#include <fmt/format.h>

#include "base/try.h"
#include "ops/picture.h"

namespace nnex {

#ifdef NNEX_JPEG
namespace {

constexpr int kMaxScans = 500;  // a small file can ask for many passes over a large picture

struct Reader {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
  bool no_memory = false;
  Reader() { info.err = jpeg_std_error(&errors); }
  ~Reader() { jpeg_destroy_decompress(&info); }
};

void failed(j_common_ptr info) {
  auto* r = static_cast<Reader*>(info->client_data);
  info->err->format_message(info, r->message);
  r->no_memory = info->err->msg_code == JERR_NO_BACKING_STORE || info->err->msg_code == JERR_OUT_OF_MEMORY;
  std::longjmp(r->jump, 1);
}
/// Warnings pass, except that the picture ends too soon.
void warned(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) failed(info);
}
void watch(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans) ERREXIT(info, JERR_CANT_SUSPEND);
}

// Between setjmp and what may jump back stand no objects with destructors.
bool start(Reader& r, Bytes bytes) {
  if (setjmp(r.jump)) return false;
  r.info.client_data = &r;
  r.errors.error_exit = failed;
  r.errors.emit_message = warned;
  jpeg_create_decompress(&r.info);
  r.progress.progress_monitor = watch;
  r.info.progress = &r.progress;
  r.info.mem->max_memory_to_use = static_cast<long>(decoder_memory(bytes.size()));
  jpeg_mem_src(&r.info, bytes.data(), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&r.info, TRUE);
  r.info.out_color_space = r.info.num_components == 4 ? JCS_CMYK : JCS_RGB;
  return true;
}
bool read(Reader& r, uint8_t* to, uint8_t* line) {
  if (setjmp(r.jump)) return false;
  jpeg_start_decompress(&r.info);
  const int64_t width = r.info.output_width;
  while (r.info.output_scanline < r.info.output_height) {
    uint8_t* const out = to + 3 * width * r.info.output_scanline;
    JSAMPROW row = line ? line : out;
    jpeg_read_scanlines(&r.info, &row, 1);
    // Four inks as Adobe stores them: 255 is none.
    for (int64_t x = 0; line && x < width; ++x)
      for (int k = 0; k < 3; ++k)
        out[3 * x + k] = static_cast<uint8_t>((line[4 * x + k] * line[4 * x + 3] + 127) / 255);
  }
  jpeg_finish_decompress(&r.info);
  return true;
}

}  // namespace

Result<Tensor> decode_jpeg(Bytes bytes) {
  Reader r;
  if (!start(r, bytes)) return broken_picture("JPEG", r.message);
  const int64_t height = r.info.image_height, width = r.info.image_width;
  // Huffman's codes have a bit at least, and each block of 8 x 8 has a code at least.
  const int64_t blocks = (height + 7) / 8 * ((width + 7) / 8);
  if (!r.info.arith_code && blocks / 8 > static_cast<int64_t>(bytes.size()))
    return broken_picture("JPEG", fmt::format("{} bytes are too few for {} x {} pixels", bytes.size(), height, width));
  NNEX_ASSIGN(Tensor t, picture_of(height, width));
  Tensor line;
  if (r.info.out_color_space == JCS_CMYK) {
    NNEX_ASSIGN(line, Tensor::make(DType::u8, Shape{4 * t.shape()[1]}));
  }
  if (!read(r, t.mutable_as<uint8_t>().data(), line.count() ? line.mutable_as<uint8_t>().data() : nullptr))
    return r.no_memory ? large_picture("JPEG", height, width, bytes.size()) : broken_picture("JPEG", r.message);
  return t;
}

#else
Result<Tensor> decode_jpeg(Bytes) { return no_decoder("JPEG", "libjpeg"); }
#endif

}  // namespace nnex
