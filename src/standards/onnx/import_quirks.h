#pragma once
// What an ONNX operator needs beyond its spelling, by theme: rewrites into several rows (operators.md 3.2), and old
// opsets.

#include <span>
#include <string_view>

#include "standards/onnx/import.h"

namespace nnex::onnx_format {

struct QuirkRow {
  std::string_view op;
  Quirk quirk;
  std::string_view domain = "";
};

std::span<const QuirkRow> constant_quirks();
std::span<const QuirkRow> math_quirks();
std::span<const QuirkRow> numeric_quirks();
std::span<const QuirkRow> shape_quirks();
std::span<const QuirkRow> window_quirks();
std::span<const QuirkRow> region_quirks();
std::span<const QuirkRow> recurrent_quirks();
std::span<const QuirkRow> scan_quirks();
std::span<const QuirkRow> ml_quirks();
std::span<const QuirkRow> attention_quirks();
std::span<const QuirkRow> feature_quirks();
std::span<const QuirkRow> microsoft_quirks();
std::span<const QuirkRow> microsoft_attention_quirks();

}  // namespace nnex::onnx_format
