#include <algorithm>
#include <tuple>

#include "plan/plan.h"

#include "graph/queries.h"

namespace nnex::plan {
namespace {

constexpr int64_t kFloatContent = 8;  ///< Floats decide extents only as a handful of scales or bounds.

bool may_decide(const Type& t) {
  if (!t.is_tensor() || !is_real(t.dtype)) return true;
  const auto shape = concrete(t);
  return !shape || shape->count() <= kFloatContent;
}

}  // namespace

Liveness::Liveness(const ir::Graph& graph, BlockId block) : graph_(graph) {
  std::vector<NodeId> nodes;  // each owner before the nodes of its blocks
  std::vector<int64_t> steps;
  for (NodeId n = graph[block].first; n.valid(); n = graph[n].next) {
    const auto step = static_cast<int64_t>(step_of_.size());
    step_of_.emplace(n.n, step);
    nodes.push_back(n);
    for (BlockId b : graph[n].blocks) {
      std::vector<NodeId> inner = graph.order_with_blocks(b);
      nodes.insert(nodes.end(), inner.begin(), inner.end());
    }
    steps.resize(nodes.size(), step);
  }
  std::unordered_map<uint32_t, Life> lives;
  const auto reads = [&](ValueId v, int64_t step) {
    if (v.valid() && !graph[v].is_constant()) lives[v.n].last = std::max(lives[v.n].last, step);
  };
  for (ValueId v : graph[block].results) reads(v, static_cast<int64_t>(step_of_.size()));
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (ValueId v : graph[nodes[i]].in) reads(v, steps[i]);
    for (BlockId b : graph[nodes[i]].blocks)
      for (ValueId v : graph[b].results) reads(v, steps[i]);
  }
  find_deciders(nodes, steps, lives);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const bool inside = !(graph[nodes[i]].parent == block);
    for (ValueId v : graph[nodes[i]].out)
      if (auto at = lives.find(v.n); at != lives.end())
        inside ? void(lives.erase(at)) : void(at->second.made = steps[i]);
    for (BlockId b : graph[nodes[i]].blocks)
      for (ValueId v : graph[b].params) lives.erase(v.n);
  }
  for (const auto& [v, life] : lives) lives_.push_back(life), lives_.back().value = ValueId{v};
  std::sort(lives_.begin(), lives_.end(),
            [](const Life& a, const Life& b) { return std::tuple(a.made, a.value.n) < std::tuple(b.made, b.value.n); });
}

/// From the last node to the first: values whose content may decide an extent or a branch somewhere from a step on.
void Liveness::find_deciders(const std::vector<NodeId>& nodes, const std::vector<int64_t>& steps,
                             std::unordered_map<uint32_t, Life>& lives) const {
  const auto decides = [&](ValueId v) {
    const auto at = lives.find(v.n);
    return at != lives.end() && at->second.decides >= 0;
  };
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = graph_[nodes[i]];
    const bool makes_content = std::any_of(node.out.begin(), node.out.end(), decides);
    for (size_t p = 0; p < node.in.size(); ++p) {
      if (!reads_by_value(node, p) && !(makes_content && node.op->pure && node.blocks.empty())) continue;
      const auto at = node.in[p].valid() ? lives.find(node.in[p].n) : lives.end();
      if (at != lives.end()) at->second.decides = std::max(at->second.decides, steps[i]);
    }
  }
}

std::vector<LiveIn> Liveness::before(NodeId from) {
  const int64_t step = step_of_.at(from.n);
  if (step < step_) next_ = 0, alive_.clear();
  step_ = step;
  for (; next_ < lives_.size() && lives_[next_].made < step; ++next_) alive_.push_back(next_);
  alive_.erase(std::remove_if(alive_.begin(), alive_.end(), [&](size_t i) { return lives_[i].last < step; }),
               alive_.end());
  std::vector<LiveIn> out;
  for (size_t i : alive_)
    out.push_back({lives_[i].value, lives_[i].decides >= step && may_decide(graph_[lives_[i].value].type)});
  return out;
}

}  // namespace nnex::plan
