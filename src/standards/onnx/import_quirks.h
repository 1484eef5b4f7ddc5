#pragma once
// What an ONNX operator needs beyond its spelling, by theme: rewrites into several rows, and old
// opsets.

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "ops/built.h"
#include "standards/onnx/import.h"
#include "standards/onnx/signatures.h"

namespace nnex::onnx_format {

struct QuirkRow {
  std::string_view op;
  Quirk quirk;
  std::string_view domain = "";
  /// What it takes, as a line of signatures.h without the types that the rows ask for; empty: what the standard's
  /// signature or the rows say.
  std::string_view takes = "";
  std::string_view goes_on_as = "";  ///< The operator of the standard domain by which it is read further, if another.
};
/// What the import of an operator says that it takes; null: it says nothing.
const Form* taken_form(std::string_view domain, std::string_view op);
/// Of an operator called so, whatever its domain; most have none.
std::string_view goes_on_as(std::string_view op);

/// The domains whose operator of that name has a row.
std::vector<std::string_view> quirk_domains(std::string_view op);
/// The operators that have a row, once a domain.
std::vector<std::string_view> quirk_operators();

/// Of a theme's list, what this build reads: the others are not linked.
template <const auto& kAll>
std::span<const QuirkRow> read_of() {
  static constexpr auto kRead = [] {
    constexpr auto read = [](const QuirkRow& row) { return is_read_of_onnx(row.op); };
    std::array<QuirkRow, static_cast<size_t>(std::count_if(std::begin(kAll), std::end(kAll), read))> rows = {};
    std::copy_if(std::begin(kAll), std::end(kAll), rows.begin(), read);
    return rows;
  }();
  return kRead;
}

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
std::span<const QuirkRow> experiment_quirks();
std::span<const QuirkRow> microsoft_quirks();
std::span<const QuirkRow> microsoft_attention_quirks();
std::span<const QuirkRow> microsoft_code_quirks();
std::span<const QuirkRow> microsoft_expert_quirks();
std::span<const QuirkRow> microsoft_fused_quirks();
std::span<const QuirkRow> microsoft_image_quirks();
std::span<const QuirkRow> microsoft_move_quirks();
std::span<const QuirkRow> microsoft_number_quirks();
std::span<const QuirkRow> microsoft_token_quirks();
/// Those of the domain com.microsoft, theme by theme.
std::vector<std::span<const QuirkRow>> all_microsoft_quirks();

}  // namespace nnex::onnx_format
