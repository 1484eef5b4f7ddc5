#include "standards/onnx/check_rules.h"

#include <algorithm>

namespace nnex::onnx_format {
namespace {

struct RuleRow {
  std::string_view name;
  Severity severity;
  std::string_view sentence;
};
constexpr RuleRow kRules[] = {
#define NNEX_RULE(rule, severity, sentence) {#rule, Severity::severity, sentence},
#include "standards/onnx/check_rules.def"
#undef NNEX_RULE
};

/// "ir_version" as "onnx/ir-version".
std::string id_of(std::string_view name) {
  std::string out = "onnx/" + std::string(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

}  // namespace

std::span<const CheckRule> check_rules() {
  static const auto ids = [] {
    std::vector<std::string> out;
    for (const RuleRow& row : kRules) out.push_back(id_of(row.name));
    return out;
  }();
  static const auto rules = [] {
    std::vector<CheckRule> out;
    for (size_t i = 0; i < std::size(kRules); ++i) out.push_back({ids[i], kRules[i].severity, kRules[i].sentence});
    return out;
  }();
  return rules;
}

const CheckRule& rule_text(Rule rule) { return check_rules()[static_cast<size_t>(rule)]; }

Rule rule_of(BrokenForm::Kind kind) {
  using K = BrokenForm::Kind;
  constexpr std::pair<K, Rule> kOfForms[] = {{K::withdrawn, Rule::operator_withdrawn},
                                             {K::input_count, Rule::input_count},
                                             {K::input_required, Rule::input_required},
                                             {K::output_count, Rule::output_count},
                                             {K::output_required, Rule::output_required},
                                             {K::attribute_unknown, Rule::attribute_unknown},
                                             {K::attribute_kind, Rule::attribute_kind},
                                             {K::attribute_word, Rule::attribute_word},
                                             {K::attribute_required, Rule::attribute_required},
                                             {K::attribute_off, Rule::attribute_off},
                                             {K::negative_axis, Rule::negative_axis},
                                             {K::operand_type, Rule::operand_type},
                                             {K::operand_rank, Rule::operand_rank},
                                             {K::operand_shape, Rule::operands},
                                             {K::one_type, Rule::one_type}};
  return std::find_if(std::begin(kOfForms), std::end(kOfForms), [&](const auto& r) { return r.first == kind; })->second;
}

void BrokenRules::add(const std::string& owner, Broken b) {
  ++count_;
  if (!b.rule || rule_text(*b.rule).severity == Severity::error) {
    ++errors_;
    if (owners_.size() < kMaxBroken && !owner.empty()) owners_.insert(owner);
  }
  if (list_.size() < kMaxBroken) list_.push_back(std::move(b));
}

}  // namespace nnex::onnx_format
