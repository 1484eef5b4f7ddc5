#pragma once
// The rules that a model is checked by: one line each, by which messages, documents and SARIF logs name them.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "nnex/check.h"
#include "nnex/result.h"
#include "standards/onnx/signatures.h"

namespace nnex::onnx_format {

enum class Rule : uint8_t {
#define NNEX_RULE(rule, severity, sentence) rule,
#include "standards/onnx/check_rules.def"
#undef NNEX_RULE
};

/// All of them, in the order of their numbers.
std::span<const CheckRule> check_rules();
const CheckRule& rule_text(Rule rule);
/// The rule that a node breaks which does not fit its form.
Rule rule_of(BrokenForm::Kind kind);

/// Of what is found so many are kept, and all are counted.
inline constexpr size_t kMaxBroken = 1000;

/// A broken rule. Of limits and of what is missing here `rule` may be none.
struct Broken {
  std::optional<Rule> rule;
  Error error;
  std::string found, needed;
};

/// What a check has found so far, and the places of all errors.
class BrokenRules {
 public:
  /// `owner`: the node, tensor or value that the place lies in, of which importers need say no more.
  void add(const std::string& owner, Broken b);
  /// Whether an error was found in what has this place.
  bool at(const std::string& owner) const { return owners_.count(owner) != 0; }
  /// Of what has this place nothing more is told: it follows from an error elsewhere.
  void silence(const std::string& owner) { owners_.insert(owner); }
  /// Errors without which nothing more is known: versions, the bytes of the model.
  void stop() { stopped_ = true; }
  /// Whether what is left needs what is broken: the bytes, the versions, or very many nodes.
  bool stopped() const { return stopped_ || errors_ >= kMaxBroken; }
  size_t count() const { return count_; }
  size_t errors() const { return errors_; }
  size_t warnings() const { return count_ - errors_; }
  const std::vector<Broken>& list() const { return list_; }

 private:
  size_t count_ = 0, errors_ = 0;
  bool stopped_ = false;
  std::vector<Broken> list_;
  std::unordered_set<std::string> owners_;
};

}  // namespace nnex::onnx_format
