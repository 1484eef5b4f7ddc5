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
    const auto to = node.erased ? std::nullopt : fusion::quantizes(graph, node);
    const Node* move = to ? graph.producer(node.in[0]) : nullptr;
    if (!move || move->in.empty() || !only_moves(graph, *move)) continue;
    const Node* from = graph.producer(move->in[0]);
    const auto scale = fusion::dequantizes(graph, from);
    if (!scale || !same_scale(*scale, *to)) continue;
    const Type codes = graph[node.out[0]].type;
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
