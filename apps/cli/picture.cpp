#include "picture.h"

#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <jpeglib.h>
#include <png.h>

#include "tensor/convert.h"

namespace nnex::cli {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 28;

struct Pixels {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgb;
};

Result<Pixels> decode_png(std::string_view bytes) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()))
    return Error(Code::unreadable, fmt::format("not a PNG picture: {}", image.message));
  Pixels p;
  p.width = image.width, p.height = image.height;
  image.format = PNG_FORMAT_RGB;
  if (p.width * p.height > kMostPixels) {
    png_image_free(&image);
    return Error(Code::limit, fmt::format("a picture of {} x {} pixels is too large", p.width, p.height));
  }
  p.rgb.resize(static_cast<size_t>(p.width * p.height * 3));
  png_color white = {255, 255, 255};
  if (!png_image_finish_read(&image, &white, p.rgb.data(), 0, nullptr))
    return Error(Code::unreadable, fmt::format("PNG picture: {}", image.message));
  return p;
}

struct JpegFault {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
};

void jpeg_failed(j_common_ptr info) {
  auto* fault = reinterpret_cast<JpegFault*>(info->err);
  info->err->format_message(info, fault->message);
  std::longjmp(fault->jump, 1);
}
void jpeg_quiet(j_common_ptr) {}

/// Everything libjpeg may jump out of: no destructor stands between here and setjmp. 0: fine; 1: fault; 2: too large.
int decode_jpeg_raw(std::string_view bytes, JpegFault& fault, Pixels& p) {
  jpeg_decompress_struct info;
  info.err = jpeg_std_error(&fault.manager);
  fault.manager.error_exit = jpeg_failed;
  fault.manager.output_message = jpeg_quiet;
  if (setjmp(fault.jump)) {
    jpeg_destroy_decompress(&info);
    return 1;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  p.width = info.output_width, p.height = info.output_height;
  if (p.width * p.height > kMostPixels) {
    jpeg_destroy_decompress(&info);
    return 2;
  }
  p.rgb.resize(static_cast<size_t>(p.width * p.height * 3));
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = p.rgb.data() + static_cast<size_t>(info.output_scanline) * static_cast<size_t>(p.width) * 3;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return 0;
}

Result<Pixels> decode(std::string_view bytes) {
  if (bytes.substr(0, 4) == std::string_view("\x89PNG", 4)) return decode_png(bytes);
  Pixels p;
  JpegFault fault;
  switch (decode_jpeg_raw(bytes, fault, p)) {
    case 0:
      return p;
    case 2:
      return Error(Code::limit, fmt::format("a picture of {} x {} pixels is too large", p.width, p.height));
    default:
      return Error(Code::unreadable, fmt::format("neither a PNG nor a JPEG picture: {}", fault.message));
  }
}

/// Bilinear between pixel centres, edges replicated; shrinking averages over the footprint of a pixel (a tent as wide
/// as the step).
std::vector<double> resized(const Pixels& p, int64_t height, int64_t width) {
  auto taps = [](int64_t from, int64_t to) {
    std::vector<std::vector<std::pair<int64_t, double>>> out(static_cast<size_t>(to));
    const double step = static_cast<double>(from) / static_cast<double>(to), reach = std::max(step, 1.0);
    for (int64_t o = 0; o < to; ++o) {
      const double centre = (static_cast<double>(o) + 0.5) * step - 0.5;
      double sum = 0;
      for (auto i = static_cast<int64_t>(std::floor(centre - reach)) + 1; i < centre + reach; ++i) {
        const double w = 1 - std::fabs(static_cast<double>(i) - centre) / reach;
        if (w <= 0) continue;
        out[static_cast<size_t>(o)].emplace_back(std::clamp<int64_t>(i, 0, from - 1), w);
        sum += w;
      }
      for (auto& t : out[static_cast<size_t>(o)]) t.second /= sum;
    }
    return out;
  };
  const auto rows = taps(p.height, height), columns = taps(p.width, width);
  std::vector<double> out(static_cast<size_t>(height * width * 3));
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (const auto& [r, wr] : rows[static_cast<size_t>(y)])
        for (const auto& [q, wq] : columns[static_cast<size_t>(x)])
          for (int64_t c = 0; c < 3; ++c)
            out[static_cast<size_t>((y * width + x) * 3 + c)] +=
                wr * wq * p.rgb[static_cast<size_t>((r * p.width + q) * 3 + c)];
  return out;
}

}  // namespace

Result<Value> picture_input(std::string_view bytes, const PortInfo& port, const Picture& picture) {
  NNEX_ASSIGN(Pixels p, decode(bytes));
  const bool spatial = port.known_rank && (port.extents.size() == 4 || port.extents.size() == 3);
  if (!spatial)
    return Error(Code::invalid_argument,
                 fmt::format("a picture cannot fill {}; needed an input of 3 or 4 axes", port.type));
  std::vector<int64_t> e = port.extents;
  if (e.size() == 3) e.insert(e.begin(), 1);
  auto channels = [](int64_t n) { return n == 1 || n == 3; };
  bool first = channels(e[1]) || !channels(e[3]);
  if (picture.layout == "nhwc") first = false;
  if (picture.layout == "nchw") first = true;
  const int64_t c = e[first ? 1 : 3] < 0 ? 3 : e[first ? 1 : 3];
  if (!channels(c))
    return Error(Code::invalid_argument, fmt::format("a picture has 1 or 3 channels; {} needs {}", port.type, c));
  const int64_t h = e[first ? 2 : 1] < 0 ? p.height : e[first ? 2 : 1],
                w = e[first ? 3 : 2] < 0 ? p.width : e[first ? 3 : 2];
  if (h < 1 || w < 1 || h * w > kMostPixels)
    return Error(Code::invalid_argument, fmt::format("a picture cannot fill {}", port.type));
  const std::vector<double> pixels = resized(p, h, w);
  std::vector<int64_t> extents = first ? std::vector<int64_t>{1, c, h, w} : std::vector<int64_t>{1, h, w, c};
  if (port.extents.size() == 3) extents.erase(extents.begin());
  NNEX_ASSIGN(Tensor t, Tensor::make(port.dtype, Shape(extents)));
  auto setting = [](const std::vector<double>& list, int64_t i, double otherwise) {
    return list.empty() ? otherwise : list[static_cast<size_t>(i) % list.size()];
  };
  for (int64_t y = 0; y < h; ++y)
    for (int64_t x = 0; x < w; ++x)
      for (int64_t k = 0; k < c; ++k) {
        const double* at = &pixels[static_cast<size_t>((y * w + x) * 3)];
        double v = c == 1 ? 0.299 * at[0] + 0.587 * at[1] + 0.114 * at[2] : at[picture.bgr ? 2 - k : k];
        if (is_real(port.dtype))
          v = (v / 255 - setting(picture.mean, k, 0)) / setting(picture.scale, k, 1);
        else
          v = std::round(v);
        set_real(t, first ? (k * h + y) * w + x : (y * w + x) * c + k, v);
      }
  return Value(std::move(t));
}

}  // namespace nnex::cli
