#include "api/prove.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "api/compare_whole.h"
#include "api/random_runs.h"
#include "api/read.h"
#include "base/failure.h"
#include "base/faults.h"
#include "base/try.h"
#include "graph/infer.h"
#include "graph/queries.h"
#include "graph/symbols.h"
#include "nnex/elements.h"
#include "nnex/load.h"
#include "run/compile.h"

namespace nnex {
namespace {

struct ProbeKind {
  std::string_view name;
  Numbers numbers;
  std::span<const int64_t> extents;  ///< What extents that are no numbers become: the first that the source takes.
  bool of_extents = false;           ///< It says nothing of a network whose extents are all numbers.
};

constexpr int64_t kOddExtents[] = {3, 5, 7, 33}, kEdgeExtents[] = {1, 2, 4, 8, 16, 32, 64, 128, 224};
const ProbeKind kProbes[] = {{"usual", Numbers::usual, kUsualExtents},
                             {"odd extents", Numbers::usual, kOddExtents, true},
                             {"edges", Numbers::edges, kEdgeExtents},
                             {"NaN and infinity", Numbers::special, kEdgeExtents}};
const ProbeKind kPositive = {"positive", Numbers::positive, kUsualExtents};

bool has_reals(const std::vector<PortInfo>& ports) {
  return std::any_of(ports.begin(), ports.end(), [](const PortInfo& p) { return is_real(p.dtype); });
}

/// The first operator of a graph, or of its blocks, that draws random numbers; empty: none does.
std::string random_operator(const ir::Graph& graph) {
  for (NodeId id : graph.order_with_blocks())
    if (const Node& node = graph[id]; !node.custom && draws(graph, node)) return std::string(node.op->name);
  return {};
}

/// One run of a model: its results, with what it keeps for the next one.
struct Ran {
  std::vector<Value> given, results;
};

Result<std::vector<Value>> run_once(const Model& model, const std::vector<Value>& inputs, const ProofOptions& o) {
  Session session = model.session(o.session);
  NNEX_ASSIGN(std::vector<Value> results, session.run(inputs, o.run));
  for (const PortInfo& state : model.states()) {
    NNEX_ASSIGN(Value kept, session.state(state.name));
    results.push_back(std::move(kept));
  }
  return results;
}

std::vector<PortInfo> results_of(const Model& model) {
  std::vector<PortInfo> out = model.outputs();
  out.insert(out.end(), model.states().begin(), model.states().end());
  return out;
}

/// Whether outputs have the extents that the model declares: a writer may go by those. Error: invalid_argument.
Status as_declared(const Model& model, const std::vector<Value>& results) {
  for (size_t o = 0; o < model.outputs().size(); ++o) {
    const PortInfo& port = model.outputs()[o];
    const Tensor* t = results[o].tensor();
    if (!t || !port.known_rank) continue;
    bool same = static_cast<size_t>(t->shape().rank()) == port.extents.size();
    for (size_t i = 0; same && i < port.extents.size(); ++i)
      same = port.extents[i] < 0 || port.extents[i] == t->shape()[static_cast<int64_t>(i)];
    if (!same)
      return failure(Code::invalid_argument, "these inputs make output '{}' {}, which the model declares {}", port.name,
                     results[o].text(), port.type);
  }
  return {};
}

/// Whole numbers as far as they are defined: -128 to 127 become 0 to 127, those of many bits -7 to 7.
void keep_to_defined(Tensor& t, Undefined undefined) {
  if (!is_int(t.dtype()) || (!undefined.negative_indices && !undefined.large_wholes)) return;
  constexpr int64_t kSmall = 8;
  for (int64_t i = 0; i < t.count(); ++i) {
    int64_t n = int_at(t, i);
    if (undefined.negative_indices && n < 0) n = ~n;
    if (undefined.large_wholes && bits(t.dtype()) > 8) n %= kSmall;
    set_int(t, i, n);
  }
}

/// The source on the first of a probe's extents that it takes; why it took none.
Result<Ran> run_source(const Model& model, const ProbeKind& kind, const ProofOptions& o, Undefined undefined) {
  std::optional<Error> refused;
  for (int64_t extent : kind.extents) {
    Ran ran;
    Dice dice(o.seed);
    for (const PortInfo& port : model.inputs()) {
      NNEX_ASSIGN(Tensor t, made_input(port, extent, kind.numbers, dice));
      keep_to_defined(t, undefined);
      // One truth may be a condition: both branches run.
      if (port.dtype == DType::boolean && t.count() == 1) set_int(t, 0, kind.numbers == Numbers::usual);
      ran.given.emplace_back(std::move(t));
    }
    auto results = run_once(model, ran.given, o);
    if (Status s = results.ok() ? as_declared(model, *results) : Status(); !s.ok()) results = std::move(s).error();
    if (results.ok()) {
      ran.results = std::move(*results);
      return ran;
    }
    if (results.error().code() == Code::cancelled || results.error().code() == Code::limit)
      return std::move(results).error();
    if (!refused) refused = std::move(results).error();
    if (!has_open_extents(model.inputs())) break;
  }
  return std::move(*refused);
}

Probe compared(const Probe& probe, const std::vector<PortInfo>& a, const std::vector<PortInfo>& b,
               const std::vector<Value>& x, const std::vector<Value>& y, const Tolerance& tolerance) {
  Probe out = probe;
  out.outcome = ProbeOutcome::same;
  size_t matched = 0;
  for (const auto& [i, j] : match_ports(a, b)) {
    ComparedTensor& t = out.outputs.emplace_back();
    t.a = a[i].name, t.b = b[j].name, t.type = x[i].text(), t.matched = MatchedBy::port;
    t.difference = difference(x[i], y[j], tolerance);
    if (!t.difference.same()) out.outcome = ProbeOutcome::differs;
    ++matched;
  }
  if (matched == std::max(a.size(), b.size())) return out;
  out.outcome = ProbeOutcome::differs;
  out.note = fmt::format("found {} outputs; needed {}", b.size(), a.size());
  return out;
}

/// What can be said where no run was left that counts: why the first was none.
std::string nothing_proven(const Proof& proof) {
  bool ran = false;
  for (const Probe& p : proof.probes) {
    if (p.counts && p.outcome != ProbeOutcome::refused) return {};
    ran |= !p.outputs.empty();
  }
  if (proof.probes.empty()) return {};
  if (ran) return "in each run the source computes NaN, of which NNEF says nothing";
  return "what was written takes none of the inputs that were made for it: " + proof.probes[0].note;
}

// ---- NaN, of which NNEF says nothing

bool is_of_nnef(const ir::Graph& graph) { return graph.provenance.nnef && graph.meta.opsets.empty(); }

/// Whether outputs differ in elements alone that are NaN in one of them.
bool differs_by_nan(const Probe& p) {
  return p.counts && p.outcome == ProbeOutcome::differs && p.note.empty() &&
         std::all_of(p.outputs.begin(), p.outputs.end(), [](const ComparedTensor& t) {
           return t.difference.mismatch.empty() && t.difference.differing == t.difference.nan_mismatch;
         });
}

bool has_nan(const Value& v) {
  const Tensor* t = v.tensor();
  if (!t || !is_real(t->dtype())) return false;
  for (int64_t i = 0; i < t->count(); ++i)
    if (std::isnan(real_at(*t, i))) return true;
  return false;
}

/// Whether the network computes a NaN of these inputs, be it on the way. One that cannot be asked does not.
bool computes_nan(const ir::Graph& graph, const std::vector<Value>& given, const RunOptions& run) {
  ir::Graph all = graph;
  std::vector<ValueId> results;
  for (NodeId id : graph.order())
    for (ValueId v : graph[id].out)
      if (v.valid() && is_real(graph[v].type.dtype)) results.push_back(v);
  results.insert(results.end(), graph.outputs().end() - static_cast<ptrdiff_t>(graph.states.size()),
                 graph.outputs().end());
  all.set_results(kMain, std::move(results));
  const auto values = plain_run(all, given, run);
  return values.ok() && std::any_of(values->begin(), values->end(), has_nan);
}

/// A probe, and what the source made of it.
struct Run {
  Probe probe;
  Ran source;
};

/// A run of what was written on the inputs that the source had. Error: cancelled.
Result<Probe> run_written(Run run, const WholeRun& source, WrittenModel& model, const ProofOptions& o,
                          Undefined undefined) {
  WholeRun a = source;
  a.given = run.source.given;
  NNEX_ASSIGN(const std::vector<Value> given, inputs_for(a, model.inputs()));
  auto results = model.run(given);
  if (results.ok()) return compared(run.probe, a.outputs, model.outputs(), run.source.results, *results, o.tolerance);
  if (results.error().code() == Code::cancelled) return std::move(results).error();
  run.probe.outcome = ProbeOutcome::differs;
  run.probe.note = "what was written refuses them: " + results.error().text();
  if (undefined.negative_indices && results.error().code() == Code::fault) run.probe.counts = false;
  return std::move(run.probe);
}

/// Runs that differ by NaN alone do not count where a model of NNEF computes NaN itself; inputs that may make none are
/// tried beside them.
Status excuse_nan(const ModelSource& source, const LoadOptions& load_source, const WholeRun& a, std::vector<Run>& runs,
                  Proof& proof, WrittenModel& written, const ProofOptions& o, Undefined undefined) {
  if (std::none_of(proof.probes.begin(), proof.probes.end(), differs_by_nan)) return {};
  NNEX_ASSIGN(ir::Graph graph, read_model(source, load_source));
  if (!is_of_nnef(graph)) return {};
  NNEX_TRY(fix_symbols(graph, load_source.symbols));
  Faults unknown;
  infer_types(graph, unknown);
  NNEX_ASSIGN(const Model model, load_model(source, load_source));
  Run positive;
  positive.probe.name = kPositive.name;
  if (auto ran = run_source(model, kPositive, o, undefined); ran.ok()) {
    positive.source = std::move(*ran);
    for (const Value& v : positive.source.given) positive.probe.inputs.push_back(v.text());
    NNEX_ASSIGN(Probe probe, run_written(positive, a, written, o, undefined));
    proof.probes.push_back(std::move(probe));
    runs.push_back(std::move(positive));
  } else if (ran.error().code() == Code::cancelled) {
    return std::move(ran).error();
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    Probe& p = proof.probes[i];
    if (!differs_by_nan(p) || !computes_nan(graph, runs[i].source.given, o.run)) continue;
    p.counts = false;
    p.note = "the source computes NaN, of which NNEF says nothing: other answers there";
  }
  return {};
}

}  // namespace

std::string_view name(ProbeOutcome outcome) {
  constexpr std::string_view kNames[] = {"same", "differs", "refused"};
  return kNames[static_cast<size_t>(outcome)];
}

bool Proof::holds() const {
  return std::none_of(probes.begin(), probes.end(),
                      [](const Probe& p) { return p.counts && p.outcome == ProbeOutcome::differs; });
}

Result<Proof> prove(const ModelSource& source, const LoadOptions& load_source, const OpenWritten& open,
                    const ProofOptions& options, Undefined undefined) {
  Proof proof;
  std::vector<Run> runs;
  WholeRun a;
  {  // one model at a time is in memory
    NNEX_ASSIGN(const Model model, load_model(source, load_source));
    if (const std::string op = random_operator(*GraphView(model)); !op.empty()) {
      proof.unproven = fmt::format("{} draws random numbers", op);
      return proof;
    }
    a.inputs = model.inputs(), a.outputs = results_of(model);
    for (const ProbeKind& kind : kProbes) {
      if (kind.numbers == Numbers::special && !has_reals(a.inputs)) continue;
      if (kind.of_extents && !has_open_extents(a.inputs)) continue;
      Run run;
      run.probe.name = kind.name;
      run.probe.counts = kind.numbers != Numbers::special;
      auto ran = run_source(model, kind, options, undefined);
      if (ran.ok()) {
        run.source = std::move(*ran);
        for (const Value& v : run.source.given) run.probe.inputs.push_back(v.text());
      } else if (ran.error().code() == Code::cancelled) {
        return std::move(ran).error();
      } else {
        run.probe.outcome = ProbeOutcome::refused;
        run.probe.note = ran.error().text();
        if (&kind == &kProbes[0])
          proof.unproven = "the source takes none of the inputs that were made for it: " + run.probe.note;
      }
      runs.push_back(std::move(run));
      if (!proof.unproven.empty()) break;
    }
  }
  if (!proof.unproven.empty()) {
    for (Run& r : runs) proof.probes.push_back(std::move(r.probe));
    return proof;
  }
  NNEX_ASSIGN(const std::unique_ptr<WrittenModel> model, open());
  for (Run& r : runs) {
    if (r.probe.outcome == ProbeOutcome::refused) {
      proof.probes.push_back(r.probe);
      continue;
    }
    NNEX_ASSIGN(Probe probe, run_written(r, a, *model, options, undefined));
    proof.probes.push_back(std::move(probe));
  }
  NNEX_TRY(excuse_nan(source, load_source, a, runs, proof, *model, options, undefined));
  proof.unproven = nothing_proven(proof);
  return proof;
}

namespace {

/// A model that nnex reads again.
class ReadModel : public WrittenModel {
 public:
  ReadModel(Model model, const ProofOptions& options) : model_(std::move(model)), options_(options) {}
  std::vector<PortInfo> inputs() const override { return model_.inputs(); }
  std::vector<PortInfo> outputs() const override { return results_of(model_); }
  Result<std::vector<Value>> run(const std::vector<Value>& inputs) override {
    return run_once(model_, inputs, options_);
  }

 private:
  Model model_;
  const ProofOptions& options_;
};

}  // namespace

Result<Proof> prove(const ModelSource& source, const LoadOptions& load_source, const ModelSource& written,
                    const LoadOptions& load_written, const ProofOptions& options, Undefined undefined) {
  const auto proven = [&](LoadOptions from, LoadOptions to, bool optimize) {
    from.optimize = from.optimize && optimize, to.optimize = to.optimize && optimize;
    const OpenWritten open = [&]() -> Result<std::unique_ptr<WrittenModel>> {
      NNEX_ASSIGN(Model model, load_model(written, to));
      return std::unique_ptr<WrittenModel>(std::make_unique<ReadModel>(std::move(model), options));
    };
    return prove(source, from, open, options, undefined);
  };
  NNEX_ASSIGN(Proof proof, proven(load_source, load_written, true));
  if (proof.holds()) return proof;
  auto plain = proven(load_source, load_written, false);
  if (!plain.ok() || !plain->holds() || !plain->unproven.empty()) return proof;
  plain->plain = true;
  return plain;
}

}  // namespace nnex
