// Pictures as tensors.

#include "ops/image.h"

#include <cstring>

#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/picture.h"
#include "ops/stored.h"

namespace nnex {
namespace {

int64_t channels_of(PixelFormat f) { return f == PixelFormat::grayscale ? 1 : 3; }

Status infer_image_decoder(InferCall& c) {
  NNEX_TRY(need_rank(c, 0, 1));
  c.result(0, Dims{c.unknown(), c.unknown(), Dim(channels_of(c.attr<ImageDecoderAttrs>().format))});
  return {};
}

/// Bytes that are no picture give a tensor without rows. Grey is 0.299 r + 0.587 g + 0.114 b in 16-bit fixed point,
/// rounded.
Status run_image_decoder(Call& c) {
  const PixelFormat format = c.attr<ImageDecoderAttrs>().format;
  auto decoded = decode_picture(c.in<uint8_t>(0));
  if (!decoded.ok()) {
    if (decoded.error().code() != Code::unreadable) return std::move(decoded).error();
    NNEX_TRY(c.make(0, DType::u8, Shape{0, 0, channels_of(format)}));
    return {};
  }
  const Tensor& rgb = *decoded;
  const int64_t pixels = rgb.count() / 3;
  NNEX_ASSIGN(Tensor * y, c.make(0, DType::u8, Shape{rgb.shape()[0], rgb.shape()[1], channels_of(format)}));
  const uint8_t* from = rgb.as<uint8_t>().data();
  uint8_t* to = y->mutable_as<uint8_t>().data();
  if (format == PixelFormat::rgb) std::memcpy(to, from, static_cast<size_t>(rgb.bytes()));
  for (int64_t i = 0; i < pixels && format == PixelFormat::bgr; ++i)
    for (int64_t k = 0; k < 3; ++k) to[3 * i + k] = from[3 * i + 2 - k];
  for (int64_t i = 0; i < pixels && format == PixelFormat::grayscale; ++i)
    to[i] =
        static_cast<uint8_t>((from[3 * i] * 19595 + from[3 * i + 1] * 38470 + from[3 * i + 2] * 7471 + 32768) >> 16);
  return {};
}

constexpr OpRow kImageOps[] = {
    {.name = "image_decoder",
     .summary = "The pixels of a picture file: height, width, channels. No rows where the bytes are no picture.",
     .source = "ONNX ImageDecoder-20",
     .inputs = {{"bytes", DType::u8, Arity::one, false, "A BMP, PNM, PNG, JPEG, JPEG 2000, TIFF or WebP file."}},
     .outputs = {{"y", DType::u8}},
     .attrs = attrs_of<ImageDecoderAttrs>({field<&ImageDecoderAttrs::format>("format", "Channels of a pixel.")}),
     .infer = infer_image_decoder,
     .reference = any(run_image_decoder),
     .spelled = {{onnx, "ImageDecoder", {{"format", "pixel_format", &lower_case}}, 20}}},
};
}  // namespace

std::span<const OpDef> image_ops() { return stored<kImageOps>(); }

}  // namespace nnex
