// Networks of int32: values are stored as narrow as they are proven to be, and what one kernel can do becomes a region.

#include "passes/narrow_integers.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "graph/infer.h"
#include "graph/intervals.h"
#include "graph/queries.h"
#include "kernels/integer/steps.h"
#include "ops/cast.h"
#include "ops/matmul.h"
#include "ops/pool.h"
#include "ops/traits.h"
#include "ops/window.h"
#include "passes/region.h"
#include "tensor/convert.h"

namespace nnex::passes {
namespace {

/// Whether a row only moves elements, or takes the greatest of some: as good on narrow elements.
bool is_mover(const Node& node) { return node.op->elements != Elements::computed || node.op->name == "max_pool"; }

class Narrower {
 public:
  Narrower(ir::Graph& graph, const Intervals& intervals) : graph_(graph), intervals_(intervals) {}

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
    for (Region& r : regions_) make(r);
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
  struct Region {
    std::vector<NodeId> nodes;  ///< In order.
    std::vector<NodeId> casts;
  };

  // ---- Facts ----

  bool is_i32(ValueId v) const {
    return v.valid() && graph_[v].type.is_tensor() && graph_[v].type.dtype == DType::i32 && concrete(graph_[v].type);
  }
  /// How v's elements can be stored.
  DType storage(ValueId v) const {
    const auto i = intervals_.of(v);
    if (!i || !is_i32(v)) return DType::i32;
    if (i->inside(0, 255)) return DType::u8;
    if (i->inside(-128, 127)) return DType::i8;
    if (i->inside(-32768, 32767)) return DType::i16;
    return DType::i32;
  }
  bool as_byte(ValueId v) const { return storage(v) == DType::u8 || storage(v) == DType::i8; }
  /// A constant of signed bytes, stored wide.
  bool filter_of_bytes(ValueId v) const {
    const auto i = intervals_.of(v);
    return is_i32(v) && (graph_[v].constant.tensor() || bytes_of(v).valid()) && i && i->inside(-128, 127);
  }
  /// The constant of signed bytes that v is a cast of.
  ValueId bytes_of(ValueId v) const {
    const Node* producer = graph_.producer(v);
    if (!producer || producer->op->name != "cast") return {};
    const Tensor* t = graph_[producer->in[0]].constant.tensor();
    return t && t->dtype() == DType::i8 ? producer->in[0] : ValueId{};
  }

  // ---- Regions ----

  bool is_product(const Node& node) const {
    if (!is_biased_product(*node.op)) return false;
    if (!is_i32(node.out[0]) || graph_[node.in[0]].is_constant() || !as_byte(node.in[0]) ||
        !filter_of_bytes(node.in[1]))
      return false;
    if (node.in.size() > 2 && node.in[2].valid() && !is_i32(node.in[2])) return false;
    if (node.op->name == "conv") {
      const auto& a = graph_.attrs<ConvAttrs>(node);
      return a.channels_last && a.border == ConvBorder::constant;
    }
    const auto& a = graph_.attrs<LinearAttrs>(node);
    return !a.transpose_a && a.alpha == 1 && a.beta == 1 && graph_[node.in[0]].type.dims->size() == 2;
  }

  /// Whether `v` can stand beside elements of y: one number, a row, a column, or all of it.
  bool stands_beside(ValueId v, ValueId y) const {
    if (!is_i32(v)) return false;
    const Shape s = *concrete(graph_[v].type), to = *concrete(graph_[y].type);
    const int64_t rank = s.rank(), last = rank > 0 ? s[rank - 1] : 1;
    if (s == to || (s.count() == 1 && rank <= to.rank())) return true;
    if (to.rank() == 0 || rank > to.rank()) return false;
    if (last == to[to.rank() - 1] && s.count() == last) return true;
    return rank == to.rank() && last == 1 && s.count() * to[to.rank() - 1] == to.count() &&
           std::equal(s.begin(), s.end() - 1, to.begin());
  }

  /// Whether node `id` goes on from element v (the result before it), or begins a chain (v invalid).
  bool goes_on(NodeId id, ValueId v) const {
    const Node& node = graph_[id];
    if (node.out.size() != 1 || !is_i32(node.out[0]) || node.in.empty() || !node.in[0].valid()) return false;
    const ValueId y = node.out[0];
    const auto whole = [&](ValueId x) { return is_i32(x) && !graph_[x].is_constant() && same_extents(graph_, x, y); };
    if (kernels::int_binary(node.op->name)) {
      const ValueId a = node.in[0], b = node.in[1];
      if (v.valid()) {
        if (a == b) return false;
        return whole(v) && stands_beside(a == v ? b : a, y);
      }
      return (whole(a) && stands_beside(b, y)) || (whole(b) && stands_beside(a, y));
    }
    if (!whole(node.in[0]) || (v.valid() && !(node.in[0] == v))) return false;
    std::vector<kernels::Operand> in;
    for (ValueId x : node.in) {
      kernels::Operand& o = in.emplace_back();
      if (!x.valid()) continue;
      o.dtype = graph_[x].type.dtype, o.constant = graph_[x].constant.tensor();
    }
    kernels::IntSteps steps;
    return kernels::int_unary(*node.op, node.attrs.get(), in, steps);
  }

  void grow(NodeId first) {
    Region r;
    size_t operands = 0;
    for (NodeId at = first; at.valid() && operands < kernels::IntChain::kMaxOperands - 1;) {
      r.nodes.push_back(at);
      taken_.insert(at);
      operands += kernels::int_binary(graph_[at].op->name).has_value();
      const ValueId y = graph_[at].out[0];
      const NodeId next = only_reader(graph_, y);
      at = next.valid() && !taken_.count(next) && goes_on(next, y) ? next : NodeId{};
    }
    for (NodeId id : r.nodes) {
      const bool product = id == first && is_product(graph_[id]);
      for (size_t i = 0; i < graph_[id].in.size(); ++i) {
        const ValueId v = graph_[id].in[i];
        if (v.valid() && !(product && i > 0) && storage(v) != DType::i32 && !graph_[v].is_constant()) wanted_.insert(v);
      }
    }
    // What one node of a region hands to the next is never stored.
    for (size_t i = 0; i + 1 < r.nodes.size(); ++i) wanted_.erase(graph_[r.nodes[i]].out[0]);
    regions_.push_back(std::move(r));
  }

  void find_regions() {
    const std::vector<NodeId> order = graph_.order();
    for (NodeId id : order)
      if (is_product(graph_[id])) grow(id);
    for (NodeId id : order)
      if (!taken_.count(id) && goes_on(id, {})) grow(id);
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
      if (!is_i32(v)) return false;
      anybody |= wanted_.count(v) > 0;
    }
    const bool pool = node.op->name == "max_pool";
    if (!anybody && !pool) return false;
    if (pool && (node.out.size() > 1 && node.out[1].valid())) return false;
    const DType t = storage(node.in[0]);
    if (t == DType::i32 || (pool && t == DType::i16)) return false;
    if (pool && t == DType::i8 && graph_.attrs<PoolAttrs>(node).border != PoolBorder::ignore) return false;
    for (size_t k = 0; k < elements(node); ++k)
      if (graph_[node.in[k]].is_constant() || storage(node.in[k]) != t) return false;
    return std::all_of(node.out.begin(), node.out.end(), [&](ValueId v) { return !v.valid() || storage(v) == t; });
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

  ValueId cast(Builder b, ValueId v, DType to) {
    CastAttrs a;
    a.to = to;
    Type t = graph_[v].type;
    t.dtype = to;
    const ValueId y = b("cast", {v}, a);
    graph_.set_type(y, std::move(t));
    return y;
  }
  ValueId cast(NodeId before, ValueId v, DType to) { return cast(Builder(graph_, before), v, to); }
  ValueId cast_at_end(ValueId v, DType to) { return cast(Builder(graph_, kMain), v, to); }

  /// The narrow form of v, right behind it.
  void narrow(ValueId v) {
    const NodeId producer = graph_[v].producer;
    const NodeId before = producer.valid() ? graph_[producer].next : graph_[kMain].first;
    narrow_[v] = before.valid() ? cast(before, v, storage(v)) : cast_at_end(v, storage(v));
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
        casts_.emplace(graph_[u.node].in[u.index], u.node);
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
    if (const ValueId bytes = bytes_of(w); bytes.valid()) {
      filters_.push_back(w);
      return filter_bytes_[w] = bytes;
    }
    auto bytes = convert(*graph_[w].constant.tensor(), DType::i8);  // its numbers fit
    if (!bytes.ok()) return {};
    filters_.push_back(w);
    return filter_bytes_[w] = graph_.add_constant(std::move(*bytes), graph_[w].name);
  }

  void make(Region& r) {
    std::set<NodeId> all(r.nodes.begin(), r.nodes.end());
    for (NodeId id : r.nodes)
      for (ValueId v : graph_[id].in)
        if (auto it = casts_.find(v); v.valid() && it != casts_.end()) all.insert(graph_[v].producer);
    const Node& first = graph_[r.nodes.front()];
    if (is_biased_product(*first.op)) {
      const ValueId w = bytes_of_filter(first.in[1]);
      if (!w.valid()) return;
      const ValueId wide = cast(r.nodes.front(), w, DType::i32);
      graph_.set_input(r.nodes.front(), 1, wide);
      all.insert(graph_[wide].producer);
    }
    // A result that is stored narrow and read by nobody else leaves the region narrow.
    const ValueId y = graph_[r.nodes.back()].out[0];
    NodeId last = r.nodes.back();
    if (const auto n = narrow_.find(y); n != narrow_.end() && graph_.read_once(y)) {
      last = graph_[n->second].producer;
      all.insert(last);
    }
    std::vector<NodeId> nodes;
    size_t left = all.size();
    for (NodeId n = last; left > 0; n = graph_[n].prev)
      if (all.count(n)) nodes.push_back(n), --left;
    std::reverse(nodes.begin(), nodes.end());
    make_region(graph_, nodes);
  }

  ir::Graph& graph_;
  const Intervals& intervals_;
  std::vector<Region> regions_;
  std::vector<NodeId> movers_;
  std::set<NodeId> taken_, moved_;
  std::set<ValueId> wanted_;           ///< Values whose narrow form somebody reads.
  std::map<ValueId, ValueId> narrow_;  ///< The narrow form of a value.
  std::map<ValueId, NodeId> casts_;    ///< Widened values and the region's node that reads them.
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
