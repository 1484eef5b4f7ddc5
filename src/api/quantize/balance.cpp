#include "api/quantize/balance.h"

#include <algorithm>
#include <cmath>

#include "api/quantize/choose.h"
#include "base/failure.h"
#include "graph/queries.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/traits.h"

namespace nnex {
namespace {

constexpr int64_t kMaxPower = 20;

/// The whole number next to log2(a / b) / 2, by exponents alone: the same on every machine.
int64_t half_log2(float a, float b) {
  if (!(a > 0) || !(b > 0)) return 0;
  int exponent = 0;
  std::frexp(static_cast<double>(a) / static_cast<double>(b), &exponent);  // log2 + 1 is in [exponent, exponent + 1)
  const int64_t half = exponent >= 0 ? exponent / 2 : -((1 - exponent) / 2);
  return std::clamp(half, -kMaxPower, kMaxPower);
}

/// Which channel each element of a weight belongs to, of the outputs or of what is read.
template <class F>
void each_element(const Shape& w, const ProductShape& p, bool outputs, F f) {
  int64_t taps = 1;
  for (int64_t a = 2; a < w.rank(); ++a) taps *= w[a];
  const int64_t columns = w[1] * taps, a_group = p.outputs / p.groups;
  for (int64_t i = 0; i < w.count(); ++i) {
    const int64_t row = i / columns, column = i % columns / taps;
    const bool rows_are_outputs = p.weight_axis == 0;
    const int64_t output = rows_are_outputs ? row : column;
    const int64_t read = rows_are_outputs ? column + (w.rank() > 2 ? output / a_group * w[1] : 0) : row;
    f(i, outputs ? output : read);
  }
}

Result<std::vector<float>> reach_of(const Tensor& w, const ProductShape& p, bool outputs) {
  NNEX_ASSIGN(const Tensor aligned, w.aligned_copy());
  const auto x = aligned.as<float>();
  std::vector<float> out(static_cast<size_t>(outputs ? p.outputs : p.channels));
  each_element(w.shape(), p, outputs, [&](int64_t i, int64_t c) {
    float& r = out[static_cast<size_t>(c)];
    r = std::max(r, std::abs(x[static_cast<size_t>(i)]));
  });
  return out;
}

float scaled(float x, int64_t power) { return std::ldexp(x, static_cast<int>(power)); }

/// The weight with the elements of each channel times 2^(sign power).
Result<Tensor> scaled_weight(const Tensor& w, const ProductShape& p, bool outputs, const std::vector<int64_t>& powers,
                             int sign) {
  NNEX_ASSIGN(Tensor out, w.clone());
  const auto x = out.mutable_as<float>();
  each_element(w.shape(), p, outputs, [&](int64_t i, int64_t c) {
    x[static_cast<size_t>(i)] = scaled(x[static_cast<size_t>(i)], sign * powers[static_cast<size_t>(c)]);
  });
  return out;
}
Result<Tensor> divided_row(const Tensor& row, const std::vector<int64_t>& powers) {
  NNEX_ASSIGN(Tensor out, row.clone());
  const auto x = out.mutable_as<float>();
  for (size_t i = 0; i < x.size(); ++i) x[i] = scaled(x[i], -powers[i]);
  return out;
}

void put(ir::Graph& graph, NodeId id, size_t input, Tensor content) {
  const ValueId old = graph[id].in[input];
  // A constant that others read keeps its name.
  const ValueId v = graph.add_constant(std::move(content), graph.read_once(old) ? graph[old].name : "");
  graph.set_type(v, graph[old].type);
  graph.set_input(id, input, v);
}

/// Two products with nothing between them but what scales with its input.
struct Pair {
  NodeId first, row, second;  ///< `row`: adds the first's bias, where a node of its own does.
};

/// A limit at 0 alone, or a move of elements within their channels.
bool scales_with_input(const ir::Graph& graph, const Node& node) {
  if (node.op->in_bytes == ByteRole::limit) return node.in.size() == 1;
  return takes_greatest(*node.op) && node.out.size() == 1 && graph.attrs<PoolAttrs>(node).border == PoolBorder::ignore;
}

std::optional<Pair> pair_from(const ir::Graph& graph, NodeId id) {
  Pair out{id, {}, {}};
  ValueId v = graph[id].out[0];
  const auto shape = product_shape(graph, graph[id]);
  if (!shape || !is_f32(graph, v)) return std::nullopt;
  for (NodeId reader = only_reader(graph, v); reader.valid(); reader = only_reader(graph, v)) {
    const Node& node = graph[reader];
    if (node.op->in_bytes == ByteRole::product) {
      const auto read = product_shape(graph, node);
      if (node.in[0] != v || !read || read->channels != shape->outputs) return std::nullopt;
      // Filters take channels by axis 1, matrices the last axis: both must mean the same one.
      if ((read->channel_axis == 1) != (shape->channel_axis == 1)) return std::nullopt;
      out.second = reader;
      return out;
    }
    if (node.op->in_bytes == ByteRole::sum && v == graph[id].out[0] && !out.row.valid()) {
      const Tensor* row = graph.constant_in(node, node.in[0] == v ? 1 : 0);
      if (!row || row->dtype() != DType::f32 || row->count() != shape->outputs || shape->channel_axis == 1)
        return std::nullopt;
      out.row = reader;
    } else if (!scales_with_input(graph, node)) {
      return std::nullopt;
    }
    v = node.out[0];
  }
  return std::nullopt;
}

Result<bool> equalize_pair(ir::Graph& graph, const Pair& pair) {
  const ProductShape a = *product_shape(graph, graph[pair.first]), b = *product_shape(graph, graph[pair.second]);
  const Node& first = graph[pair.first];
  const Tensor* bias = graph.constant_in(first, 2);
  if (first.in.size() > 2 && first.in[2].valid() &&
      (!bias || bias->dtype() != DType::f32 || bias->count() != a.outputs))
    return false;
  const Tensor w = *graph[first.in[1]].constant.tensor(), v = *graph[graph[pair.second].in[1]].constant.tensor();
  NNEX_ASSIGN(const auto made, reach_of(w, a, true));
  NNEX_ASSIGN(const auto read, reach_of(v, b, false));
  std::vector<int64_t> powers;
  for (size_t c = 0; c < made.size(); ++c) powers.push_back(half_log2(made[c], read[c]));
  if (std::all_of(powers.begin(), powers.end(), [](int64_t p) { return p == 0; })) return false;
  NNEX_ASSIGN(Tensor less, scaled_weight(w, a, true, powers, -1));
  NNEX_ASSIGN(Tensor more, scaled_weight(v, b, false, powers, 1));
  if (bias) {
    NNEX_ASSIGN(Tensor row, divided_row(*bias, powers));
    put(graph, pair.first, 2, std::move(row));
  }
  if (pair.row.valid()) {
    const size_t at = graph[pair.row].in[0] == graph[pair.first].out[0] ? 1 : 0;
    NNEX_ASSIGN(Tensor row, divided_row(*graph.constant_in(graph[pair.row], at), powers));
    put(graph, pair.row, at, std::move(row));
  }
  put(graph, pair.first, 1, std::move(less));
  put(graph, pair.second, 1, std::move(more));
  return true;
}

}  // namespace

Result<int> equalize(ir::Graph& graph) {
  constexpr int kMaxRounds = 10;
  int changed = 0;
  // A product in the middle takes part in two pairs: what one moves the other meets again.
  for (int round = 0, now = 1; now > 0 && round < kMaxRounds; ++round, changed += now) {
    now = 0;
    for (NodeId id : graph.order()) {
      const auto pair = pair_from(graph, id);
      if (!pair) continue;
      NNEX_ASSIGN(const bool moved, equalize_pair(graph, *pair));
      now += moved ? 1 : 0;
    }
  }
  return changed;
}

std::vector<Smoothable> smoothable(const ir::Graph& graph) {
  std::vector<Smoothable> out;
  for (NodeId id : graph.order()) {
    const Node& node = graph[id];
    if (node.op->attrs.type != &detail::type_tag<LayerNormAttrs> || node.in.size() < 3) continue;
    const Tensor *scale = graph.constant_in(node, 1), *offset = graph.constant_in(node, 2);
    if (!scale || !offset || scale->dtype() != DType::f32 || scale->shape().rank() != 1 ||
        offset->count() != scale->count())
      continue;
    Smoothable s{node.out[0], id, {}};
    bool products = !graph[s.value].uses.empty();
    for (const Use& u : graph[s.value].uses) {
      const auto shape = u.node.valid() && u.index == 0 ? product_shape(graph, graph[u.node]) : std::nullopt;
      products = products && shape && shape->channel_axis == -1 && shape->channels == scale->count();
      if (products) s.products.push_back(u.node);
    }
    std::sort(s.products.begin(), s.products.end());
    if (products) out.push_back(std::move(s));
  }
  return out;
}

Result<std::vector<int64_t>> smoothing_powers(const ir::Graph& graph, const Smoothable& s,
                                              const std::vector<float>& reach) {
  std::vector<float> weights(reach.size());
  for (NodeId id : s.products) {
    NNEX_ASSIGN(const auto of_product,
                reach_of(*graph.constant_in(graph[id], 1), *product_shape(graph, graph[id]), false));
    for (size_t c = 0; c < weights.size(); ++c) weights[c] = std::max(weights[c], of_product[c]);
  }
  std::vector<int64_t> powers;
  for (size_t c = 0; c < reach.size(); ++c) powers.push_back(half_log2(reach[c], weights[c]));
  return powers;
}

Status smooth(ir::Graph& graph, const Smoothable& s, const std::vector<int64_t>& powers) {
  const Tensor scale = *graph.constant_in(graph[s.norm], 1), offset = *graph.constant_in(graph[s.norm], 2);
  if (static_cast<int64_t>(powers.size()) != scale.count())
    return failure(Code::invalid_argument, "the recipe smooths {} channels of '{}'; it has {}", powers.size(),
                   graph[s.value].name, scale.count());
  NNEX_ASSIGN(Tensor less, divided_row(scale, powers));
  NNEX_ASSIGN(Tensor lower, divided_row(offset, powers));
  put(graph, s.norm, 1, std::move(less));
  put(graph, s.norm, 2, std::move(lower));
  for (NodeId id : s.products) {
    NNEX_ASSIGN(Tensor more,
                scaled_weight(*graph.constant_in(graph[id], 1), *product_shape(graph, graph[id]), false, powers, 1));
    put(graph, id, 1, std::move(more));
  }
  return {};
}

}  // namespace nnex
