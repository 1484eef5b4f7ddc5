#pragma once
// What this build leaves out (docs/small-builds.md), as constants: what stands behind a constant answer is dropped.

#include "nnex/format.h"

namespace nnex {

/// Whether it reads and writes a standard (CMake: NNEX_FORMATS).
constexpr bool is_built(Format format) {
#include "formats_built.inc"
  return false;
}

// Of the constants below CMake writes the values:
// kOpensFiles: models lie in files too, not in memory alone. A module of WebAssembly has no files.
// kDescribes: the table says in words what operators, ports and attributes are.
// kReadsOnnxText: ONNX's textual syntax is read.
#include "parts_built.inc"

}  // namespace nnex
