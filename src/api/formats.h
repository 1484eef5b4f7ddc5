#pragma once
// Formats by what a file is, and by what it is called.

#include <string>

#include "api/recognise.h"
#include "base/built.h"
#include "nnex/format.h"
#include "nnex/result.h"

namespace nnex {

/// Whether this build reads and writes a standard (CMake: NNEX_FORMATS): what stands behind a constant answer is
/// dropped.
constexpr bool built(Format format) { return is_built(format); }
/// That it does not.
Error not_built(Format format);

/// The standard of a model that was recognised. The format must be a model's.
Format format_of(ModelFormat format);

}  // namespace nnex
