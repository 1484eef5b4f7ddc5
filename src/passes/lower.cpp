#include "passes/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/infer.h"
#include "ops/arithmetic.h"
#include "ops/cast.h"
#include "ops/join.h"
#include "ops/matmul.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "passes/casts.h"
#include "passes/passes.h"

namespace nnex::passes {

Type Lowering::type_of_value(ValueId v) const {
  return graph_[v].is_constant() ? type_of(graph_[v].constant) : graph_[v].type;
}

Result<Shape> Lowering::extents(ValueId v, std::string_view port) const {
  const Type type = type_of_value(v);
  const auto shape = concrete(type);
  if (!shape) return error("its {} is {}; needed known extents", port, type.text());
  for (int64_t extent : *shape)
    if (extent == 0) return error("its {} has an extent of 0", port);
  return *shape;
}

ValueId Lowering::cast(ValueId v, DType to) {
  if (type_of_value(v).dtype == to) return v;
  CastAttrs a;
  a.to = to;
  return b("cast", {v}, a);
}

ValueId Lowering::cast_whole(ValueId v, DType to) {
  CastAttrs a;
  a.to = to;
  a.rounding = CastRounding::floor;
  return b("cast", {v}, a);
}

ValueId Lowering::reshaped(ValueId v, const Ints& shape) { return b("reshape", {v, b.ints(shape)}); }

ValueId Lowering::transposed(ValueId v, const Ints& axes) {
  if (std::is_sorted(axes.begin(), axes.end())) return v;
  return b("transpose", {v}, TransposeAttrs{axes});
}

ValueId Lowering::sliced(ValueId v, int64_t axis, int64_t begin, int64_t end, int64_t stride) {
  return b("slice", {v, b.ints({begin}), b.ints({end}), b.ints({axis}), b.ints({stride})});
}

ValueId Lowering::concat(std::vector<ValueId> parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return b("concat", std::move(parts), AxisAttrs{axis});
}

ValueId Lowering::sum(ValueId v, const Ints& axes) {
  if (axes.empty()) return v;
  ReduceAttrs a;
  a.keepdims = false;
  return b("sum_reduce", {v, b.ints(axes)}, a);
}

ValueId Lowering::matmul(ValueId x, ValueId y, bool transpose_y) {
  MatmulAttrs a;
  a.transpose_b = transpose_y;
  return b("matmul", {x, y}, a);
}

ValueId Lowering::whole(ValueId v) { return b("round", {v}, RoundAttrs{Rounding::half_even}); }

void Lowering::give(size_t o, ValueId v) {
  const ValueId old = node().out[o];
  if (!graph_[v].producer.valid() || !graph_[v].name.empty()) v = b("copy", {v});
  graph_.set_name(v, graph_[old].name);
  graph_.set_type(v, graph_[old].type);
  graph_.replace_uses(old, v);
}

namespace {

LowerRule find_rule(std::string_view row) {
  for (const auto list : {lower_recurrent(), lower_products(), lower_attention(), lower_classes(), lower_codes(),
                          lower_moves(), lower_numbers(), lower_integers()})
    for (const LowerRow& r : list)
      if (r.row == row) return r.rule;
  return nullptr;
}

/// Whether the row makes f32 of f32 where it makes halves of halves.
bool infers_wide(const ir::Graph& graph, NodeId id) {
  const Node& node = graph[id];
  const auto has_half = [&](ValueId v) { return v.valid() && is_half(graph[v].type.dtype); };
  Inference inference(graph, Inference::Few::nodes);
  for (ValueId v : node.in) {
    if (!v.valid()) continue;
    Type t = graph[v].type;
    if (has_half(v)) t.dtype = DType::f32;
    inference.bind(v, std::move(t));
  }
  return inference.node(id).ok() && std::all_of(node.out.begin(), node.out.end(), [&](ValueId v) {
           return !has_half(v) || inference.type(v).dtype == DType::f32;
         });
}

/// Halves are computed as f32 and rounded once, as references do it.
void widen(ir::Graph& graph, NodeId id) {
  const std::vector<ValueId> in = graph[id].in, out = graph[id].out;
  for (size_t i = 0; i < in.size(); ++i)
    if (in[i].valid() && is_half(graph[in[i]].type.dtype))
      graph.set_input(id, i, cast_to(Builder(graph, id), in[i], DType::f32));
  for (ValueId v : out) {
    if (!v.valid() || !is_half(graph[v].type.dtype)) continue;
    const Node& n = graph[id];
    const Type narrow = graph[v].type;
    const Builder after = n.next.valid() ? Builder(graph, n.next, n.where) : Builder(graph, n.parent, n.where);
    const std::string name = graph[v].name;
    graph.set_name(v, "");
    graph.set_type(v, Type::tensor(DType::f32, narrow.dims));
    const ValueId back = cast_to(after, v, narrow.dtype);
    const NodeId cast = graph[back].producer;
    graph.set_input(cast, 0, ValueId{});
    graph.replace_uses(v, back);
    graph.set_input(cast, 0, v);
    graph.set_name(back, name);
  }
}

}  // namespace

bool has_rule(std::string_view row) { return find_rule(row) != nullptr; }

Result<bool> lower(ir::Graph& graph, NodeId id, std::string& reason, Halves halves) {
  if (!graph[id].op) return false;
  if (!graph[id].op->body.empty()) {
    NNEX_TRY(expand_body(graph, id));
    return true;
  }
  const LowerRule rule = find_rule(graph[id].op->name);
  const auto known = [&](ValueId v) { return !v.valid() || concrete(graph[v].type); };
  if (!rule || !std::all_of(graph[id].out.begin(), graph[id].out.end(), known)) return false;
  const auto has_half = [&](ValueId v) { return v.valid() && is_half(graph[v].type.dtype); };
  if (halves == Halves::widened && std::any_of(graph[id].in.begin(), graph[id].in.end(), has_half)) {
    if (!infers_wide(graph, id)) return false;
    widen(graph, id);
  }
  Lowering l(graph, id);
  if (const Status s = rule(l); !s.ok()) {
    if (!s.error().message().empty()) reason += "; " + s.error().message();
    return false;
  }
  graph.erase(id);
  return true;
}

}  // namespace nnex::passes
