#include "api/match_codes.h"

#include <algorithm>
#include <set>

#include "graph/queries.h"

namespace nnex {
namespace {

bool rounds(std::string_view op) {
  return op == "min_max_linear_quantize" || op == "zero_point_linear_quantize" || op == "logarithmic_quantize";
}
bool limits(std::string_view op) { return op == "relu" || op == "clamp"; }
bool is_product(std::string_view op) { return op == "conv" || op == "deconv" || op == "linear" || op == "matmul"; }

}  // namespace

ValueId CodedNetwork::origin(ValueId v) const {
  for (;;) {
    const Node* n = n_.graph.producer(v);
    if (n && n->op->name == "dequantize_linear")
      n = made_by(n_.graph, n->in[0], "quantize_linear");
    else if (n && !rounds(n->op->name))
      n = nullptr;
    if (!n) return v;
    v = n->in[0];
  }
}

ValueId CodedNetwork::stand_in(ValueId v) const {
  const ir::Graph& g = n_.graph;
  ValueId found;
  for (const Use& use : g[v].uses) {
    if (!use.node.valid() || use.index != 0 || !(g[use.node].parent == kMain)) return {};
    const Node& reader = g[use.node];
    if (rounds(reader.op->name)) {
      found = reader.out[0];
      continue;
    }
    if (reader.op->name != "quantize_linear") return {};
    for (const Use& code : g[reader.out[0]].uses)
      if (!found.valid() && code.node.valid() && g[code.node].parent == kMain &&
          g[code.node].op->name == "dequantize_linear")
        found = g[code.node].out[0];
  }
  return found;
}

bool CodedNetwork::is_of_codes(size_t layer) const {
  const std::string_view op = n_.op(layer);
  return op == "quantize_linear" || op == "dequantize_linear" || rounds(op);
}

std::vector<ValueId> CodedNetwork::reads(NodeId id) const {
  std::vector<ValueId> out;
  for (ValueId v : n_.reads(id)) {
    const NodeId producer = n_.graph[v].producer;
    if (producer.valid() && n_.op_of(producer) == "dequantize_linear" && n_.reads(producer).empty()) continue;
    out.push_back(origin(v));
  }
  return out;
}

NodeId CodedNetwork::only_reader_of(ValueId v) const {
  if (!v.valid()) return {};
  const auto& uses = n_.graph[v].uses;
  if (uses.size() != 1 || !uses[0].node.valid() || uses[0].index != 0) return {};
  return n_.graph[uses[0].node].parent == kMain ? uses[0].node : NodeId{};
}

NodeId CodedNetwork::norm_after(NodeId id) const {
  if (!is_product(n_.op_of(id))) return {};
  const NodeId reader = only_reader_of(n_.graph[id].out[0]);
  const bool norm = reader.valid() && n_.op_of(reader) == "batch_normalization" && n_.reads(reader).size() == 1;
  return norm ? reader : NodeId{};
}

NodeId CodedNetwork::limit_after(ValueId v) const {
  const NodeId reader = only_reader_of(v);
  return reader.valid() && limits(n_.op_of(reader)) && n_.reads(reader).size() == 1 ? reader : NodeId{};
}

bool same_maker(const CodedNetwork& a, size_t l, const CodedNetwork& b, size_t m) {
  if (a.network().op(l) == b.network().op(m)) return true;
  const auto holds = [](const CodedNetwork& norms, size_t norm, const CodedNetwork& products, size_t product) {
    const LayerNetwork& n = norms.network();
    const Node& node = n.graph[n.layers[norm].node];
    if (n.op(norm) != "batch_normalization" || node.in.empty()) return false;
    const NodeId before = n.graph[node.in[0]].producer;
    return before.valid() && n.op_of(before) == products.network().op(product);
  };
  return holds(a, l, b, m) || holds(b, m, a, l);
}

void pair_stand_ins(const LayerNetwork& a, const LayerNetwork& b, std::vector<LayerPair>& pairs) {
  const CodedNetwork in_a(a), in_b(b);
  std::set<size_t> paired_a, paired_b;
  for (const LayerPair& p : pairs) paired_a.insert(p.a), paired_b.insert(p.b);
  std::vector<LayerPair> limited;
  // `coded` may become what stands for it, `floats` is the other side.
  const auto follow = [&](LayerPair p, const CodedNetwork& coded, size_t LayerPair::*own, std::set<size_t>& paired,
                          const CodedNetwork& floats, size_t LayerPair::*other, std::set<size_t>& paired_other) {
    const LayerNetwork &c = coded.network(), &f = floats.network();
    const ValueId value = f.layers[p.*other].value, decoded = coded.stand_in(c.layers[p.*own].value);
    if (!decoded.valid() || floats.stand_in(value).valid()) return p;
    LayerPair behind = p;
    behind.*own = c.layer_of.at(decoded.n);
    if (!paired.insert(behind.*own).second) return p;
    const NodeId limit = floats.limit_after(value);
    if (!limit.valid()) return behind;
    behind.*other = f.layer_of.at(f.graph[limit].out[0].n);
    if (!paired_other.insert(behind.*other).second) {  // the codes do not hold it: it has a partner
      behind.*other = p.*other;
      return behind;
    }
    limited.push_back(behind);
    return p;
  };
  for (LayerPair& p : pairs) {
    if (p.matched == MatchedBy::value) continue;  // they hold the same numbers already
    p = follow(p, in_b, &LayerPair::b, paired_b, in_a, &LayerPair::a, paired_a);
    p = follow(p, in_a, &LayerPair::a, paired_a, in_b, &LayerPair::b, paired_b);
  }
  pairs.insert(pairs.end(), limited.begin(), limited.end());
  std::sort(pairs.begin(), pairs.end(), [](const LayerPair& x, const LayerPair& y) { return x.a < y.a; });
}

}  // namespace nnex
