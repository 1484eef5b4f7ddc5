// ai.onnx.ml: operators that are sentences over the table's rows (operators.md 3.2).

#include "formats/onnx/quirks.h"

namespace nnex::onnx_format {

std::span<const QuirkRow> ml_quirks() { return {}; }

}  // namespace nnex::onnx_format
