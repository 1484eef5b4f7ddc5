#include <algorithm>

#include "graph/queries.h"
#include "passes/casts.h"
#include "passes/simplify.h"

namespace nnex::passes::simplification {
namespace {

/// Whether a few steps back show that no element of v is below 0.
bool never_negative(const ir::Graph& graph, ValueId v, int depth = 0) {
  if (const auto n = real_constant(graph, v)) return *n >= 0;
  const Node* producer = graph.producer(v);
  if (!producer || depth > 4) return false;
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), producer->op->name) != names.end();
  };
  if (is({"sqr", "abs", "exp", "relu", "sigmoid", "softmax"})) return true;
  if (is({"mul"}) && producer->in[0] == producer->in[1]) return true;
  if (is({"mean_reduce", "sum_reduce", "max_reduce"})) return never_negative(graph, producer->in[0], depth + 1);
  return is({"add", "mul", "div", "max"}) && never_negative(graph, producer->in[0], depth + 1) &&
         never_negative(graph, producer->in[1], depth + 1);
}

}  // namespace

/// pow(x, 2)   ->   sqr(x);   pow(x, 3)   ->   mul(sqr(x), x), of float32;   pow(x, 0.5)   ->   sqrt(x), where x is not
/// negative: pow(-inf, 0.5) is inf
bool power(ir::Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.op->name != "pow") return false;
  const ValueId x = node.in[0];
  const DType type = graph[x].type.is_tensor() ? graph[x].type.dtype : DType::none;
  if (type != DType::f32 && !is_half(type)) return false;
  const auto exponent = real_constant(graph, node.in[1]);
  if (!exponent || !same_extents(graph, node.in[0], node.out[0])) return false;
  Builder b(graph, id);
  if (*exponent == 2) return become(graph, id, b("sqr", {x}));
  if (*exponent == 3 && type == DType::f32) {
    const ValueId square = b("sqr", {x});
    graph.set_type(square, graph[x].type);
    return become(graph, id, b("mul", {square, x}));
  }
  return *exponent == 0.5 && never_negative(graph, x) && become(graph, id, b("sqrt", {x}));
}

}  // namespace nnex::passes::simplification
