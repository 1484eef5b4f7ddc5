#include "api/rewrite_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "api/random_runs.h"
#include "api/subgraph.h"
#include "base/joined.h"
#include "base/try.h"
#include "graph/infer.h"
#include "nnex/compare.h"
#include "run/inputs.h"

namespace nnex {
namespace {

/// Bytes of tensors that one run keeps for the comparison, unless one alone has more.
constexpr int64_t kHeldBytes = int64_t{256} << 20;
/// What a tensor is taken to have where extents are unknown.
constexpr int64_t kUnknownBytes = int64_t{1} << 20;

/// A value of the graph before and the one that stands for it after.
struct Pair {
  ValueId from, to;
};

std::string_view operator_of(const Node& node) {
  return node.custom ? std::string_view(node.custom->name) : node.op->name;
}

int64_t held_bytes(const ir::Graph& graph, ValueId v) {
  const Type& type = graph[v].type;
  const auto shape = concrete(type);
  return shape ? bytes_for(type.dtype, shape->count()).value_or(kUnknownBytes) : kUnknownBytes;
}

/// The nodes that the results need, those in blocks too.
std::set<uint32_t> live_nodes(const ir::Graph& graph) {
  std::set<uint32_t> live;
  std::vector<ValueId> wanted = graph.outputs();
  while (!wanted.empty()) {
    const ValueId v = wanted.back();
    wanted.pop_back();
    const NodeId id = v.valid() ? graph[v].producer : NodeId{};
    if (!id.valid() || !live.insert(id.n).second) continue;
    wanted.insert(wanted.end(), graph[id].in.begin(), graph[id].in.end());
    for (BlockId b : graph[id].blocks) wanted.insert(wanted.end(), graph[b].results.begin(), graph[b].results.end());
  }
  return live;
}

/// Whether a run of the graph, or of a part of it, can return the value.
bool is_there(const ir::Graph& graph, ValueId v) {
  const ValueDef& def = graph[v];
  if (def.is_constant()) return !def.uses.empty() || !def.constant.tensor() || def.constant.tensor()->count() > 0;
  return def.param_of.valid() || (def.producer.valid() && !graph[def.producer].erased);
}

/// Whether it lies in a block of a node.
bool is_inside(const ir::Graph& graph, ValueId v) {
  const ValueDef& def = graph[v];
  if (def.is_constant()) return false;
  return def.param_of.valid() ? def.param_of != kMain : graph[def.producer].parent != kMain;
}

class ReplacementProof {
 public:
  ReplacementProof(const ir::Graph& before, const ir::Graph& after, std::span<const Value> inputs,
                   const RunOptions& run)
      : before_(before), after_(after), live_(live_nodes(after)), inputs_(inputs.begin(), inputs.end()), run_(run) {}

  Result<std::vector<Replaced>> run(std::span<const Replacement> replacements) && {
    find_pairs(replacements);
    for (const Pair& p : pairs_) becomes_.emplace(p.from.n, p.to), stands_for_.try_emplace(p.to.n, p.from);
    for (const Pair& p : inside_) becomes_.emplace(p.from.n, p.to);
    std::vector<Replaced> out;
    for (size_t first = 0, end; first < pairs_.size(); first = end) {
      end = step_end(first);
      const std::span<const Pair> step(pairs_.data() + first, end - first);
      std::vector<ValueId> from, to;
      for (const Pair& p : step) from.push_back(p.from), to.push_back(p.to);
      const std::vector<Pair> above = replaced_above(to);
      for (const Pair& p : above) from.push_back(p.from);
      NNEX_ASSIGN(const std::vector<Value> old_values, values(before_, from));
      // Computed from what the graph before has for them: each place answers for itself.
      ir::Graph local = after_;
      for (size_t i = 0; i < above.size(); ++i)
        local.replace_uses(above[i].to, local.add_constant(old_values[step.size() + i]));
      NNEX_ASSIGN(const std::vector<Value> new_values, values(local, to));
      for (size_t i = 0; i < step.size(); ++i) out.push_back(compared(step[i], old_values[i], new_values[i]));
    }
    for (const Pair& p : inside_)
      if (auto one = compared_alone(p)) out.push_back(std::move(*one));
    return out;
  }

 private:
  /// What was there before, with what stands for it at the end: what replaced it may have been replaced itself.
  void find_pairs(std::span<const Replacement> replacements) {
    std::unordered_map<uint32_t, ValueId> last;
    for (auto r = replacements.rbegin(); r != replacements.rend(); ++r) {
      const auto further = last.find(r->to.n);
      last[r->from.n] = r->to == r->from || further == last.end() ? r->to : further->second;
    }
    std::set<uint32_t> seen;
    for (const Replacement& r : replacements) {
      const ValueId to = last.at(r.from.n);
      if (r.from.n >= before_.value_count() || !seen.insert(r.from.n).second) continue;
      if (!is_there(before_, r.from) || !is_there(after_, to)) continue;
      (is_inside(before_, r.from) || is_inside(after_, to) ? inside_ : pairs_).push_back({r.from, to});
    }
  }

  size_t step_end(size_t first) const {
    int64_t held = 0;
    for (size_t i = first; i < pairs_.size(); ++i) {
      held += 2 * held_bytes(before_, pairs_[i].from);
      if (held > kHeldBytes && i > first) return i;
    }
    return pairs_.size();
  }

  /// Of the values that stand for others, those from which these are made, none of them between.
  std::vector<Pair> replaced_above(const std::vector<ValueId>& values) const {
    std::vector<Pair> out;
    std::set<uint32_t> seen;
    std::vector<ValueId> open;
    const auto read = [&](ValueId v) {
      const NodeId id = after_[v].producer;
      if (!id.valid()) return;
      open.insert(open.end(), after_[id].in.begin(), after_[id].in.end());
      const std::vector<ValueId> inside = after_.captures(id);
      open.insert(open.end(), inside.begin(), inside.end());
    };
    for (ValueId v : values) read(v);
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (!v.valid() || !after_[v].producer.valid() || !seen.insert(v.n).second) continue;
      if (const auto p = stands_for_.find(v.n); p != stands_for_.end())
        out.push_back({p->second, v});
      else
        read(v);
    }
    return out;
  }

  Result<std::vector<Value>> values(const ir::Graph& graph, const std::vector<ValueId>& wanted) const {
    std::unordered_map<uint32_t, size_t> place;
    std::vector<ValueId> results;
    for (ValueId v : wanted)
      if (!graph[v].is_constant() && place.try_emplace(v.n, results.size()).second) results.push_back(v);
    std::vector<Value> made;
    if (!results.empty()) {
      ir::Graph part = graph;
      const std::vector<ValueId>& all = graph.outputs();
      results.insert(results.end(), all.end() - static_cast<std::ptrdiff_t>(graph.states.size()), all.end());
      part.set_results(kMain, std::move(results));
      NNEX_ASSIGN(made, plain_run(part, inputs_, run_));
    }
    std::vector<Value> out;
    for (ValueId v : wanted) out.push_back(graph[v].is_constant() ? graph[v].constant : made[place.at(v.n)]);
    return out;
  }

  Replaced compared(const Pair& p, const Value& was, const Value& is) const {
    const Difference d = difference(was, is);
    const ValueDef& def = before_[p.from];
    Replaced out;
    out.tensor = def.name.empty() ? after_[p.to].name : def.name;
    if (def.producer.valid()) out.place = before_.place_of(def.producer);
    out.before = operators(before_, nodes_before(p.from));
    out.after = after_[p.to].is_constant()      ? "constant"
                : after_[p.to].producer.valid() ? operators(after_, nodes_after(p.to))
                                                : "input";
    out.elements = d.count;
    if (d.mismatch.empty()) out.max_absolute = d.max_absolute;
    out.same = d.same();
    if (!out.same)
      out.reason = d.mismatch.empty() ? fmt::format("{} of {} elements differ, by {:.3g} at most", d.differing, d.count,
                                                    d.max_absolute)
                                      : d.mismatch;
    return out;
  }

  /// A place inside a block, which a run of the network may not come by: the nodes that were and those that are, each
  /// on inputs made for the values above them. Nothing where they take none of those.
  std::optional<Replaced> compared_alone(const Pair& p) const {
    const Subgraph was = subgraph(before_, nodes_before(p.from), {}, {{p.from}});
    const auto now = [&](ValueId v) {
      const auto other = becomes_.find(v.n);
      return other == becomes_.end() ? v : other->second;
    };
    const bool passed_by = std::any_of(was.inputs.begin(), was.inputs.end(), [&](ValueId v) { return now(v) == p.to; });
    const Subgraph is = subgraph(after_, passed_by ? std::vector<NodeId>() : nodes_after(p.to), {}, {{p.to}});
    for (int64_t extent : kUsualExtents) {
      Dice dice(1);
      std::unordered_map<uint32_t, Value> made;  // by value after
      const auto inputs = [&](const Subgraph& part, bool old) -> Result<std::vector<Value>> {
        std::vector<Value> out;
        for (size_t i = 0; i < part.inputs.size(); ++i) {
          const ValueId shared = old ? now(part.inputs[i]) : part.inputs[i];
          Value& v = made[shared.n];
          if (v.empty() && after_[shared].is_constant()) v = after_[shared].constant;
          if (v.empty()) {
            NNEX_ASSIGN(v, made_input(port_info(part.graph, part.graph.inputs()[i]), extent, Numbers::usual, dice));
          }
          out.push_back(v);
        }
        return out;
      };
      const auto old_inputs = inputs(was, true), new_inputs = inputs(is, false);
      if (!old_inputs.ok() || !new_inputs.ok()) return std::nullopt;
      const auto old_value = plain_run(was.graph, *old_inputs, run_),
                 new_value = plain_run(is.graph, *new_inputs, run_);
      if (old_value.ok() && new_value.ok()) return compared(p, (*old_value)[0], (*new_value)[0]);
    }
    return std::nullopt;
  }

  /// What made it and is not needed any more, in the order it ran.
  std::vector<NodeId> nodes_before(ValueId v) const {
    return nodes(before_, v, [&](ValueId u, NodeId id) {
      return u == v || ((after_[id].erased || !live_.count(id.n)) && !becomes_.count(u.n));
    });
  }
  /// What makes it now: all that is new, or the one node that was there already.
  std::vector<NodeId> nodes_after(ValueId v) const {
    return nodes(after_, v, [&](ValueId u, NodeId id) { return u == v || id.n >= before_.node_count(); });
  }

  template <class Wanted>
  static std::vector<NodeId> nodes(const ir::Graph& graph, ValueId v, Wanted&& wanted) {
    std::set<uint32_t> seen;
    std::vector<NodeId> out;
    const auto visit = [&](const auto& self, ValueId u) -> void {
      const NodeId id = u.valid() ? graph[u].producer : NodeId{};
      if (!id.valid() || !wanted(u, id) || !seen.insert(id.n).second) return;
      for (ValueId in : graph[id].in) self(self, in);
      out.push_back(id);
    };
    visit(visit, v);
    return out;
  }

  static std::string operators(const ir::Graph& graph, const std::vector<NodeId>& nodes) {
    std::vector<std::string_view> names;
    for (NodeId id : nodes) names.push_back(operator_of(graph[id]));
    return joined(names, ", ");
  }

  const ir::Graph &before_, &after_;
  const std::set<uint32_t> live_;
  const std::vector<Value> inputs_;
  const RunOptions& run_;
  std::vector<Pair> pairs_, inside_;                  ///< Of the main block; of blocks of nodes.
  std::unordered_map<uint32_t, ValueId> becomes_;     ///< By value before: the one after.
  std::unordered_map<uint32_t, ValueId> stands_for_;  ///< By value after of the main block: one before.
};

}  // namespace

Result<std::vector<Replaced>> proven_replacements(const ir::Graph& before, const ir::Graph& after,
                                                  std::span<const Replacement> replacements,
                                                  std::span<const Value> inputs, const RunOptions& run) {
  return ReplacementProof(before, after, inputs, run).run(replacements);
}

}  // namespace nnex
