#pragma once

#include <array>
#include <string_view>

#include "ops/attrs.h"

namespace nnex {

/// The channels of a pixel, in their order.
enum class PixelFormat : uint8_t { rgb, bgr, grayscale };
constexpr std::array<std::string_view, 3> enumerators(PixelFormat) { return {"rgb", "bgr", "grayscale"}; }

struct ImageDecoderAttrs {
  PixelFormat format = PixelFormat::rgb;
};

}  // namespace nnex
