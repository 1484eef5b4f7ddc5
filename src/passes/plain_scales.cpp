#include <algorithm>
#include <optional>

#include "graph/queries.h"
#include "ops/quantize.h"
#include "ops/shape.h"
#include "passes/passes.h"

namespace nnex::passes {
namespace {

/// The one axis along which the scale has an element for each of x's; -1: one element for all; nothing otherwise.
std::optional<int64_t> axis_of(const Shape& scale, const Dims& x) {
  int64_t axis = -1;
  for (int64_t i = 0; i < scale.rank(); ++i) {
    if (scale[i] == 1) continue;
    if (axis >= 0 || !(x[static_cast<size_t>(i)] == Dim(scale[i]))) return std::nullopt;
    axis = i;
  }
  return axis;
}

/// transpose(dequantize_linear(constant bytes))   ->   dequantize_linear(transpose(constant bytes)): products and
/// convolutions find bytes.
int turn_bytes(ir::Graph& graph, NodeId id) {
  const Node& turn = graph[id];
  const Node* from = turn.op->name == "transpose" ? graph.producer(turn.in[0]) : nullptr;
  if (!from || from->op->name != "dequantize_linear" || !graph[from->in[0]].is_constant()) return 0;
  const auto& d = graph.attrs<DequantizeAttrs>(*from);
  const Tensor* bytes = graph.constant_in(*from, 0);
  if (!bytes) return 0;
  const int64_t rank = bytes->shape().rank();
  Ints axes = graph.attrs<TransposeAttrs>(turn).axes;
  if (axes.empty())
    for (int64_t i = rank; i-- > 0;) axes.push_back(i);
  if (static_cast<int64_t>(axes.size()) != rank) return 0;
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  DequantizeAttrs attrs = d;
  const int64_t along = d.axis < 0 ? d.axis + rank : d.axis;
  std::vector<bool> turns(from->in.size());  // what has an axis for each of the codes'
  turns[0] = true;
  for (size_t port = 1; port < from->in.size(); ++port) {
    if (!from->in[port].valid()) continue;
    const Tensor* t = graph.constant_in(*from, port);
    if (!t || (t->shape().rank() > 1 && t->shape().rank() != rank)) return 0;
    turns[port] = t->shape().rank() > 1;
    if (t->shape().rank() > 0) attrs.axis = std::find(axes.begin(), axes.end(), along) - axes.begin();
  }
  Builder b(graph, id);
  const ValueId old = turn.out[0];
  std::vector<ValueId> in = from->in;
  for (size_t port = 0; port < in.size(); ++port) {
    if (!turns[port]) continue;
    const Tensor& t = *graph[in[port]].constant.tensor();
    Dims dims;
    for (int64_t axis : axes) dims.push_back(Dim(t.shape()[axis]));
    const Type type = Type::tensor(t.dtype(), std::move(dims));
    in[port] = b("transpose", {in[port]}, TransposeAttrs{axes});
    graph.set_type(in[port], type);
  }
  const ValueId y = b("dequantize_linear", std::move(in), std::move(attrs));
  graph.set_type(y, graph[old].type);
  graph.set_name(y, graph[old].name);
  graph.replace_uses(old, y);
  graph.erase(id);
  return 1;
}

}  // namespace

/// Scales and zero points of x's rank that are one number, or one for each place of an axis, as a number or a list:
///     dequantize_linear(w: i8[8,3,3,3], f32[8,1,1,1](...), ...)   ->   dequantize_linear(w, f32[8](...), axis = 0)
/// so that products of bytes find them. Applies to constants. Transposes of such constants move before them.
Result<int> plain_scales(ir::Graph& graph) {
  const auto plain = [&](NodeId id, auto attrs) {
    const Node& node = graph[id];
    const MaybeDims& x = graph[node.in[0]].type.dims;
    const Tensor *scale = graph.constant_in(node, 1), *zero = graph.constant_in(node, 2);
    if (attrs.block_size != 0 || !x || !scale || scale->shape().rank() == 0) return 0;
    if (scale->shape().rank() != static_cast<int64_t>(x->size()) || x->size() < 2) return 0;
    if (node.in.size() > 2 && node.in[2].valid() && (!zero || !(zero->shape() == scale->shape()))) return 0;
    const auto axis = axis_of(scale->shape(), *x);
    if (!axis) return 0;
    const Shape shape = *axis < 0 ? Shape{} : Shape{scale->count()};
    const ValueId s = graph.add_constant(scale->reshaped(shape));
    const ValueId z = zero ? graph.add_constant(zero->reshaped(shape)) : ValueId{};
    graph.set_input(id, 1, s);
    if (zero) graph.set_input(id, 2, z);
    if (*axis >= 0) attrs.axis = *axis;
    graph.set_attrs(id, std::move(attrs));
    return 1;
  };
  int made = 0;
  for (NodeId id : graph.order_with_blocks()) {
    if (const auto* a = attrs_if<QuantizeAttrs>(graph[id])) made += plain(id, *a);
    if (const auto* a = attrs_if<DequantizeAttrs>(graph[id])) made += plain(id, *a);
  }
  for (NodeId id : graph.order_with_blocks())
    if (!graph[id].erased) made += turn_bytes(graph, id);
  return made;
}

}  // namespace nnex::passes
