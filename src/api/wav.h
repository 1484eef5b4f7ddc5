#pragma once
// Recorded sound as inputs.

#include <string_view>

#include "nnex/input_file.h"

namespace nnex {

/// A RIFF file of sound: PCM of 8, 16, 24 or 32 bits, or floats of 32 or 64. For floats a sample is its part of the
/// greatest one, from -1 to below 1 (8 bits: (x - 128) / 128); floats stay as they are. For integers (u8 of 8 bits, i16
/// of 16, i32 of 24 and 32) the sample itself. An input of one axis takes one channel, [n]; one of two [channels, n] or
/// [n, channels], whichever it says, or [1, n]; a third axis before these is 1. Nothing is mixed, resampled, cut or
/// filled up. Errors: unreadable; unsupported (compressed sound); invalid_argument (channels, rate, an element type:
/// found and needed); limit.
Result<Tensor> read_wav(std::string_view bytes, const PortInfo& port, const AudioOptions& audio);

}  // namespace nnex
