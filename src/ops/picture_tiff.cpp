#ifdef NNEX_TIFF
#include <tiffio.h>
#if TIFFLIB_VERSION < 20221213
#undef NNEX_TIFF  // no limits on what a file makes the library allocate
#endif
#endif

#include <algorithm>
#include <cstring>

#include "base/try.h"
#include "ops/picture.h"

namespace nnex {

#ifdef NNEX_TIFF
namespace {

struct Source {
  Bytes bytes;
  uint64_t at = 0;
};

tmsize_t read_bytes(thandle_t handle, void* to, tmsize_t n) {
  auto* s = static_cast<Source*>(handle);
  if (n <= 0 || s->at >= s->bytes.size()) return 0;
  const auto got = std::min<uint64_t>(static_cast<uint64_t>(n), s->bytes.size() - s->at);
  std::memcpy(to, s->bytes.data() + s->at, got);
  s->at += got;
  return static_cast<tmsize_t>(got);
}
tmsize_t write_bytes(thandle_t, void*, tmsize_t) { return 0; }
toff_t seek(thandle_t handle, toff_t offset, int from) {
  auto* s = static_cast<Source*>(handle);
  s->at = offset + (from == SEEK_CUR ? s->at : from == SEEK_END ? s->bytes.size() : 0);
  return s->at;
}
int close(thandle_t) { return 0; }
toff_t size_of(thandle_t handle) { return static_cast<Source*>(handle)->bytes.size(); }
int quiet(TIFF*, void*, const char*, const char*, va_list) { return 1; }

struct Reader {
  TIFF* tiff = nullptr;
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  ~Reader() {
    if (tiff) TIFFClose(tiff);
    if (options) TIFFOpenOptionsFree(options);
  }
};

}  // namespace

Result<Tensor> decode_tiff(Bytes bytes) {
  Source source{bytes};
  Reader r;
  if (!r.options) return Error(Code::limit, "no memory for a TIFF picture");
  TIFFOpenOptionsSetMaxSingleMemAlloc(r.options, static_cast<tmsize_t>(decoder_memory(bytes.size())));
  TIFFOpenOptionsSetErrorHandlerExtR(r.options, quiet, nullptr);
  TIFFOpenOptionsSetWarningHandlerExtR(r.options, quiet, nullptr);
  // m: no memory mapping.
  r.tiff = TIFFClientOpenExt("picture", "rm", &source, read_bytes, write_bytes, seek, close, size_of, nullptr, nullptr,
                             r.options);
  if (!r.tiff) return broken_picture("TIFF", "its header is wrong");
  uint32_t width = 0, height = 0;
  TIFFGetField(r.tiff, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(r.tiff, TIFFTAG_IMAGELENGTH, &height);
  NNEX_ASSIGN(Tensor t, picture_of(height, width));
  NNEX_ASSIGN(Tensor raster, Tensor::make(DType::u32, Shape{t.count() / 3}));
  if (!TIFFReadRGBAImageOriented(r.tiff, width, height, raster.mutable_as<uint32_t>().data(), ORIENTATION_TOPLEFT, 1))
    return broken_picture("TIFF", "its pixels are cut off, or of an unknown form");
  uint8_t* to = t.mutable_as<uint8_t>().data();
  for (const uint32_t p : raster.as<uint32_t>()) {
    *to++ = static_cast<uint8_t>(TIFFGetR(p)), *to++ = static_cast<uint8_t>(TIFFGetG(p));
    *to++ = static_cast<uint8_t>(TIFFGetB(p));
  }
  return t;
}

#else
Result<Tensor> decode_tiff(Bytes) { return no_decoder("TIFF", "libtiff 4.5"); }
#endif

}  // namespace nnex
