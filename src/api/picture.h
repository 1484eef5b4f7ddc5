#pragma once
// Pictures as inputs, resized and normalised.

#include <string_view>

#include "nnex/input_file.h"

namespace nnex {

/// Decodes a picture (ops/picture.h), resizes it (shrunk by area, enlarged linearly) to the input's rows and columns,
/// and lays it out as the input wants: value = (pixel / 255 - mean) / scale a channel for floats, the pixel itself for
/// u8.
Result<Value> picture_input(std::string_view bytes, const PortInfo& port, const PictureOptions& picture);

}  // namespace nnex
