#ifdef NNEX_OPENJPEG
#include <openjpeg.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/try.h"
#include "ops/picture.h"

namespace nnex {

#ifdef NNEX_OPENJPEG
namespace {

struct Source {
  Bytes bytes;
  size_t at = 0;
};

OPJ_SIZE_T read_bytes(void* to, OPJ_SIZE_T n, void* user) {
  auto* s = static_cast<Source*>(user);
  const size_t got = std::min(static_cast<size_t>(n), s->bytes.size() - s->at);
  if (got == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, s->bytes.data() + s->at, got);
  s->at += got;
  return got;
}
OPJ_OFF_T skip(OPJ_OFF_T n, void* user) {
  auto* s = static_cast<Source*>(user);
  if (n < 0) return -1;
  s->at += std::min(static_cast<size_t>(n), s->bytes.size() - s->at);
  return n;
}
OPJ_BOOL seek(OPJ_OFF_T to, void* user) {
  auto* s = static_cast<Source*>(user);
  if (to < 0 || static_cast<size_t>(to) > s->bytes.size()) return OPJ_FALSE;
  s->at = static_cast<size_t>(to);
  return OPJ_TRUE;
}

struct Reader {
  opj_stream_t* stream = nullptr;
  opj_codec_t* codec = nullptr;
  opj_image_t* image = nullptr;
  ~Reader() {
    if (stream) opj_stream_destroy(stream);
    if (codec) opj_destroy_codec(codec);
    if (image) opj_image_destroy(image);
  }
};

/// A sample of component k as 0 to 255; components may be coarser than the picture.
int sample(const opj_image_t& image, OPJ_UINT32 k, int64_t x, int64_t y) {
  const opj_image_comp_t& c = image.comps[k];
  const int64_t column = std::min<int64_t>(x / c.dx, c.w - 1), row = std::min<int64_t>(y / c.dy, c.h - 1);
  int64_t v = c.data[row * c.w + column];
  if (c.sgnd) v += int64_t{1} << (c.prec - 1);
  if (c.prec > 8) v >>= c.prec - 8;
  if (c.prec < 8) v = (v * 255) / ((1 << c.prec) - 1);
  return static_cast<int>(std::clamp<int64_t>(v, 0, 255));
}

uint8_t rounded(double v) { return static_cast<uint8_t>(std::clamp(std::lround(v), 0L, 255L)); }

void write(const opj_image_t& image, Tensor& t) {
  const int64_t height = t.shape()[0], width = t.shape()[1];
  const bool color = image.numcomps >= 3;
  uint8_t* to = t.mutable_as<uint8_t>().data();
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x, to += 3) {
      int v[3];
      for (OPJ_UINT32 k = 0; k < 3; ++k) v[k] = sample(image, color ? k : 0, x, y);
      if (color && image.color_space == OPJ_CLRSPC_SYCC) {
        const double l = v[0], cb = v[1] - 128, cr = v[2] - 128;
        to[0] = rounded(l + 1.402 * cr), to[1] = rounded(l - 0.344136 * cb - 0.714136 * cr),
        to[2] = rounded(l + 1.772 * cb);
      } else {
        for (int k = 0; k < 3; ++k) to[k] = static_cast<uint8_t>(v[k]);
      }
    }
}

}  // namespace

Result<Tensor> decode_jpeg2000(Bytes bytes) {
  const auto broken = [](std::string_view why) { return broken_picture("JPEG 2000", why); };
  Source source{bytes};
  Reader r;
  r.stream = opj_stream_create(1 << 16, OPJ_TRUE);
  r.codec = opj_create_decompress(bytes[0] == 0xFF ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
  if (!r.stream || !r.codec) return Error(Code::limit, "no memory for a JPEG 2000 picture");
  opj_stream_set_user_data(r.stream, &source, nullptr);
  opj_stream_set_user_data_length(r.stream, bytes.size());
  opj_stream_set_read_function(r.stream, read_bytes);
  opj_stream_set_skip_function(r.stream, skip);
  opj_stream_set_seek_function(r.stream, seek);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  if (!opj_setup_decoder(r.codec, &parameters) || !opj_read_header(r.stream, r.codec, &r.image) || !r.image)
    return broken("its header is wrong");
  const opj_image_t& image = *r.image;
  if (image.numcomps < 1 || image.numcomps > 4) return broken("it has other than 1 to 4 channels");
  NNEX_ASSIGN(Tensor t, picture_of(int64_t{image.y1} - image.y0, int64_t{image.x1} - image.x0));
  if (t.count() / 3 * image.numcomps > decoder_memory(bytes.size()) / static_cast<int64_t>(sizeof(OPJ_INT32)))
    return large_picture("JPEG 2000", t.shape()[0], t.shape()[1], bytes.size());
  if (!opj_decode(r.codec, r.stream, r.image) || !opj_end_decompress(r.codec, r.stream))
    return broken("its pixels are cut off or wrong");
  for (OPJ_UINT32 k = 0; k < image.numcomps; ++k) {
    const opj_image_comp_t& c = image.comps[k];
    if (!c.data || c.w < 1 || c.h < 1 || c.dx < 1 || c.dy < 1 || c.prec < 1 || c.prec > 31)
      return broken("a channel has no pixels");
  }
  write(image, t);
  return t;
}

#else
Result<Tensor> decode_jpeg2000(Bytes) { return no_decoder("JPEG 2000", "libopenjp2"); }
#endif

}  // namespace nnex
