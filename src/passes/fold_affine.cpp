#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "graph/late.h"
#include "graph/queries.h"
#include "ops/norm.h"
#include "ops/window.h"
#include "passes/passes.h"
#include "tensor/convert.h"

namespace nnex::passes {
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

std::optional<ChannelAffine> batch_norm(const ir::Graph& graph, const Node& node, int64_t n) {
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
std::optional<ChannelAffine> affine_of(const ir::Graph& graph, const Node& node, ValueId y, int64_t n) {
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

bool is_finite(double v) { return std::isfinite(static_cast<float>(v)); }

/// Whether the numbers of a filter are finite when each is multiplied by the factor of its output.
bool stays_finite(const Tensor& w, const Reals& scale) {
  const size_t per_output = static_cast<size_t>(w.count()) / scale.size();
  const std::byte* at = w.data();
  for (double factor : scale) {
    const std::byte* const end = at + per_output * sizeof(float);
    if (std::abs(factor) <= 1) {
      at = end;
      continue;
    }
    uint32_t largest = 0;  // the bits of a magnitude
    for (; at != end; at += sizeof(float)) {
      uint32_t bits = 0;
      std::memcpy(&bits, at, sizeof bits);
      largest = std::max(largest, bits & 0x7FFFFFFF);
    }
    float magnitude = 0;
    std::memcpy(&magnitude, &largest, sizeof magnitude);
    if (!is_finite(factor * static_cast<double>(magnitude))) return false;
  }
  return true;
}

/// Smaller filters are made at once: their bytes cost less than what tells how they are made.
constexpr int64_t kMinLate = int64_t{16} << 10;

/// The filter of a convolution whose outputs are scaled. It is left to the plan where it is of the network itself.
Result<ValueId> scaled_filter(ir::Graph& graph, NodeId conv, const Tensor& w, Reals scale) {
  LateConstant scaled{w, std::move(scale)};
  const bool read_by_plan = graph[conv].parent == kMain && !graph[graph[conv].in[0]].is_constant();
  if (graph.takes_late && read_by_plan && w.bytes() >= kMinLate) return graph.add_late(std::move(scaled));
  Team alone;
  Tensor room;
  NNEX_ASSIGN(Tensor made, scaled.make(alone, room));
  return graph.add_constant(std::move(made));
}

/// The affine nodes that follow conv, one after the other, each the only reader of the one before; what they do
/// together is put into `all`.
std::vector<NodeId> affine_readers(const ir::Graph& graph, NodeId conv, int64_t n, ChannelAffine& all) {
  std::vector<NodeId> taken;
  for (ValueId y = graph[conv].out[0];; y = graph[taken.back()].out[0]) {
    const NodeId next = only_reader(graph, y);
    if (!next.valid() || graph[next].out.size() != 1) return taken;
    const auto one = affine_of(graph, graph[next], y, n);
    if (!one) return taken;
    for (size_t c = 0; c < all.scale.size(); ++c) {
      all.scale[c] *= one->scale[c];
      all.offset[c] = all.offset[c] * one->scale[c] + one->offset[c];
    }
    taken.push_back(next);
  }
}

/// 0 when the node is not a convolution that can take what follows it, else how many nodes it took.
Result<int> fold_into(ir::Graph& graph, NodeId id) {
  if (graph[id].erased || graph[id].op->name != "conv") return 0;
  const Node& conv = graph[id];
  const ValueId x = conv.in[0], filter = conv.in[1];
  const Tensor* w = graph.constant_in(conv, 1);
  const bool has_bias = conv.in.size() > 2 && conv.in[2].valid();
  const Tensor* b = has_bias ? graph.constant_in(conv, 2) : nullptr;
  if (!is_f32(graph, conv.out[0]) || graph.attrs<ConvAttrs>(id).channels_last || !w || w->dtype() != DType::f32 ||
      w->count() == 0 || (has_bias && !b))
    return 0;
  const int64_t n = w->shape()[0];
  ChannelAffine all{Reals(static_cast<size_t>(n), 1), Reals(static_cast<size_t>(n), 0)};
  if (b)
    for (int64_t c = 0; c < n; ++c) all.offset[static_cast<size_t>(c)] = real_at(*b, b->count() == 1 ? 0 : c);
  const std::vector<NodeId> taken = affine_readers(graph, id, n, all);
  if (taken.empty() || !std::all_of(all.offset.begin(), all.offset.end(), is_finite) || !stays_finite(*w, all.scale))
    return 0;
  NNEX_ASSIGN(Tensor bias, Tensor::make(DType::f32, Shape{n}));
  std::transform(all.offset.begin(), all.offset.end(), bias.mutable_as<float>().begin(),
                 [](double v) { return static_cast<float>(v); });
  ValueId scaled = filter;
  if (!std::all_of(all.scale.begin(), all.scale.end(), [](double v) { return v == 1; })) {
    NNEX_ASSIGN(scaled, scaled_filter(graph, id, *w, std::move(all.scale)));
  }
  graph.set_inputs(id, {x, scaled, graph.add_constant(std::move(bias))});
  const ValueId y = graph[id].out[0], z = graph[taken.back()].out[0];
  graph.set_type(y, graph[z].type);
  graph.set_name(y, graph[z].name);
  graph.replace_uses(z, y);
  std::for_each(taken.rbegin(), taken.rend(), [&](NodeId reader) { graph.erase(reader); });
  return static_cast<int>(taken.size());
}

}  // namespace

/// batch_normalization | mul | add | sub (constants, one number a channel) of conv(x, w, b)   ->   conv(x, w', b')
/// All that follow one another are composed in double, w' and b' are rounded once: results differ from the graph's own
/// by a few units in the last place of the largest term. Applies where w' and b' are finite: an infinite filter makes
/// NaN of zeros.
Result<int> fold_affine(ir::Graph& graph) {
  int folded = 0;
  for (NodeId id : graph.order_with_blocks()) {
    NNEX_ASSIGN(int taken, fold_into(graph, id));
    folded += taken;
  }
  return folded;
}

}  // namespace nnex::passes
