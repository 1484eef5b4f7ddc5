// What an ONNX operator needs beyond its spelling: the list joins the themes.

#include "standards/onnx/import_quirks.h"

#include "base/name_index.h"

namespace nnex::onnx_format {

namespace {

/// The lists of all themes.
std::vector<std::span<const QuirkRow>> themes() {
  std::vector<std::span<const QuirkRow>> out = {
      constant_quirks(),  math_quirks(), numeric_quirks(), shape_quirks(),     window_quirks(),  region_quirks(),
      recurrent_quirks(), scan_quirks(), ml_quirks(),      attention_quirks(), feature_quirks(), experiment_quirks()};
  for (auto theme : all_microsoft_quirks()) out.push_back(theme);
  return out;
}

const NameIndex<const QuirkRow*>& all_quirks() {
  static const auto table = [] {
    NameIndex<const QuirkRow*> t;
    for (auto theme : themes())
      for (const QuirkRow& row : theme) t.add(row.op, &row);
    return t;
  }();
  return table;
}

}  // namespace

std::vector<std::span<const QuirkRow>> all_microsoft_quirks() {
  return {microsoft_quirks(),        microsoft_attention_quirks(), microsoft_code_quirks(),
          microsoft_expert_quirks(), microsoft_fused_quirks(),     microsoft_image_quirks(),
          microsoft_move_quirks(),   microsoft_number_quirks(),    microsoft_token_quirks()};
}

Quirk find_quirk(std::string_view domain, std::string_view op) {
  Quirk found = nullptr;
  all_quirks().each(op, [&](const QuirkRow* row) {
    if (!found && row->domain == domain) found = row->quirk;
  });
  return found;
}

const Form* taken_form(std::string_view domain, std::string_view op) {
  const QuirkRow* found = nullptr;
  all_quirks().each(op, [&](const QuirkRow* row) {
    if (row->domain == domain && !row->takes.empty()) found = row;
  });
  return found ? &parsed_forms(found->takes).front() : nullptr;
}

std::vector<std::string_view> quirk_domains(std::string_view op) {
  std::vector<std::string_view> found;
  all_quirks().each(op, [&](const QuirkRow* row) { found.push_back(row->domain); });
  return found;
}

std::vector<std::string_view> quirk_operators() {
  std::vector<std::string_view> out;
  for (auto theme : themes())
    for (const QuirkRow& row : theme) out.push_back(row.op);
  return out;
}

std::string_view goes_on_as(std::string_view op) {
  std::string_view found;
  all_quirks().each(op, [&](const QuirkRow* row) {
    if (found.empty()) found = row->goes_on_as;
  });
  return found;
}

}  // namespace nnex::onnx_format
