// Codes: what lies between dequantize_linear and quantize_linear of bytes.

#include <algorithm>

#include "fusion/fusion.h"
#include "graph/queries.h"
#include "ops/pool.h"
#include "ops/quantize.h"
#include "ops/traits.h"
#include "passes/passes.h"

namespace nnex::passes {

/// max_pool(dequantize_linear(q, s, z))   ->   the same, quantised again by s and z and dequantised: exact, since a
/// maximum is one of its elements; what follows finds bytes.
Result<int> quantize_pools(ir::Graph& graph) {
  int changed = 0;
  for (NodeId id : graph.order_with_blocks()) {
    const Node& node = graph[id];
    if (node.erased || !takes_greatest(*node.op) || (node.out.size() > 1 && node.out[1].valid()) ||
        !node.out[0].valid() || !is_f32(graph, node.out[0]))
      continue;
    const auto& a = graph.attrs<PoolAttrs>(node);
    const Node* from = graph.producer(node.in[0]);
    if (a.border != PoolBorder::ignore || !fusion::dequantizes(graph, from) || from->in.size() < 3) continue;
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
  if (node.in.empty() || (!node.op->view && node.op->in_bytes != ByteRole::moves)) return false;
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

/// The move, of codes instead of floats, before `before`.
ValueId move_codes_by(ir::Graph& graph, NodeId before, NodeId id, ValueId codes) {
  const Node& move = graph[id];
  std::vector<ValueId> in = move.in;
  in[0] = codes;
  Type type = graph[move.out[0]].type;
  type.dtype = graph[codes].type.dtype;
  const NodeId moved = graph.insert_node(before, *move.op, std::move(in), 1, move.attrs, {}, move.where);
  graph.set_type(graph[moved].out[0], std::move(type));
  return graph[moved].out[0];
}

/// quantize_linear(max_pool(dequantize_linear(q, s, z)), s, z)   ->   max_pool(q), and so for whatever only moves
/// elements: a code comes back as itself, and of two codes the greater stands for the greater float.
bool move_codes_through(ir::Graph& graph, NodeId id) {
  const auto to = fusion::quantizes(graph, graph[id]);
  const NodeId move = to ? graph[graph[id].in[0]].producer : NodeId();
  if (!move.valid() || !only_moves(graph, graph[move])) return false;
  const Node* from = graph.producer(graph[move].in[0]);
  const auto scale = fusion::dequantizes(graph, from);
  if (!scale || !same_scale(*scale, *to)) return false;
  const ValueId old = graph[id].out[0], y = move_codes_by(graph, id, move, from->in[0]);
  graph.set_name(y, graph[old].name);
  graph.set_name(old, {});
  graph.replace_uses(old, y);
  return true;
}

/// matmul(transpose(dequantize_linear(q, s, z)), w)   ->   matmul(dequantize_linear(transpose(q), s, z), w), and so for
/// all that only moves elements to a product: what follows finds bytes.
bool move_codes_to(ir::Graph& graph, NodeId product, size_t index) {
  std::vector<NodeId> moves;
  NodeId at = graph[graph[product].in[index]].producer;
  for (; at.valid() && only_moves(graph, graph[at]); at = graph[graph[at].in[0]].producer) moves.push_back(at);
  if (moves.empty() || !at.valid() || !fusion::dequantizes(graph, &graph[at])) return false;
  const Node from = graph[at];
  const Type floats = graph[graph[product].in[index]].type;
  ValueId codes = from.in[0];
  for (; !moves.empty(); moves.pop_back()) codes = move_codes_by(graph, product, moves.back(), codes);
  std::vector<ValueId> in = from.in;
  in[0] = codes;
  const NodeId again = graph.insert_node(product, *from.op, std::move(in), 1, from.attrs, {}, from.where);
  graph.set_type(graph[again].out[0], floats);
  graph.set_input(product, index, graph[again].out[0]);
  return true;
}

}  // namespace

/// What only moves elements moves codes, not the floats they stand for. Exact.
Result<int> move_codes(ir::Graph& graph) {
  int changed = 0;
  for (NodeId id : graph.order_with_blocks()) {
    if (graph[id].erased) continue;
    if (is_product(*graph[id].op))
      for (size_t i : {size_t{0}, size_t{1}}) changed += move_codes_to(graph, id, i);
    else
      changed += move_codes_through(graph, id);
  }
  return changed;
}

/// dequantize_linear, product | element-wise nodes, quantize_linear of bytes   ->   fused { ... } on integers. A result
/// may differ by one step where the float path's roundings decide a tie.
Result<int> fuse_quantized(ir::Graph& graph) {
  int fused = 0;
  for (NodeId id : graph.order_with_blocks()) {
    auto found = graph[id].erased ? std::nullopt : fusion::find_bytes(graph, id);
    if (!found) continue;
    fuse(graph, *std::move(found));
    ++fused;
  }
  return fused;
}

}  // namespace nnex::passes
