#pragma once
/// Checking a model: every fault against its standard's rules and against what can be run here, and what is proven of
/// integer networks.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/cvm.h"
#include "nnex/format.h"
#include "nnex/model.h"
#include "nnex/source.h"

#pragma GCC visibility push(default)
namespace nnex {

enum class Severity : uint8_t {
  error,    ///< The model breaks a rule.
  warning,  ///< The model breaks a rule that readers forgive, passes a limit, or needs what nnex lacks.
  note      ///< For people: what was upgraded, what is not proven.
};

/// "error", "warning", "note".
std::string_view name(Severity severity);

/// A rule that models are checked by.
struct CheckRule {
  std::string_view id;  ///< "onnx/ir-version"
  Severity severity = Severity::error;
  std::string_view summary;  ///< What sound models do.
};
/// The rules of ONNX models, in the order of a model's parts.
std::span<const CheckRule> onnx_rules();

/// Something that a check has to say.
struct Fault {
  Severity severity = Severity::error;
  Code code = Code::invalid_model;  ///< Of notes without meaning.
  std::string rule;                 ///< Its name in the list of rules ("C9", "onnx/ir-version"); empty: it has none.
  std::string where;                ///< "graph.nnef:41:12", "node 'conv1' (Conv)"; empty: the model.
  std::string message;              ///< The whole sentence, behind the rule's number where it has one.
  std::string found, needed;        ///< What the sentence says was found and needed; empty where it does not say.
  std::vector<std::string> during;  ///< While doing what, inner tasks first.
  std::vector<Remedy> remedies;     ///< Options with which the model would pass.

  /// "where: message; remedy", then one line "  while task" for every task.
  std::string text(OptionWords words = option_words) const;
  /// A warning of a rule that readers forgive.
  bool forgiven() const { return severity == Severity::warning && code == Code::invalid_model; }
};

/// What is proven of a node of an integer network, over the real contents of its constants.
struct NodeProof {
  std::string where;                    ///< The node.
  std::string op;                       ///< Its operator.
  std::optional<int64_t> bits_by_rule;  ///< What the standard's rules promise of its result; nothing: no rule says.
  int64_t bits_proven = 0;              ///< The least p such that every element is within +-(2^(p-1) - 1).
  int64_t low = 0, high = 0;            ///< Between which every element lies.
  std::optional<int64_t> accumulator_bound;  ///< Of sums: no partial sum, in whatever order, is greater in magnitude.
  bool overflows = false;                    ///< The result or a partial sum may not fit int32.
  bool bounded = true;                       ///< False: nothing bounds it, so whether it overflows is not known.
};

/// A value that may need more bits than the rules or the file promise, where that begins.
struct BrokenPromise {
  std::string value;  ///< Its name, or its node.
  int64_t bits_by_rule = 0, bits_proven = 0;
};

/// The proof that no sum of an integer network overflows.
struct Certificate {
  bool safe = true;  ///< Every sum and every result is proven to fit int32.
  std::vector<NodeProof> nodes;
  std::vector<BrokenPromise> beyond_rule;
};

/// What check() found.
struct CheckReport {
  Format format = Format::onnx;
  std::vector<Fault> faults;  ///< Errors and warnings, in the order in which they were found; the first thousand.
  size_t fault_count = 0;     ///< All that were found,
  size_t forgiven_count = 0;  ///< and of them warnings of rules that readers forgive.
  std::vector<Fault> notes;
  std::optional<Certificate> certificate;  ///< Of integer networks without faults of another kind.
  CvmBlame blame = CvmBlame::none;         ///< Of CVM models that are refused: whose fault it is.

  /// No rule is broken but what readers forgive, no limit is passed, and nothing is missing here.
  bool sound() const { return fault_count == forgiven_count; }
  /// From now on what readers forgive is an error.
  void be_strict();
};

/// Checks a model as far as it can be read. Where options.cvm.answers is CvmAnswers::formal the rules of CVM are those
/// of the upstream runtime, and broken promises are notes. Errors, where a model cannot be looked into at all:
/// unreadable, limit; invalid_argument (options).
Result<CheckReport> check(const ModelSource& source, const LoadOptions& options = {});

}  // namespace nnex
#pragma GCC visibility pop
