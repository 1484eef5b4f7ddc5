#include "passes/transposes.h"

#include <algorithm>

#include "ops/shape.h"

namespace nnex::passes {
namespace {

bool identity(const Perm& p) {
  for (size_t i = 0; i < p.size(); ++i)
    if (p[i] != static_cast<int64_t>(i)) return false;
  return true;
}
Type permuted(Type t, const Perm& p) {
  Dims out;
  for (int64_t axis : p) out.push_back((*t.dims)[static_cast<size_t>(axis)]);
  t.dims = std::move(out);
  return t;
}

}  // namespace

Perm to_last(size_t rank) {
  Perm p = {0};
  for (size_t i = 2; i < rank; ++i) p.push_back(static_cast<int64_t>(i));
  p.push_back(1);
  return p;
}

Perm inverse(const Perm& p) {
  Perm q(p.size());
  for (size_t i = 0; i < p.size(); ++i) q[static_cast<size_t>(p[i])] = static_cast<int64_t>(i);
  return q;
}

std::optional<Perm> Transposes::perm_of(const Node& node) const {
  if (node.op->name != "transpose" || !node.out[0].valid() || !graph_[node.in[0]].type.dims) return std::nullopt;
  const auto rank = static_cast<int64_t>(graph_[node.in[0]].type.dims->size());
  if (rank == 0) return std::nullopt;  // of one number, which has no axes to follow
  Perm p = graph_.attrs<TransposeAttrs>(node).axes;
  if (p.empty())
    for (int64_t i = rank; i-- > 0;) p.push_back(i);
  for (int64_t& axis : p) axis += axis < 0 ? rank : 0;
  return p;
}

std::optional<Perm> Transposes::perm_of(ValueId v) const {
  const Node* producer = v.valid() ? graph_.producer(v) : nullptr;
  return producer ? perm_of(*producer) : std::nullopt;
}

std::optional<Perm> Transposes::perm_to_move(ValueId v) const {
  const auto p = perm_of(v);
  return p && !graph_[graph_.producer(v)->in[0]].is_constant() ? p : std::nullopt;
}

ValueId Transposes::transposed(NodeId before, ValueId v, const Perm& p) {
  const Node* producer = graph_.producer(v);
  if (producer && (producer->op->name == "dequantize_linear" || producer->op->name == "quantize_linear") &&
      graph_.read_once(v) && graph_[producer->in[0]].type.dims && !graph_[producer->in[0]].is_constant() &&
      std::all_of(producer->in.begin() + 1, producer->in.end(),
                  [&](ValueId n) { return !n.valid() || (graph_[n].type.dims && graph_[n].type.dims->empty()); })) {
    std::vector<ValueId> in = producer->in;
    in[0] = transposed(before, in[0], p);
    const NodeId node =
        graph_.insert_node(before, *producer->op, std::move(in), 1, producer->attrs, {}, producer->where);
    graph_.set_type(graph_[node].out[0], permuted(graph_[v].type, p));
    return graph_[node].out[0];
  }
  if (auto q = perm_of(v)) {  // two become one, or none
    Perm both;
    for (int64_t axis : p) both.push_back((*q)[static_cast<size_t>(axis)]);
    const ValueId source = graph_.producer(v)->in[0];
    if (identity(both)) return source;
    return plain_transpose(before, source, both);
  }
  return plain_transpose(before, v, p);
}

ValueId Transposes::plain_transpose(NodeId before, ValueId v, const Perm& p) {
  Builder b(graph_, before);
  const ValueId y = b("transpose", {v}, TransposeAttrs{p});
  graph_.set_type(y, permuted(graph_[v].type, p));
  return y;
}

void Transposes::join(NodeId id) {
  const auto p = perm_of(graph_[id]);
  const ValueId x = graph_[id].in[0];
  if (!p || !perm_of(x)) return;
  const ValueId y = transposed(id, x, *p);
  graph_.set_name(y, graph_[graph_[id].out[0]].name);
  replace(id, {y});
}

void Transposes::replace(NodeId id, const std::vector<ValueId>& by) {
  for (size_t o = 0; o < by.size(); ++o)
    if (graph_[id].out[o].valid()) graph_.replace_uses(graph_[id].out[o], by[o]);
  graph_.erase(id);
  ++changed_;
}

void Transposes::rebuild(NodeId id, std::vector<ValueId> in, std::shared_ptr<const void> attrs,
                         const std::vector<Perm>& perms) {
  const Node& old = graph_[id];
  const NodeId fresh = graph_.insert_node(id, *old.op, std::move(in), old.out.size(), std::move(attrs), {}, old.where);
  std::vector<ValueId> by;
  for (size_t o = 0; o < graph_[id].out.size(); ++o) {
    const ValueId was = graph_[id].out[o];
    if (!was.valid()) {
      graph_.drop_output(fresh, o);
      by.push_back({});
      continue;
    }
    const ValueId y = graph_[fresh].out[o];
    graph_.set_type(y, permuted(graph_[was].type, inverse(perms[o])));
    by.push_back(identity(perms[o]) ? y : plain_transpose(id, y, perms[o]));
    graph_.set_name(by.back(), graph_[was].name);
  }
  replace(id, by);
}

}  // namespace nnex::passes
