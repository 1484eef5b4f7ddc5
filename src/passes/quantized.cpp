// Integer regions: what lies between dequantize_linear and quantize_linear of bytes.

#include <algorithm>
#include <optional>
#include <set>

#include "graph/queries.h"
#include "kernels/elementwise/chain.h"
#include "kernels/elementwise/pointwise.h"
#include "kernels/quantize/node_products.h"
#include "ops/pool.h"
#include "ops/quantize.h"
#include "ops/traits.h"
#include "passes/passes.h"
#include "passes/region.h"

namespace nnex::passes {
namespace {

kernels::Operand operand(const ir::Graph& graph, const Node& node, size_t i) {
  kernels::Operand o;
  if (i >= node.in.size() || !node.in[i].valid()) return o;
  o.dtype = graph[node.in[i]].type.dtype, o.constant = graph[node.in[i]].constant.tensor();
  return o;
}

/// A node that turns bytes of one scale into float32.
bool dequantizes(const ir::Graph& graph, const Node* node) {
  return node && node->op->name == "dequantize_linear" && is_f32(graph, node->out[0]) &&
         kernels::byte_scale(operand(graph, *node, 1), operand(graph, *node, 2), operand(graph, *node, 0).dtype);
}
bool quantizes(const ir::Graph& graph, const Node& node) {
  return node.op->name == "quantize_linear" && is_f32(graph, node.in[0]) && node.in.size() > 2 &&
         kernels::byte_scale(operand(graph, node, 1), operand(graph, node, 2), graph[node.out[0]].type.dtype);
}
/// A node that reads constants alone.
bool reads_constants(const ir::Graph& graph, const Node* node) {
  return node &&
         std::all_of(node->in.begin(), node->in.end(), [&](ValueId v) { return !v.valid() || graph[v].is_constant(); });
}
bool constant_bytes(const ir::Graph& graph, ValueId v) {
  const Node* node = graph.producer(v);
  const DType t = node && !node->in.empty() ? graph[node->in[0]].type.dtype : DType::none;
  return node && node->op->name == "dequantize_linear" && reads_constants(graph, node) &&
         (t == DType::i8 || t == DType::u8);
}
bool constant_bias(const ir::Graph& graph, ValueId v) {
  const Node* node = graph.producer(v);
  return graph[v].is_constant() || (node && node->op->name == "dequantize_linear" && reads_constants(graph, node));
}

class Quantized {
 public:
  explicit Quantized(ir::Graph& graph) : graph_(graph) {}

  int run() {
    for (NodeId id : graph_.order_with_blocks())
      if (!graph_[id].erased && quantizes(graph_, graph_[id])) region(id);
    return made_;
  }

 private:
  bool activation(const Node& node) const {
    bool limits = is_limit(*node.op);
    for (size_t i = 1; limits && i < node.op->inputs.size(); ++i) limits = operand(graph_, node, i).constant != nullptr;
    return limits;
  }

  /// The region that ends in quantize_linear node `id`.
  void region(NodeId id) {
    const ValueId y = graph_[id].in[0];
    if (!graph_[y].producer.valid() || !alone(y, id)) return;
    std::vector<NodeId> nodes = {id};
    NodeId at = graph_[y].producer;
    const auto back = [&](ValueId v) {
      const NodeId producer = graph_[v].producer;
      if (!producer.valid() || !alone(v, at)) return false;
      nodes.push_back(at);
      at = producer;
      return true;
    };
    if (activation(graph_[at]) && !back(graph_[at].in[0])) return chain(id);
    if (const auto product = biased(graph_[at]); product && !back(*product)) return chain(id);
    if (!is_product(graph_[at])) return chain(id);
    nodes.push_back(at);
    for (ValueId v : std::vector<ValueId>(graph_[at].in))
      if (v.valid() && graph_.producer(v) && graph_.producer(v)->op->name == "dequantize_linear")
        nodes.push_back(own(at, v));
    make(nodes);
  }

  /// The product without a bias to which an addition brings a constant row.
  std::optional<ValueId> biased(const Node& add) const {
    if (add.op->name != "add") return std::nullopt;
    for (size_t i : {size_t{0}, size_t{1}}) {
      const Node* product = graph_.producer(add.in[i]);
      const Tensor* row = graph_.constant_in(add, 1 - i);
      if (!product || !row || row->dtype() != DType::f32 || !is_product(*product)) continue;
      const MaybeDims& dims = graph_[add.in[i]].type.dims;
      const Shape& shape = row->shape();
      if ((product->in.size() > 2 && product->in[2].valid()) || !dims || dims->empty() || shape.rank() < 1 ||
          shape.rank() > static_cast<int64_t>(dims->size()) || shape[shape.rank() - 1] != shape.count() ||
          !(dims->back() == Dim(shape.count())))
        continue;
      return add.in[i];
    }
    return std::nullopt;
  }

  bool is_product(const Node& node) const {
    if (!nnex::is_product(*node.op) || !dequantizes(graph_, graph_.producer(node.in[0])) ||
        !constant_bytes(graph_, node.in[1]))
      return false;
    if (node.in.size() > 2 && node.in[2].valid() && !constant_bias(graph_, node.in[2])) return false;
    return node.op->name != "conv" || (graph_.attrs<ConvAttrs>(node).channels_last &&
                                       graph_.attrs<ConvAttrs>(node).border == ConvBorder::constant);
  }

  /// Whether `reader` alone reads v, in v's block.
  bool alone(ValueId v, NodeId reader) const {
    return graph_.read_once(v) && graph_[graph_[v].producer].parent == graph_[reader].parent;
  }

  /// The dequantize_linear that makes v, for this reader alone: a copy where others read it too.
  NodeId own(NodeId reader, ValueId v) {
    const NodeId producer = graph_[v].producer;
    if (alone(v, reader)) return producer;
    const Node& node = graph_[producer];
    const NodeId copy = graph_.insert_node(reader, *node.op, node.in, 1, node.attrs, {}, node.where);
    graph_.set_type(graph_[copy].out[0], graph_[v].type);
    for (size_t i = 0; i < graph_[reader].in.size(); ++i)
      if (graph_[reader].in[i] == v) graph_.set_input(reader, i, graph_[copy].out[0]);
    return copy;
  }

  /// Element-wise nodes between bytes of one shape.
  void chain(NodeId id) {
    std::set<NodeId> inner;
    std::vector<std::pair<NodeId, ValueId>> leaves;
    if (!collect(id, graph_[id].in[0], inner, leaves) || inner.empty() ||
        inner.size() > static_cast<size_t>(kernels::Chain::kMaxSteps) / 2 ||
        leaves.size() > static_cast<size_t>(kernels::Chain::kMaxInputs) / 2)
      return;
    std::vector<NodeId> nodes = {id};
    nodes.insert(nodes.end(), inner.begin(), inner.end());
    for (auto [reader, v] : leaves)
      if (std::count(graph_[reader].in.begin(), graph_[reader].in.end(), v)) nodes.push_back(own(reader, v));
    make(nodes);
  }
  bool collect(NodeId reader, ValueId v, std::set<NodeId>& inner, std::vector<std::pair<NodeId, ValueId>>& leaves) {
    const Node* node = graph_.producer(v);
    if (!node || !same_extents(graph_, v, graph_[reader].out[0])) return false;
    if (dequantizes(graph_, node)) {
      leaves.emplace_back(reader, v);
      return true;
    }
    const bool binary = kernels::binary_of(*node->op, node->attrs.get()).has_value();
    std::vector<kernels::Operand> in;
    for (size_t i = 0; i < node->in.size(); ++i) in.push_back(operand(graph_, *node, i));
    if (!node->op->elementwise || !alone(v, reader) || inner.size() > 20) return false;
    if (!binary && !kernels::unary_of(*node->op, node->attrs.get(), in)) return false;
    const NodeId producer = graph_[v].producer;
    inner.insert(producer);
    for (size_t i = 0; i < (binary ? 2U : 1U); ++i)
      if (!collect(producer, graph_[producer].in[i], inner, leaves)) return false;
    return true;
  }

  /// The last node first, the others in any order.
  void make(const std::vector<NodeId>& nodes) {
    std::vector<NodeId> ordered;
    const std::set<NodeId> all(nodes.begin(), nodes.end());
    // Back from the last node: regions are short, blocks may be long.
    size_t left = all.size();
    for (NodeId n = nodes.front(); left > 0; n = graph_[n].prev)
      if (all.count(n)) ordered.push_back(n), --left;
    std::reverse(ordered.begin(), ordered.end());
    make_region(graph_, ordered);
    ++made_;
  }

  ir::Graph& graph_;
  int made_ = 0;
};

}  // namespace

/// max_pool(dequantize_linear(q, s, z))   ->   the same, quantised again by s and z and dequantised: exact, since a
/// maximum is one of its elements; what follows finds bytes.
Result<int> quantize_pools(ir::Graph& graph) {
  int changed = 0;
  for (NodeId id : graph.order_with_blocks()) {
    const Node& node = graph[id];
    if (node.erased || node.op->name != "max_pool" || (node.out.size() > 1 && node.out[1].valid()) ||
        !node.out[0].valid() || !is_f32(graph, node.out[0]))
      continue;
    const auto& a = graph.attrs<PoolAttrs>(node);
    const Node* from = graph.producer(node.in[0]);
    if (a.border != PoolBorder::ignore || !dequantizes(graph, from) || from->in.size() < 3) continue;
    const ValueId y = node.out[0];
    const std::vector<Use> uses = graph[y].uses;
    const bool to_product = std::any_of(uses.begin(), uses.end(), [&](const Use& u) {
      return u.node.valid() && graph[u.node].op->name == "conv" && u.index == 0;
    });
    if (!to_product || !node.next.valid()) continue;
    Builder b(graph, node.next, node.where);
    QuantizeAttrs q;
    const ValueId bytes = b("quantize_linear", {y, from->in[1], from->in[2]}, q);
    Type t = graph[y].type;
    t.dtype = graph[from->in[0]].type.dtype;
    graph.set_type(bytes, std::move(t));
    const ValueId again = b("dequantize_linear", {bytes, from->in[1], from->in[2]}, DequantizeAttrs{});
    graph.set_type(again, graph[y].type);
    for (const Use& u : uses)
      if (u.node.valid()) graph.set_input(u.node, u.index, again);
    ++changed;
  }
  return changed;
}

namespace {

/// Whether output 0 of the node has elements of input 0 alone, of whatever type.
bool only_moves(const ir::Graph& graph, const Node& node) {
  if (!node.op->view && node.op->in_bytes != ByteRole::moves) return false;
  if (!node.out[0].valid() || (node.out.size() > 1 && node.out[1].valid())) return false;
  // Beyond other borders lie zeros of floats, which are no zeros of codes.
  return node.op->attrs.type != &nnex::detail::type_tag<PoolAttrs> ||
         graph.attrs<PoolAttrs>(node).border == PoolBorder::ignore;
}

/// One scale and zero point, of which no quotient is near the ends of float32.
bool same_scale(const kernels::ByteScale& a, const kernels::ByteScale& b) {
  return a.scale == b.scale && a.zero == b.zero && a.is_signed == b.is_signed && a.scale >= 0x1p-60F &&
         a.scale <= 0x1p60F;
}

}  // namespace

/// quantize_linear(max_pool(dequantize_linear(q, s, z)), s, z)   ->   max_pool(q), and so for whatever only moves
/// elements: exact, since a code comes back as itself, and of two codes the greater stands for the greater float.
Result<int> move_codes(ir::Graph& graph) {
  int changed = 0;
  for (NodeId id : graph.order_with_blocks()) {
    const Node& node = graph[id];
    if (node.erased || !quantizes(graph, node)) continue;
    const Node* move = graph.producer(node.in[0]);
    if (!move || move->in.empty() || !only_moves(graph, *move)) continue;
    const Node* from = graph.producer(move->in[0]);
    if (!dequantizes(graph, from)) continue;
    const auto scale = [&](const Node& n, DType bytes) {
      return kernels::byte_scale(operand(graph, n, 1), operand(graph, n, 2), bytes);
    };
    const Type codes = graph[node.out[0]].type;
    if (!same_scale(*scale(*from, graph[from->in[0]].type.dtype), *scale(node, codes.dtype))) continue;
    std::vector<ValueId> in = move->in;
    in[0] = from->in[0];
    const NodeId moved = graph.insert_node(id, *move->op, std::move(in), 1, move->attrs, {}, move->where);
    const ValueId y = graph[moved].out[0], old = graph[id].out[0];
    graph.set_type(y, codes);
    graph.set_name(y, graph[old].name);
    graph.set_name(old, {});
    graph.replace_uses(old, y);
    ++changed;
  }
  return changed;
}

/// dequantize_linear, product | element-wise nodes, quantize_linear of bytes   ->   fused { ... } on integers. A result
/// may differ by one step where the float path's roundings decide a tie.
Result<int> fuse_quantized(ir::Graph& graph) { return Quantized(graph).run(); }

}  // namespace nnex::passes
