// Networks of int32: values are stored as narrow as they are proven to be, and what one kernel can do becomes a region.

#include "passes/narrow_integers.h"

#include <algorithm>
#include <map>
#include <set>

#include "fusion/integers.h"
#include "graph/intervals.h"
#include "ops/pool.h"
#include "ops/traits.h"
#include "passes/casts.h"
#include "tensor/convert.h"

namespace nnex::passes {
namespace {

/// Whether a row only moves elements, or takes the greatest of some: as good on narrow elements.
bool is_mover(const Node& node) { return node.op->elements != Elements::computed || takes_greatest(*node.op); }

class Narrower {
 public:
  Narrower(ir::Graph& graph, const Intervals& intervals) : graph_(graph), storage_(graph, intervals) {}

  int run() {
    find_regions();
    find_movers();
    for (NodeId id : graph_.order()) {  // definitions before their readers
      for (ValueId v : std::vector<ValueId>(graph_[id].out))
        if (v.valid() && wanted_.count(v) && !narrow_.count(v)) narrow(v);
    }
    for (ValueId v : std::vector<ValueId>(graph_.inputs()))
      if (wanted_.count(v)) narrow(v);
    // Inputs are narrowed last: their casts go before everything else.
    for (NodeId id : movers_) move(id);
    for (const auto& [v, n] : std::map<ValueId, ValueId>(narrow_)) reread(v, n);
    for (size_t i = movers_.size(); i-- > 0;) graph_.erase(movers_[i]);
    for (fusion::FoundIntegers& found : regions_) make(std::move(found));
    for (ValueId w : filters_) {  // their bytes took their place
      if (!graph_[w].uses.empty()) continue;
      if (graph_[w].producer.valid())
        graph_.erase(graph_[w].producer);
      else
        graph_.make_constant(w, nnex::Value());
    }
    return static_cast<int>(regions_.size() + movers_.size());
  }

 private:
  // ---- Regions ----

  void take(fusion::FoundIntegers found) {
    taken_.insert(found.nodes.begin(), found.nodes.end());
    const auto want = [&](const Use& u) {
      const ValueId v = graph_[u.node].in[u.index];
      if (storage_.of(v) != DType::i32 && !graph_[v].is_constant()) wanted_.insert(v);
    };
    want(found.has_product() ? Use{found.nodes[0], {}, 0} : found.start);
    for (const Use& u : found.operands) want(u);
    regions_.push_back(std::move(found));
  }

  void find_regions() {
    const std::vector<NodeId> order = graph_.order();
    for (const auto find : {fusion::find_int_product, fusion::find_int_chain})
      for (NodeId id : order)
        if (!taken_.count(id))
          if (auto found = find(graph_, storage_, id, taken_)) take(*std::move(found));
  }

  // ---- Movers ----

  /// From the last node to the first: a mover whose narrow result somebody wants wants narrow inputs.
  void find_movers() {
    const std::vector<NodeId> order = graph_.order();
    for (size_t i = order.size(); i-- > 0;) {
      const Node& node = graph_[order[i]];
      if (!is_mover(node) || !can_move(node)) continue;
      movers_.push_back(order[i]);
      for (size_t k = 0; k < elements(node); ++k) wanted_.insert(node.in[k]);
      for (ValueId v : node.out)
        if (v.valid()) wanted_.insert(v);
    }
    std::reverse(movers_.begin(), movers_.end());
  }
  /// How many of a mover's inputs, the first ones, are elements.
  static size_t elements(const Node& node) { return node.op->elements == Elements::of_any ? node.in.size() : 1; }
  bool can_move(const Node& node) const {
    if (!node.blocks.empty() || node.out.empty()) return false;
    bool anybody = false;
    for (ValueId v : node.out) {
      if (!v.valid()) continue;
      if (!storage_.is_i32(v)) return false;
      anybody |= wanted_.count(v) > 0;
    }
    const bool pool = takes_greatest(*node.op);
    if (!anybody && !pool) return false;
    if (pool && (node.out.size() > 1 && node.out[1].valid())) return false;
    const DType t = storage_.of(node.in[0]);
    if (t == DType::i32 || (pool && t == DType::i16)) return false;
    if (pool && t == DType::i8 && graph_.attrs<PoolAttrs>(node).border != PoolBorder::ignore) return false;
    for (size_t k = 0; k < elements(node); ++k)
      if (graph_[node.in[k]].is_constant() || storage_.of(node.in[k]) != t) return false;
    return std::all_of(node.out.begin(), node.out.end(), [&](ValueId v) { return !v.valid() || storage_.of(v) == t; });
  }

  void move(NodeId id) {
    const Node& old = graph_[id];
    std::vector<ValueId> in = old.in;
    for (size_t k = 0; k < elements(old); ++k) in[k] = narrow_.at(in[k]);
    const std::vector<ValueId> results = old.out;
    const NodeId fresh = graph_.insert_node(id, *old.op, std::move(in), results.size(), old.attrs, {}, old.where);
    for (size_t o = 0; o < results.size(); ++o) {
      if (!results[o].valid()) {
        graph_.drop_output(fresh, o);
        continue;
      }
      const ValueId y = graph_[fresh].out[o], n = narrow_.at(results[o]);
      graph_.set_type(y, graph_[n].type);
      graph_.set_name(y, graph_[n].name);
      // The cast that stood for the narrow result goes.
      const NodeId cast = graph_[n].producer;
      graph_.replace_uses(n, y);
      graph_.erase(cast);
      narrow_[results[o]] = y;
    }
    moved_.insert(id);
  }

  // ---- Storage ----

  ValueId cast(NodeId before, ValueId v, DType to) { return cast_to(Builder(graph_, before), v, to); }
  ValueId cast_at_end(ValueId v, DType to) { return cast_to(Builder(graph_, kMain), v, to); }

  /// The narrow form of v, right behind it.
  void narrow(ValueId v) {
    const NodeId producer = graph_[v].producer;
    const NodeId before = producer.valid() ? graph_[producer].next : graph_[kMain].first;
    narrow_[v] = before.valid() ? cast(before, v, storage_.of(v)) : cast_at_end(v, storage_.of(v));
    graph_.set_name(narrow_[v], graph_[v].name);
  }

  /// Everybody who read v reads its narrow form n, widened: a region by a cast of its own, the others by one of theirs.
  void reread(ValueId v, ValueId n) {
    const NodeId own = graph_[n].producer;
    ValueId wide;
    std::vector<Use> at_end;
    for (const Use& u : std::vector<Use>(graph_[v].uses)) {
      if (u.node == own || (u.node.valid() && moved_.count(u.node))) continue;
      if (u.node.valid() && taken_.count(u.node)) {
        graph_.set_input(u.node, u.index, cast(u.node, n, DType::i32));
        casts_.insert(graph_[u.node].in[u.index]);
      } else if (u.node.valid()) {
        if (!wide.valid() && graph_[own].next.valid()) wide = cast(graph_[own].next, n, DType::i32);
        graph_.set_input(u.node, u.index, wide);
      } else if (moved_.count(graph_[v].producer)) {
        if (!wide.valid()) wide = cast_at_end(n, DType::i32);
        at_end.push_back(u);
      }
    }
    for (const Use& u : at_end) {
      std::vector<ValueId> results = graph_[u.block].results;
      results[u.index] = wide;
      graph_.set_results(u.block, std::move(results));
      graph_.set_name(wide, graph_[v].name);
    }
  }
  /// The bytes of a constant filter.
  ValueId bytes_of_filter(ValueId w) {
    if (auto it = filter_bytes_.find(w); it != filter_bytes_.end()) return it->second;
    if (const ValueId bytes = storage_.bytes_of(w); bytes.valid()) {
      filters_.push_back(w);
      return filter_bytes_[w] = bytes;
    }
    auto bytes = convert(*graph_[w].constant.tensor(), DType::i8);  // its numbers fit
    if (!bytes.ok()) return {};
    filters_.push_back(w);
    return filter_bytes_[w] = graph_.add_constant(std::move(*bytes), graph_[w].name);
  }

  void make(fusion::FoundIntegers found) {
    const NodeId first = found.nodes.front();
    std::set<NodeId> all(found.nodes.begin(), found.nodes.end());
    const auto with_cast = [&](const Use& u) {
      const ValueId v = graph_[u.node].in[u.index];
      if (casts_.count(v)) all.insert(graph_[v].producer);
    };
    for (const Use& u : found.operands) with_cast(u);
    with_cast(found.has_product() ? Use{first, {}, 0} : found.start);
    if (found.has_product()) {
      const ValueId w = bytes_of_filter(graph_[first].in[1]);
      if (!w.valid()) return;
      const ValueId wide = cast(first, w, DType::i32);
      graph_.set_input(first, 1, wide);
      all.insert(graph_[wide].producer);
    }
    // A result that is stored narrow and read by nobody else leaves the region narrow.
    NodeId last = found.nodes.back();
    const ValueId y = graph_[last].out[0];
    if (const auto n = narrow_.find(y); n != narrow_.end() && graph_.read_once(y)) {
      last = graph_[n->second].producer;
      all.insert(last);
    }
    fuse(graph_, finished(graph_, std::move(found), last, all));
  }

  ir::Graph& graph_;
  const fusion::IntStorage storage_;
  std::vector<fusion::FoundIntegers> regions_;
  std::vector<NodeId> movers_;
  std::set<NodeId> taken_, moved_;
  std::set<ValueId> wanted_;           ///< Values whose narrow form somebody reads.
  std::map<ValueId, ValueId> narrow_;  ///< The narrow form of a value.
  std::set<ValueId> casts_;            ///< Widened values that nodes of regions read, each one of them.
  std::map<ValueId, ValueId> filter_bytes_;
  std::vector<ValueId> filters_;
};

/// Whether int32 is what the network computes with, not just its shapes.
bool computes_with_integers(const ir::Graph& graph) {
  for (NodeId id : graph.order()) {
    const Node& node = graph[id];
    if (node.out.empty() || !node.out[0].valid() || graph[node.out[0]].type.dtype != DType::i32) continue;
    if (is_biased_product(*node.op) || node.op->name.substr(0, 4) == "cvm_") return true;
  }
  return false;
}

}  // namespace

/// conv | linear (x, constant w) , add | mul | max | relu | clamp | shift ...    on int32, x and w proven to be bytes
///     ->   fused { conv(cast(x'), cast(w')), ..., cast to what the result is proven to fit } on bytes
/// and the same for element-wise nodes; rows that only move elements move narrow ones. Every result keeps its bits: a
/// value is stored narrow only where its interval is proven, and sums still wrap in int32.
Result<int> narrow_integers(ir::Graph& graph) {
  if (!computes_with_integers(graph)) return 0;
  const Intervals intervals(graph, {});
  return Narrower(graph, intervals).run();
}

}  // namespace nnex::passes
