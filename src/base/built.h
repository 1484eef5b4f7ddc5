#pragma once
// What this build leaves out (docs/small-builds.md), as constants: what stands behind a constant answer is dropped.

#include <algorithm>
#include <iterator>

#include "nnex/dtype.h"
#include "nnex/format.h"

namespace nnex {

/// Whether it reads and writes a standard (CMake: NNEX_FORMATS).
constexpr bool is_built(Format format) {
#include "formats_built.inc"
  return false;
}

/// Whether operators run on elements of the type (NNEX_OPS_ALONE: those of the models that it names). A list of all is
/// DType::none.
constexpr bool runs_on(DType type) {
  constexpr DType kTypes[] = {
#include "types_built.inc"
  };
  return kTypes[0] == DType::none || type > DType::str ||
         std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}
/// Whether tensors may have such elements: the engine's own numbers too.
constexpr bool has_elements(DType type) {
  return runs_on(type) || type == DType::none || type == DType::f32 || type == DType::f64 || type == DType::i64;
}

// Of the constants below CMake writes the values:
// kOpensFiles: models lie in files too, not in memory alone. A module of WebAssembly has no files.
// kDescribes: the table says in words what operators, ports and attributes are.
// kReadsOnnxText: ONNX's textual syntax is read.
#include "parts_built.inc"

}  // namespace nnex
