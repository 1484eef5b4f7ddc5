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

void BrokenRules::add(const std::string& owner, Broken b) {
  ++count_;
  if (!b.rule || rule_text(*b.rule).severity == Severity::error) {
    ++errors_;
    if (owners_.size() < kMaxBroken && !owner.empty()) owners_.insert(owner);
  }
  if (list_.size() < kMaxBroken) list_.push_back(std::move(b));
}

}  // namespace nnex::onnx_format
