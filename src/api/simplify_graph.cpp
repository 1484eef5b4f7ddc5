#include "api/simplify_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/graph_impl.h"
#include "api/random_runs.h"
#include "api/rewrite_proof.h"
#include "base/faults.h"
#include "base/guarded.h"
#include "base/try.h"
#include "graph/infer.h"
#include "graph/queries.h"
#include "nnex/edit.h"
#include "passes/passes.h"

namespace nnex {
namespace {

/// Rounds after which what still changes is left: each pass makes the graph smaller or ends.
constexpr int kMaxRounds = 8;

constexpr Simplifier kSimplifiers[] = {{"fold_constants", passes::fold_for_files, true},
                                       {"fold_known", passes::fold_known, true},
                                       {"take_branches", passes::take_branches, true},
                                       {"simplify", passes::simplify},
                                       {"fold_affine", passes::fold_affine},
                                       {"merge_equal", passes::merge_equal},
                                       {"drop_copies", passes::drop_copies},
                                       {"drop_unused", passes::drop_unused, true}};

void count_operators(const ir::Graph& g, bool after, std::map<std::string, std::pair<int64_t, int64_t>>& operators) {
  for (NodeId id : g.order_with_blocks()) {
    if (is_implied(g, id)) continue;
    auto& [x, y] = operators[g[id].custom ? g[id].custom->name : std::string(g[id].op->name)];
    ++(after ? y : x);
  }
}

class Simplification {
 public:
  Simplification(ir::Graph& graph, std::span<const Simplifier> passes, const RunOptions& run,
                 const std::vector<Value>& inputs)
      : graph_(graph), passes_(passes.begin(), passes.end()), run_(run), inputs_(inputs) {}

  Result<SimplifyReport> run() && {
    count_operators(graph_, false, out_.operators);
    for (ValueId v : graph_.outputs()) names_.push_back(graph_[v].name);
    NNEX_TRY(settle_types());
    NNEX_ASSIGN(RandomRun expected, proof_run(graph_, run_, inputs_));
    inputs_ = std::move(expected.inputs), expected_ = std::move(expected.outputs);
    bool changes = true;
    for (int round = 0; changes && round < kMaxRounds; ++round) {
      changes = false;
      for (Simplifier& p : passes_) {
        if (!p.run) continue;
        NNEX_ASSIGN(const bool changed, pass(p));
        changes |= changed;
      }
    }
    count_operators(graph_, true, out_.operators);
    return std::move(out_);
  }

 private:
  Status settle_types() {
    Faults faults;
    infer_types(graph_, faults);
    if (!faults.none()) return std::move(faults).first();
    return {};
  }

  /// Whether the pass changed the graph, and the graph stayed so. One that is taken back is not asked again.
  Result<bool> pass(Simplifier& p) {
    ir::Graph before = graph_;
    Rewrite row{p.name, 0, count(before), 0, true, 0, "", {}};
    std::vector<Replacement> replacements;
    graph_.record(&replacements);
    auto applied = p.run(graph_);
    graph_.record(nullptr);
    NNEX_ASSIGN(row.applied, std::move(applied));
    if (row.applied == 0) return false;
    NNEX_TRY(settle_types());
    keep_names();
    row.nodes_after = count(graph_);
    row.reason = fault(before, replacements, row);
    row.kept = row.reason.empty();
    const bool told = !row.kept || !only_implied(before, replacements);
    if (!row.kept) graph_ = std::move(before), p.run = nullptr, row.nodes_after = row.nodes_before;
    const bool kept = row.kept;
    if (told) out_.rewrites.push_back(std::move(row));
    return kept;
  }
  static int64_t count(const ir::Graph& g) {
    const std::vector<NodeId> nodes = g.order_with_blocks();
    return std::count_if(nodes.begin(), nodes.end(), [&](NodeId id) { return !is_implied(g, id); });
  }
  /// Whether what a pass replaced is nothing that a document has.
  static bool only_implied(const ir::Graph& before, std::span<const Replacement> replacements) {
    return !replacements.empty() && std::all_of(replacements.begin(), replacements.end(), [&](const Replacement& r) {
      const NodeId producer = r.from.n < before.value_count() ? before[r.from].producer : NodeId{};
      return producer.valid() && is_implied(before, producer);
    });
  }

  /// A pass may make an output anew.
  void keep_names() {
    for (size_t i = 0; i < names_.size(); ++i) graph_.set_name(graph_.outputs()[i], names_[i]);
  }

  /// Why the network does not compute what it did; empty: it does, at each place and as a whole.
  std::string fault(const ir::Graph& before, std::span<const Replacement> replacements, Rewrite& row) const {
    auto replaced = proven_replacements(before, graph_, replacements, inputs_, run_);
    if (!replaced.ok()) return replaced.error().text();
    row.replaced = std::move(*replaced);
    for (const Replaced& r : row.replaced)
      if (!r.same) return fmt::format("'{}' ({} -> {}): {}", r.tensor, r.before, r.after, r.reason);
    const auto now = plain_run(graph_, inputs_, run_);
    if (!now.ok()) return now.error().text();
    for (size_t i = 0; i < now->size(); ++i) {
      const Difference d = difference(expected_[i], (*now)[i]);
      row.max_absolute = std::max(row.max_absolute, d.max_absolute);
      if (!d.same())
        return fmt::format("output '{}': {} of {} elements differ, by {:.3g} at most", names_[i], d.differing, d.count,
                           d.max_absolute);
    }
    return "";
  }

  ir::Graph& graph_;
  std::vector<Simplifier> passes_;  ///< Without `run`: taken back.
  const RunOptions& run_;
  SimplifyReport out_;
  std::vector<std::string> names_;
  std::vector<Value> inputs_, expected_;
};

}  // namespace

std::vector<Simplifier> simplifiers(bool folds) {
  std::vector<Simplifier> out;
  for (const Simplifier& p : kSimplifiers)
    if (!folds || p.folds) out.push_back(p);
  return out;
}

Result<SimplifyReport> simplify_by(Graph& graph, std::span<const Simplifier> passes, const RunOptions& run,
                                   const std::vector<Value>& inputs) {
  return guarded([&]() -> Result<SimplifyReport> {
    ir::Graph work = graph.impl().graph;
    NNEX_TRY(passes::inline_functions(work));
    NNEX_ASSIGN(SimplifyReport report, Simplification(work, passes, run, inputs).run());
    graph.impl().graph = std::move(work);
    return report;
  });
}

Result<SimplifyReport> simplify(Graph& graph, const RunOptions& run, const std::vector<Value>& inputs) {
  return simplify_by(graph, simplifiers(false), run, inputs);
}
Result<SimplifyReport> fold(Graph& graph, const RunOptions& run, const std::vector<Value>& inputs) {
  return simplify_by(graph, simplifiers(true), run, inputs);
}

}  // namespace nnex
