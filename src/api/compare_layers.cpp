#include "api/compare_layers.h"

#include <algorithm>
#include <set>

#include "base/try.h"

namespace nnex {
namespace {

int64_t bytes_in(const Value& value) { return value.tensor() ? value.tensor()->bytes() : 0; }

/// Layers of one side that wait for their partners.
struct Waiting {
  std::unordered_map<size_t, Value> by_pair;
  int64_t bytes = 0;

  void put(size_t pair, Value v) { bytes += bytes_in(v), by_pair[pair] = std::move(v); }
  std::optional<Value> take(size_t pair) {
    const auto it = by_pair.find(pair);
    if (it == by_pair.end()) return std::nullopt;
    Value v = std::move(it->second);
    bytes -= bytes_in(v), by_pair.erase(it);
    return v;
  }
  size_t largest() const {
    return std::max_element(by_pair.begin(), by_pair.end(),
                            [](const auto& x, const auto& y) { return bytes_in(x.second) < bytes_in(y.second); })
        ->first;
  }
};

ComparedTensor compared(const LayerNetwork& a, size_t layer, const Value& x, const Value& y,
                        const Tolerance& tolerance) {
  ComparedTensor out;
  out.a = a.layers[layer].label, out.op = a.op(layer), out.place_a = a.place(layer);
  out.type = x.text();
  out.difference = difference(x, y, tolerance);
  return out;
}

/// Pairs in order: whether the first of those that differ is known by now.
class Progress {
 public:
  explicit Progress(const std::vector<PairState>& pairs) : pairs_(pairs) {}
  bool found() {
    for (; at_ < pairs_.size() && (pairs_[at_].compared || pairs_[at_].skipped); ++at_)
      if (pairs_[at_].compared && !pairs_[at_].compared->difference.same()) return true;
    return false;
  }

 private:
  const std::vector<PairState>& pairs_;
  size_t at_ = 0;
};

class Lockstep {
 public:
  Lockstep(const LayerNetwork& a, const LayerNetwork& b, std::vector<PairState>& pairs, const CompareOptions& options)
      : a_(a), b_(b), pairs_(pairs), options_(options) {
    std::vector<size_t> rank(b.layers.size(), SIZE_MAX);
    for (size_t p = 0; p < pairs.size(); ++p) {
      of_a_[pairs[p].pair.a] = p, of_b_[pairs[p].pair.b] = p;
      rank[pairs[p].pair.b] = pairs[p].pair.a;
    }
    walk_a_.emplace(a, order_by(a, {}), options.a, options.session, options.held_bytes);
    walk_b_.emplace(b, order_by(b, rank), options.b, options.session, options.held_bytes);
  }

  Status run(Until until) {
    Progress progress(pairs_);
    while (!walk_a_->done() || !walk_b_->done()) {
      const bool a_next = !walk_a_->done() && (walk_b_->done() || from_a_.bytes <= from_b_.bytes);
      if (a_next)
        NNEX_TRY(step(*walk_a_, of_a_, from_a_, from_b_, true));
      else
        NNEX_TRY(step(*walk_b_, of_b_, from_b_, from_a_, false));
      if (until == Until::first && progress.found()) break;
    }
    return {};
  }

 private:
  using PairOf = std::unordered_map<size_t, size_t>;

  Status step(LayerWalk& walk, const PairOf& pair_of, Waiting& own, Waiting& others, bool first) {
    NNEX_ASSIGN(auto seen, walk.next(options_.run));
    for (LayerWalk::Seen& s : seen) {
      const auto it = pair_of.find(s.layer);
      if (it == pair_of.end() || pairs_[it->second].skipped) continue;
      PairState& state = pairs_[it->second];
      const auto other = others.take(it->second);
      if (!other) {
        own.put(it->second, std::move(s.content));
        continue;
      }
      const Value &x = first ? s.content : *other, &y = first ? *other : s.content;
      state.compared = compared(a_, state.pair.a, x, y, options_.tolerance);
      state.compared->b = b_.layers[state.pair.b].label, state.compared->place_b = b_.place(state.pair.b);
      state.compared->matched = state.pair.matched;
      s.content = {};
    }
    // One step of the other side may well bring the partners; what still waits after many is given up.
    for (Waiting* side : {&from_a_, &from_b_})
      while (side->bytes > 2 * options_.held_bytes && side->by_pair.size() > 1 && !others_behind(side)) {
        const size_t p = side->largest();
        side->take(p);
        pairs_[p].skipped = true;
      }
    return {};
  }
  /// Whether the other side has a step to make while it holds nothing itself.
  bool others_behind(const Waiting* side) const {
    return side == &from_a_ ? !walk_b_->done() && from_b_.by_pair.empty() : !walk_a_->done() && from_a_.by_pair.empty();
  }

  const LayerNetwork &a_, &b_;
  std::vector<PairState>& pairs_;
  const CompareOptions& options_;
  PairOf of_a_, of_b_;
  std::optional<LayerWalk> walk_a_, walk_b_;
  Waiting from_a_, from_b_;
};

}  // namespace

Status compare_pairs(const LayerNetwork& a, const LayerNetwork& b, std::vector<PairState>& pairs,
                     const CompareOptions& options, Until until) {
  return Lockstep(a, b, pairs, options).run(until);
}

Status compare_named(const LayerNetwork& a, const Others& b, const std::map<std::string, Value>& inputs,
                     std::vector<PairState>& pairs, const CompareOptions& options, Until until) {
  std::unordered_map<size_t, size_t> pair_of;
  for (size_t p = 0; p < pairs.size(); ++p) pair_of[pairs[p].pair.a] = p;
  LayerWalk walk(a, order_by(a, {}), options.a, options.session, options.held_bytes);
  Progress progress(pairs);
  std::vector<LayerWalk::Seen> batch;
  int64_t bytes = 0;
  while (!walk.done()) {
    NNEX_ASSIGN(auto seen, walk.next(options.run));
    for (LayerWalk::Seen& s : seen) {
      if (!pair_of.count(s.layer)) continue;
      bytes += bytes_in(s.content);
      batch.push_back(std::move(s));
    }
    if (bytes < options.held_bytes && !walk.done()) continue;
    std::vector<std::string> names;
    for (const auto& s : batch) names.push_back(a.layers[s.layer].label);
    NNEX_ASSIGN(const auto there, b.tensors(inputs, names));
    for (const auto& s : batch) {
      PairState& state = pairs[pair_of.at(s.layer)];
      const auto it = there.find(a.layers[s.layer].label);
      if (it == there.end()) {
        state.skipped = true;
        continue;
      }
      state.compared = compared(a, s.layer, s.content, it->second, options.tolerance);
      state.compared->b = state.compared->a;
      state.compared->matched = MatchedBy::name;
    }
    batch.clear(), bytes = 0;
    if (until == Until::first && progress.found()) break;
  }
  return {};
}

Result<std::vector<Fingerprint>> fingerprints(const LayerNetwork& network, const LoadOptions& load,
                                              const CompareOptions& options) {
  std::vector<Fingerprint> out(network.layers.size());
  LayerWalk walk(network, order_by(network, {}), load, options.session, options.held_bytes);
  while (!walk.done()) {
    NNEX_ASSIGN(const auto seen, walk.next(options.run));
    for (const auto& s : seen) out[s.layer] = Fingerprint::of(s.content);
  }
  return out;
}

Cut cut_before(const LayerNetwork& network, size_t layer, const std::vector<bool>& equal) {
  std::set<uint32_t> inside, inputs;
  Cut out;
  std::vector<NodeId> open = {network.layers[layer].node};
  inside.insert(open.front().n);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    for (ValueId v : network.reads(id)) {
      const auto it = network.layer_of.find(v.n);
      if (it != network.layer_of.end() && !equal[it->second]) {
        const NodeId producer = network.layers[it->second].node;
        if (inside.insert(producer.n).second) open.push_back(producer);
      } else if (inputs.insert(v.n).second) {
        out.inputs.push_back(v);
      }
    }
  }
  for (NodeId id : network.graph.order())
    if (inside.count(id.n)) out.nodes.push_back(id);
  // What a node inside makes beside other things may be equal, and is no input then.
  std::erase_if(out.inputs, [&](ValueId v) {
    const NodeId producer = network.graph[v].producer;
    return producer.valid() && inside.count(producer.n);
  });
  std::sort(out.inputs.begin(), out.inputs.end());
  return out;
}

Result<std::vector<Value>> contents_of(const LayerNetwork& network, std::span<const ValueId> values,
                                       const LoadOptions& load, const CompareOptions& options) {
  std::vector<Value> out(values.size());
  std::unordered_map<uint32_t, size_t> wanted;
  for (size_t i = 0; i < values.size(); ++i) wanted[values[i].n] = i;
  const auto& params = network.graph.inputs();
  for (size_t i = 0; i < params.size(); ++i)
    if (const auto it = wanted.find(params[i].n); it != wanted.end())
      out[it->second] = network.inputs[i], wanted.erase(it);
  LayerWalk walk(network, order_by(network, {}), load, options.session, options.held_bytes);
  while (!walk.done() && !wanted.empty()) {
    NNEX_ASSIGN(auto seen, walk.next(options.run));
    for (auto& s : seen)
      if (const auto it = wanted.find(network.layers[s.layer].value.n); it != wanted.end())
        out[it->second] = std::move(s.content), wanted.erase(it);
  }
  return out;
}

}  // namespace nnex
