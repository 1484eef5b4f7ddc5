#include "fusion/functions.h"

#include <algorithm>

#include "graph/queries.h"
#include "kernels/elementwise/pointwise.h"

namespace nnex::fusion {

std::optional<kernels::ChainStep> function_of(const ir::Graph& graph, NodeId id, DType type) {
  const Node& node = graph[id];
  const auto fits = [&](ValueId v) {
    return v.valid() && graph[v].type.is_tensor() && graph[v].type.dtype == type && graph[v].type.dims;
  };
  if (!node.op->elementwise || node.out.size() != 1 || !fits(node.out[0]) || node.in.empty() || !fits(node.in[0]))
    return std::nullopt;
  kernels::ChainStep step;
  if (const auto binary = kernels::binary_of(*node.op, node.attrs.get())) {
    step.b = 1, step.binary = *binary;
    return fits(node.in[1]) ? std::optional(step) : std::nullopt;
  }
  std::vector<kernels::Operand> in;
  for (ValueId v : node.in) {
    kernels::Operand& o = in.emplace_back();
    if (v.valid()) o.dtype = graph[v].type.dtype, o.constant = graph[v].constant.tensor();
  }
  const auto unary = kernels::unary_of(*node.op, node.attrs.get(), in);
  if (!unary) return std::nullopt;
  step.unary = *unary;
  return step;
}

std::optional<kernels::Unary> unary_of(const ir::Graph& graph, NodeId id) {
  const auto step = function_of(graph, id);
  return step && step->b < 0 ? std::optional(step->unary) : std::nullopt;
}

std::vector<kernels::ChainStep> steps_of(const ir::Graph& graph, std::span<const NodeId> nodes,
                                         std::span<const ValueId> values) {
  std::vector<ValueId> known(values.begin(), values.end());
  std::vector<kernels::ChainStep> steps;
  for (NodeId id : nodes) {
    const Node& node = graph[id];
    const auto number = [&](size_t i) {
      return static_cast<int8_t>(std::find(known.begin(), known.end(), node.in[i]) - known.begin());
    };
    kernels::ChainStep& step = steps.emplace_back(*function_of(graph, id, graph[node.out[0]].type.dtype));
    step.a = number(0);
    if (step.b >= 0) step.b = number(1);
    known.push_back(node.out[0]);
  }
  return steps;
}

}  // namespace nnex::fusion
