#include <cmath>

#include "graph/queries.h"
#include "ops/norm.h"
#include "passes/simplify.h"
#include "tensor/convert.h"

namespace nnex::passes::simplification {

/// batch_normalization with constant numbers   ->   x * scale + offset, where these are finite
bool batch_normalization(ir::Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.op->name != "batch_normalization") return false;
  const auto& a = graph.attrs<BatchNormAttrs>(node);
  const auto rank = static_cast<int64_t>(graph[node.out[0]].type.dims->size());
  const int64_t axis = a.axis < 0 ? a.axis + rank : a.axis;
  Reals numbers[4];  // scale, offset, mean, variance
  constexpr std::string_view kPorts[] = {"scale", "offset", "mean", "variance"};
  int64_t n = -1;
  for (size_t i = 4; i-- > 0;) {
    const auto port = static_cast<size_t>(node.op->input(kPorts[i]));
    const bool given = port < node.in.size() && node.in[port].valid();
    const Tensor* t = graph.constant_in(node, port);
    if (!given && i < 2 && n >= 0) {
      numbers[i].assign(static_cast<size_t>(n), i == 0 ? 1 : 0);
      continue;
    }
    if (!t || t->dtype() != DType::f32 || (n >= 0 && t->count() != n)) return false;
    n = t->count();
    for (int64_t k = 0; k < n; ++k) numbers[i].push_back(real_at(*t, k));
  }
  if (a.training) return false;
  std::vector<int64_t> shape(static_cast<size_t>(rank - axis), 1);
  shape[0] = n;
  auto scale = Tensor::make(DType::f32, Shape(shape)), offset = Tensor::make(DType::f32, Shape(shape));
  if (!scale.ok() || !offset.ok()) return false;
  for (size_t k = 0; k < static_cast<size_t>(n); ++k) {
    const double s = numbers[0][k] / std::sqrt(numbers[3][k] + a.epsilon);
    scale->mutable_as<float>()[k] = static_cast<float>(s);
    offset->mutable_as<float>()[k] = static_cast<float>(numbers[1][k] - numbers[2][k] * s);
    if (!std::isfinite(scale->as<float>()[k]) || !std::isfinite(offset->as<float>()[k])) return false;
  }
  Builder b(graph, id);
  const ValueId scaled = b("mul", {node.in[0], b.constant(std::move(*scale))});
  graph.set_type(scaled, graph[node.out[0]].type);
  return become(graph, id, b("add", {scaled, b.constant(std::move(*offset))}));
}

}  // namespace nnex::passes::simplification
