#include "nnex/check.h"

#include <fmt/format.h>

#include "api/certificate.h"
#include "api/formats.h"
#include "api/read.h"
#include "base/failure.h"
#include "base/faults.h"
#include "base/guarded.h"
#include "base/try.h"
#include "graph/custom.h"
#include "graph/infer.h"
#include "graph/missing.h"
#include "graph/symbols.h"
#include "passes/passes.h"
#include "run/options.h"
#include "standards/cvm/read_symbol.h"
#include "standards/nnef/model.h"
#include "standards/onnx/check.h"
#include "tensor/unknown_names.h"

namespace nnex {

std::string_view name(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
}

std::string Fault::text(OptionWords words) const {
  std::string out = (where.empty() ? "" : where + ": ") + with_remedies(message, remedies, words);
  for (const std::string& task : during) out += "\n  while " + task;
  return out;
}

namespace {

/// The number of a rule in front of a sentence: "C9: ..." has "C9", "E1.2: ..." has "E1.2".
std::string rule_of(std::string_view message) {
  size_t at = 0;
  while (at < message.size() && message[at] >= 'A' && message[at] <= 'Z') ++at;
  const size_t letters = at;
  while (at < message.size() && ((message[at] >= '0' && message[at] <= '9') || message[at] == '.')) ++at;
  if (letters < 1 || letters > 3 || at == letters || message.substr(at, 2) != ": ") return {};
  return std::string(message.substr(0, at));
}

/// What stands behind a word of our sentences ("found 3; needed 4"), up to the end of its part.
std::string said_behind(std::string_view message, std::string_view word) {
  for (size_t at = message.find(word); at != std::string_view::npos; at = message.find(word, at + 1)) {
    if (at > 0 && message[at - 1] != ' ' && message[at - 1] != '(') continue;
    const size_t from = at + word.size();
    return std::string(message.substr(from, message.find_first_of(";\n", from) - from));
  }
  return {};
}

Fault fault_of(const Error& e) {
  Fault out;
  out.code = e.code();
  out.severity = e.code() == Code::limit || e.code() == Code::unsupported ? Severity::warning : Severity::error;
  out.rule = rule_of(e.message());
  out.where = e.where();
  out.message = e.message();
  out.found = said_behind(e.message(), "found ");
  out.needed = said_behind(e.message(), "needed ");
  out.during = e.tasks();
  out.remedies = e.remedies();
  return out;
}

Fault fault_of(const onnx_format::Broken& b) {
  Fault out = fault_of(b.error);
  if (b.rule) out.rule = onnx_format::rule_text(*b.rule).id;
  if (b.rule && out.severity == Severity::error) out.severity = onnx_format::rule_text(*b.rule).severity;
  if (!b.found.empty()) out.found = b.found;
  if (!b.needed.empty()) out.needed = b.needed;
  return out;
}

/// One check, step by step.
class Check {
 public:
  Check(const Recognised& model, const LoadOptions& options) : model_(model), asked_(options), options_(options) {}

  Result<CheckReport> run() {
    report_.format = format_of(model_.format);
    const bool cvm = model_.format == ModelFormat::cvm;
    bool is_nnef = false;
    if (!cvm) {
      NNEX_ASSIGN(is_nnef, check_nnef());
    }
    if (model_.format == ModelFormat::onnx) {
      NNEX_ASSIGN(onnx_, check_onnx(model_, options_));
      graph_ = std::move(onnx_->graph);
    } else if (!is_nnef) {
      NNEX_TRY(read());
    }
    if (graph_) NNEX_TRY(fix_symbols(*graph_, options_.symbols));
    if (graph_ && onnx_) infer_onnx();
    if (graph_ && !onnx_) infer();
    if (graph_ && faults_.none() && !(onnx_ && onnx_->broken.errors()) && is_integer_model(*graph_)) {
      const bool compatible = options_.cvm.answers == CvmAnswers::formal;
      report_.certificate = certify(*graph_, compatible);
      add_faults(*report_.certificate, compatible, faults_, notes_);
    }
    if (onnx_)
      for (const onnx_format::Broken& b : onnx_->broken.list()) report_.faults.push_back(fault_of(b));
    for (const Error& e : faults_.list()) report_.faults.push_back(fault_of(e));
    report_.fault_count = faults_.count() + (onnx_ ? onnx_->broken.count() : 0);
    report_.forgiven_count = onnx_ ? onnx_->broken.warnings() : 0;
    for (std::string& text : notes_) {
      Fault note;
      note.severity = Severity::note;
      note.message = std::move(text);
      report_.notes.push_back(std::move(note));
    }
    return std::move(report_);
  }

 private:
  /// All faults of an NNEF model: of a text alone its own and those of the files that lie beside it, of a folder or an
  /// archive those of all files. Whether it is such a model.
  Result<bool> check_nnef() {
    if (!built(Format::nnef)) return false;  // read() says so
    nnef_format::EvaluateOptions options;
    if (asked_.nnef.dialect == NnefDialect::automatic) options.dialect = nnef_format::Dialect::any;
    for (const auto& [name, extents] : asked_.shapes) options.shapes.emplace(name, extents);
    NNEX_ASSIGN(const std::optional<Container> files, open_nnef(model_, asked_));
    if (!files) return false;
    const bool lone = model_.format == ModelFormat::nnef_text;
    if (asked_.nnef.dialect == NnefDialect::tract) {
      NNEX_ASSIGN(graph_, nnef_format::check_tract(*files, options, lone, faults_, notes_));
      return true;
    }
    if (lone)
      NNEX_TRY(nnef_format::check_lone_document(*files, options, faults_, notes_));
    else
      NNEX_TRY(nnef_format::check_model(*files, options, faults_, notes_));
    return true;
  }

  /// The graph, unless its reader finds a fault: of CVM all of them, of others the first that is no matter of reading.
  Status read() {
    if (model_.format == ModelFormat::cvm) {
      NNEX_ASSIGN(graph_, check_cvm(model_, options_, faults_));
      if (!faults_.none()) report_.blame = cvm_blame(faults_.list()[0]);
      return {};
    }
    auto read = read_model(model_, options_);
    if (read.ok()) {
      graph_ = std::move(*read);
      return {};
    }
    if (read.error().code() == Code::unreadable || read.error().code() == Code::limit) return std::move(read).error();
    faults_.add(std::move(read).error());
    return {};
  }

  void infer() {
    Faults inferred;
    auto inlined = passes::inline_functions(*graph_);
    resolve_custom(*graph_, options_.custom_operators);
    if (inlined.ok())
      infer_types(*graph_, inferred);
    else
      inferred.add(std::move(inlined).error());
    faults_.add_elsewhere(std::move(inferred));
    find_missing();
  }

  void infer_onnx() {
    onnx_format::Findings& findings = *onnx_->findings;
    onnx_format::BrokenRules& broken = onnx_->broken;
    const bool whole = findings.faults.check([&]() -> Status {
      NNEX_TRY(passes::inline_functions(*graph_));
      return {};
    }());
    onnx_format::add_found(std::exchange(findings.faults, Faults()), broken);
    resolve_custom(*graph_, options_.custom_operators);
    if (whole) {
      Faults inferred(onnx_format::kMaxBroken);
      infer_types(*graph_, inferred);
      // The standard's own words come first: the table's rows take other types than an opset's operators.
      onnx_format::check_operands(*graph_, findings, broken);
      onnx_format::add_found(std::move(inferred), broken);
      // What was asked of extents is not what the model declares.
      if (options_.shapes.empty()) onnx_format::check_declared(*graph_, findings, broken);
      infer_uncalled();
    }
    find_missing();
  }

  /// Functions that nobody calls: the types that constants give to what stands in them. Ranks and extents are a
  /// caller's.
  void infer_uncalled() {
    onnx_format::Findings& findings = *onnx_->findings;
    while (auto calls = onnx_format::uncalled_functions(*graph_, findings)) {
      findings.nodes.clear(), findings.doubtful.clear();
      if (!passes::inline_functions(*calls).ok()) break;  // they make too many nodes
      Faults unused;
      infer_types(*calls, unused);
      onnx_format::check_operands(*calls, findings, onnx_->broken);
    }
    findings.faults = Faults();
  }

  void find_missing() {
    for (const Missing& m : missing_operators(*graph_))
      if (!onnx_ || !onnx_->broken.at(m.place))  // that ONNX has none of this name is told
        faults_.add(missing(m));
  }

  static Error missing(const Missing& m) {
    const std::string more = m.nodes > 1 ? fmt::format(" (of {} nodes, this is the first)", m.nodes) : "";
    return failure(Code::unsupported, "operator {} is missing{}", m.op, more).at(m.place);
  }

  const Recognised& model_;
  const LoadOptions& asked_;
  LoadOptions options_;
  std::optional<CheckedOnnx> onnx_;
  std::optional<ir::Graph> graph_;
  Faults faults_{onnx_format::kMaxBroken};
  std::vector<std::string> notes_;
  CheckReport report_;
};

}  // namespace

void CheckReport::be_strict() {
  for (Fault& f : faults)
    if (f.forgiven()) f.severity = Severity::error;
  forgiven_count = 0;
}

std::span<const CheckRule> onnx_rules() { return onnx_format::check_rules(); }

Result<CheckReport> check(const ModelSource& source, const LoadOptions& options) {
  return guarded([&]() -> Result<CheckReport> {
    NNEX_TRY(check_options(options));
    const UnknownNames named;
    NNEX_ASSIGN(const Recognised model, recognise(source, options));
    return Check(model, options).run();
  });
}

}  // namespace nnex
