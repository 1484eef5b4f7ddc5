#include <cmath>
#include <optional>

#include "ops/norm.h"
#include "ops/window.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

/// y[c] = x[c] * scale[c] + offset[c], what a node does to each channel.
struct ChannelAffine {
  Reals scale, offset;
};

/// A constant of one number, or of one number a channel (axis 1 of `rank` axes, all others 1), as n numbers.
std::optional<Reals> per_channel(const Tensor* t, int64_t rank, int64_t n) {
  if (!t || t->dtype() != DType::f32) return std::nullopt;
  if (t->count() == 1 && t->shape().rank() <= rank) return Reals(static_cast<size_t>(n), real_at(*t, 0));
  const int64_t at = t->shape().rank() - (rank - 1);
  if (t->count() != n || at < 0 || at > 1 || t->shape()[at] != n) return std::nullopt;
  Reals out;
  for (int64_t i = 0; i < n; ++i) out.push_back(real_at(*t, i));
  return out;
}

std::optional<Reals> vector_of(const Tensor* t, int64_t n) {
  if (!t || t->count() != n) return std::nullopt;
  Reals out;
  for (int64_t i = 0; i < n; ++i) out.push_back(real_at(*t, i));
  return out;
}

std::optional<ChannelAffine> batch_norm(const Graph& graph, const Node& node, int64_t n) {
  const auto& a = graph.attrs<BatchNormAttrs>(node);
  if (a.training || a.axis != 1) return std::nullopt;
  const auto port = [&](std::string_view name) { return static_cast<size_t>(node.op->input(name)); };
  const auto mean = vector_of(graph.constant_in(node, port("mean")), n),
             variance = vector_of(graph.constant_in(node, port("variance")), n);
  if (!mean || !variance) return std::nullopt;
  ChannelAffine out{Reals(static_cast<size_t>(n), 1), Reals(static_cast<size_t>(n), 0)};
  const auto given = [&](size_t i) { return i < node.in.size() && node.in[i].valid(); };
  if (given(port("scale"))) {
    auto scale = vector_of(graph.constant_in(node, port("scale")), n);
    if (!scale) return std::nullopt;
    out.scale = std::move(*scale);
  }
  if (given(port("offset"))) {
    auto offset = vector_of(graph.constant_in(node, port("offset")), n);
    if (!offset) return std::nullopt;
    out.offset = std::move(*offset);
  }
  for (size_t i = 0; i < out.scale.size(); ++i) {
    out.scale[i] /= std::sqrt((*variance)[i] + a.epsilon);
    out.offset[i] -= (*mean)[i] * out.scale[i];
  }
  return out;
}

/// What the reader of y (one value a channel of axis 1) does, when that is an affine function with constant numbers.
std::optional<ChannelAffine> affine_of(const Graph& graph, const Node& node, ValueId y, int64_t n) {
  if (node.op->name == "batch_normalization") return batch_norm(graph, node, n);
  if (node.op->name != "mul" && node.op->name != "add" && node.op->name != "sub") return std::nullopt;
  const size_t other = node.in[0] == y ? 1 : 0;
  if (node.op->name == "sub" && other == 0) return std::nullopt;
  const auto rank = static_cast<int64_t>(graph[y].type.dims->size());
  auto numbers = per_channel(graph.constant_in(node, other), rank, n);
  if (!numbers || !same_extents(graph, node.out[0], y)) return std::nullopt;
  if (node.op->name == "mul") return ChannelAffine{std::move(*numbers), Reals(static_cast<size_t>(n), 0)};
  if (node.op->name == "sub")
    for (double& v : *numbers) v = -v;
  return ChannelAffine{Reals(static_cast<size_t>(n), 1), std::move(*numbers)};
}

Result<Tensor> scaled_filter(const Tensor& w, const Reals& scale) {
  NNEX_ASSIGN(Tensor out, Tensor::make(DType::f32, w.shape()));
  NNEX_ASSIGN(Tensor aligned, w.aligned_copy());
  const auto from = aligned.as<float>();
  const auto to = out.mutable_as<float>();
  const size_t per_filter = from.size() / scale.size();
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(from[i] * scale[i / per_filter]);
  return out;
}

}  // namespace

/// batch_normalization | mul | add | sub (constants, one number a channel) of conv(x, w, b)   ->   conv(x, w', b')
/// w' and b' are computed in double and rounded once: results differ from the graph's own by a few units in the last
/// place of the largest term.
Result<int> fold_affine(Graph& graph) {
  int folded = 0;
  for (NodeId id : graph.order_with_blocks()) {
    while (!graph[id].erased && graph[id].op->name == "conv") {
      const ValueId y = graph[id].out[0];
      const Tensor* w = graph.constant_in(graph[id], 1);
      const bool has_bias = graph[id].in.size() > 2 && graph[id].in[2].valid();
      const Tensor* b = has_bias ? graph.constant_in(graph[id], 2) : nullptr;
      const NodeId next = only_reader(graph, y);
      if (!is_f32(graph, y) || graph.attrs<ConvAttrs>(id).channels_last || !w || w->dtype() != DType::f32 ||
          w->count() == 0 || (has_bias && !b) || !next.valid() || graph[next].out.size() != 1)
        break;
      const int64_t n = w->shape()[0];
      auto affine = affine_of(graph, graph[next], y, n);
      if (!affine) break;
      NNEX_ASSIGN(Tensor filter, scaled_filter(*w, affine->scale));
      NNEX_ASSIGN(Tensor bias, Tensor::make(DType::f32, Shape{n}));
      for (int64_t i = 0; i < n; ++i) {
        const auto c = static_cast<size_t>(i);
        const double old = b ? real_at(*b, b->count() == 1 ? 0 : i) : 0;
        bias.mutable_as<float>()[c] = static_cast<float>(old * affine->scale[c] + affine->offset[c]);
      }
      graph.set_inputs(id,
                       {graph[id].in[0], graph.add_constant(std::move(filter)), graph.add_constant(std::move(bias))});
      const ValueId z = graph[next].out[0];
      graph.set_type(y, graph[z].type);
      graph.replace_uses(z, y);
      graph.erase(next);
      ++folded;
    }
  }
  return folded;
}

}  // namespace nnex
