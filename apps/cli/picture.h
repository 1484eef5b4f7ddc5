#pragma once
// Pictures as inputs: PNG and JPEG, resized and normalised.

#include "cli.h"

namespace nnex::cli {

/// Decodes a picture, resizes it (bilinear, pixel centres) to the input's rows and columns, and lays it out as the
/// input wants: value = (pixel / 255 - mean) / scale a channel for floats, the pixel itself for u8.
Result<Value> picture_input(std::string_view bytes, const PortInfo& port, const Picture& picture);

}  // namespace nnex::cli
