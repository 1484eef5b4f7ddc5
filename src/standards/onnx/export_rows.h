#pragma once
// What the files of rows that ONNX says with attributes of another make share.

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "base/failure.h"
#include "standards/onnx/export_graph.h"

namespace nnex::onnx_format {

using Said = Result<std::optional<OnnxNode>>;

/// find_say() of the rows that are operators of ai.onnx.ml, or have labels or texts (export_rows_ml.cpp).
Say find_ml_say(std::string_view row);

inline Error cannot(const Node& node, std::string_view why) {
  return failure(Code::unsupported, "{}: {}", node.op->name, why);
}

inline std::string capitals(std::string_view word) {
  std::string out(word);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::toupper(c); });
  return out;
}

}  // namespace nnex::onnx_format
