#include "api/picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/failure.h"
#include "base/try.h"
#include "ops/picture.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

/// The pixels that a resized one is made of, with their weights. Shrinking averages over the rectangle of the source
/// that a pixel covers, pixels at its rim by the part of them that lies in it: at whole ratios the mean of a block, as
/// training code shrinks pictures. Enlarging is bilinear between pixel centres, edges replicated.
using Taps = std::vector<std::vector<std::pair<int64_t, double>>>;
Taps taps(int64_t from, int64_t to) {
  Taps out(static_cast<size_t>(to));
  const auto n = static_cast<double>(from), m = static_cast<double>(to), step = n / m;
  for (int64_t o = 0; o < to; ++o) {
    auto& pixel = out[static_cast<size_t>(o)];
    if (from > to) {
      const double begin = static_cast<double>(o) * n / m, end = static_cast<double>(o + 1) * n / m;
      for (auto i = static_cast<int64_t>(std::floor(begin)); i < from && static_cast<double>(i) < end; ++i) {
        const double inside = std::min(static_cast<double>(i + 1), end) - std::max(static_cast<double>(i), begin);
        pixel.emplace_back(i, inside / (end - begin));
      }
      continue;
    }
    const double centre = (static_cast<double>(o) + 0.5) * step - 0.5, low = std::floor(centre);
    const auto i = static_cast<int64_t>(low);
    pixel.emplace_back(std::clamp<int64_t>(i, 0, from - 1), 1 - (centre - low));
    if (centre > low) pixel.emplace_back(std::clamp<int64_t>(i + 1, 0, from - 1), centre - low);
  }
  return out;
}

/// How the picture lies in the input.
struct Placed {
  bool channels_first = true;
  int64_t channels = 3, height = 0, width = 0;
};
Result<Placed> placed(const PortInfo& port, const PictureOptions& picture, const Shape& found) {
  if (!port.known_rank || (port.extents.size() != 4 && port.extents.size() != 3))
    return failure(Code::invalid_argument, "a picture cannot fill {}; needed an input of 3 or 4 axes", port.type);
  std::vector<int64_t> e = port.extents;
  if (e.size() == 3) e.insert(e.begin(), 1);
  const auto channels = [](int64_t n) { return n == 1 || n == 3; };
  Placed p;
  p.channels_first = picture.layout == PictureLayout::automatic ? channels(e[1]) || !channels(e[3])
                                                                : picture.layout == PictureLayout::nchw;
  const int64_t c = e[p.channels_first ? 1 : 3];
  p.channels = c < 0 ? 3 : c;
  if (!channels(p.channels))
    return failure(Code::invalid_argument, "a picture has 1 or 3 channels; {} needs {}", port.type, p.channels);
  p.height = e[p.channels_first ? 2 : 1], p.width = e[p.channels_first ? 3 : 2];
  if (p.height < 0) p.height = found[0];
  if (p.width < 0) p.width = found[1];
  if (p.height < 1 || p.width < 1) return failure(Code::invalid_argument, "a picture cannot fill {}", port.type);
  return p;
}

/// One number for each channel, or one for all.
Status check_setting(const char* what, const std::vector<double>& numbers, int64_t channels) {
  if (numbers.size() > 1 && static_cast<int64_t>(numbers.size()) != channels)
    return failure(Code::invalid_argument, "found {} numbers of {}; needed 1, or {} for the input's channels",
                   numbers.size(), what, channels);
  for (const double x : numbers)
    if (!std::isfinite(x)) return failure(Code::invalid_argument, "found {} of {}; needed a number", x, what);
  return {};
}

Status check_settings(const PictureOptions& picture, const PortInfo& port, int64_t channels) {
  if (!is_real(port.dtype) && !(picture.mean.empty() && picture.scale.empty()))
    return failure(Code::invalid_argument, "mean and scale are of real numbers; the input is {}", port.type);
  NNEX_TRY(check_setting("mean", picture.mean, channels));
  NNEX_TRY(check_setting("scale", picture.scale, channels));
  if (std::find(picture.scale.begin(), picture.scale.end(), 0) != picture.scale.end())
    return Error(Code::invalid_argument, "found 0 as scale; needed another number, which divides");
  return {};
}

}  // namespace

Result<Value> picture_input(std::string_view bytes, const PortInfo& port, const PictureOptions& picture) {
  NNEX_ASSIGN(const Tensor rgb, decode_picture({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
  NNEX_ASSIGN(const Placed p, placed(port, picture, rgb.shape()));
  const int64_t h = p.height, w = p.width, c = p.channels;
  NNEX_TRY(check_settings(picture, port, c));
  std::vector<int64_t> extents = {1, h, w, c};
  if (p.channels_first) extents = {1, c, h, w};
  if (port.extents.size() == 3) extents.erase(extents.begin());
  NNEX_ASSIGN(Tensor t, Tensor::make(port.dtype, Shape(extents)));
  const auto setting = [](const std::vector<double>& list, int64_t i, double otherwise) {
    return list.empty() ? otherwise : list[static_cast<size_t>(i) % list.size()];
  };
  const uint8_t* from = rgb.as<uint8_t>().data();
  const Taps rows = taps(rgb.shape()[0], h), columns = taps(rgb.shape()[1], w);
  for (int64_t y = 0; y < h; ++y)
    for (int64_t x = 0; x < w; ++x) {
      std::array<double, 3> at = {};
      for (const auto& [r, wr] : rows[static_cast<size_t>(y)])
        for (const auto& [q, wq] : columns[static_cast<size_t>(x)])
          for (size_t k = 0; k < 3; ++k) at[k] += wr * wq * from[static_cast<size_t>(r * rgb.shape()[1] + q) * 3 + k];
      for (int64_t k = 0; k < c; ++k) {
        double v =
            c == 1 ? 0.299 * at[0] + 0.587 * at[1] + 0.114 * at[2] : at[static_cast<size_t>(picture.bgr ? 2 - k : k)];
        v = is_real(port.dtype) ? (v / 255 - setting(picture.mean, k, 0)) / setting(picture.scale, k, 1)
                                : std::round(v);
        set_real(t, p.channels_first ? (k * h + y) * w + x : (y * w + x) * c + k, v);
      }
    }
  return Value(std::move(t));
}

}  // namespace nnex
