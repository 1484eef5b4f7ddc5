// Networks of float16 and bfloat16: what is computed in float32 anyway stays float32 from one node to the next.

#include <algorithm>
#include <map>
#include <unordered_map>

#include "fusion/fusion.h"
#include "graph/infer.h"
#include "graph/queries.h"
#include "kernels/kernel.h"
#include "ops/matmul.h"
#include "ops/quantize.h"
#include "passes/casts.h"
#include "passes/passes.h"
#include "tensor/convert.h"

namespace nnex::passes {
namespace {

class Widener {
 public:
  explicit Widener(ir::Graph& graph) : graph_(graph) {}

  Result<int> run() {
    for (NodeId id : graph_.order_with_blocks()) find(id);
    join();
    int count = 0;
    for (NodeId id : graph_.order_with_blocks()) {
      NNEX_ASSIGN(const int widened, widen_cast(id));
      count += widened;
    }
    for (const auto& [id, part] : part_of_) {
      if (!pays(part)) continue;
      NNEX_TRY(widen(NodeId{id}));
      ++count;
    }
    for (const auto& [id, part] : part_of_)
      if (pays(part)) narrow_results(NodeId{id});
    return count;
  }

 private:
  /// Nodes that share values which would stay float32.
  struct Part {
    int computing = 0;  ///< Nodes that round what they compute.
    int large = 0;      ///< Of these, not element by element.
    int coded = 0;      ///< Of these, products of codes, which only kernels of float32 read.
  };

  bool is_half(ValueId v) const {
    return v.valid() && graph_[v].type.is_tensor() && passes::is_half(graph_[v].type.dtype);
  }
  bool is_wide(ValueId v) const {
    const NodeId producer = graph_[v].producer;
    return is_half(v) && producer.valid() && part_of_.count(producer.n) > 0;
  }

  /// Whether the row's own rule makes float32 of float32 here.
  bool infers_wide(NodeId id) const {
    const Node& node = graph_[id];
    Inference inference(graph_, Inference::Few::nodes);
    for (ValueId v : node.in) {
      if (!v.valid()) continue;
      Type t = graph_[v].type;
      if (is_half(v)) t.dtype = DType::f32;
      inference.bind(v, std::move(t));
    }
    if (!inference.node(id).ok()) return false;
    return std::all_of(node.out.begin(), node.out.end(), [&](ValueId v) {
      return !is_half(v) || (inference.type(v).is_tensor() && inference.type(v).dtype == DType::f32);
    });
  }

  void find(NodeId id) {
    const Node& node = graph_[id];
    if (!node.blocks.empty() || node.custom || !node.op->pure || node.op->name == "cast") return;
    DType half = DType::none;
    size_t given = 0, wide = 0, results = 0;
    for (const auto* ports : {&node.in, &node.out})
      for (ValueId v : *ports) {
        if (!v.valid()) continue;
        if (!graph_[v].type.is_tensor()) return;
        if (!is_half(v)) continue;
        if (half != DType::none && graph_[v].type.dtype != half) return;
        half = graph_[v].type.dtype;
        results += ports == &node.out;
        given += ports == &node.in && !graph_[v].is_constant();
        wide += ports == &node.in && is_wide(v);
      }
    const bool moves = node.op->elements != Elements::computed || node.op->view;
    if (results == 0 || given == 0 || (moves && wide < given)) return;
    if ((!moves && kernels::kernels_of(node.op->name).empty()) || !infers_wide(id)) return;
    part_of_[id.n] = id.n;
    Part& part = parts_[id.n];
    part.computing = !moves;
    part.large = !moves && !node.op->elementwise;
    part.coded = decoder(node) != nullptr;
  }

  uint32_t root(uint32_t id) const {
    while (part_of_.at(id) != id) id = part_of_.at(id);
    return id;
  }
  void join() {
    for (const auto& [id, part] : part_of_)
      for (ValueId v : graph_[NodeId{id}].in) {
        if (!v.valid() || !is_wide(v)) continue;
        const uint32_t a = root(id), b = root(graph_[v].producer.n);
        if (a == b) continue;
        parts_[a].computing += parts_[b].computing, parts_[a].large += parts_[b].large;
        parts_[a].coded += parts_[b].coded;
        part_of_[b] = a;
      }
    for (auto& [id, part] : part_of_) part = root(id);
  }
  /// Element-wise nodes alone go faster block by block, which reads and writes half the bytes.
  bool pays(uint32_t part) const {
    const Part& p = parts_.at(part);
    return (p.computing >= 2 && p.large >= 1) || p.coded >= 1;
  }
  bool stays_wide(ValueId v) const { return is_wide(v) && pays(part_of_.at(graph_[v].producer.n)); }

  // ---- The graph

  /// Right behind what makes v; of constants, at the beginning. `where`: the place of the node it is for.
  ValueId cast(ValueId v, DType to, Where where) {
    const NodeId producer = graph_[v].producer;
    const BlockId of_param = graph_[v].is_constant() ? kMain : graph_[v].param_of;
    const BlockId block = producer.valid() ? graph_[producer].parent : of_param;
    const NodeId before = producer.valid() ? graph_[producer].next : graph_[block].first;
    return cast_to(before.valid() ? Builder(graph_, before, where) : Builder(graph_, block, where), v, to);
  }

  /// Whether a kernel reads the halves of this input: many weights of a product that is no convolution.
  bool stays_narrow(const Node& node, size_t input) const {
    constexpr int64_t kMany = 64 * 1024;
    const Tensor* t = graph_.constant_in(node, input);
    return input == 1 && t && t->count() > kMany &&
           (attrs_if<MatmulAttrs>(node) || attrs_if<LinearAttrs>(node) || attrs_if<GatherMatmulAttrs>(node));
  }

  const Node* decoder(const Node& node) const {
    return node.in.size() > 1 ? fusion::decoder_of(graph_, node, node.in[1]) : nullptr;
  }

  /// A product of float32 whose right side is decoded to halves and cast.
  Result<int> widen_cast(NodeId id) {
    const Node& node = graph_[id];
    const Node* const cast = node.in.size() > 1 ? graph_.producer(node.in[1]) : nullptr;
    if (!cast || cast->op->name != "cast" || graph_[node.in[1]].type.dtype != DType::f32 || !is_half(cast->in[0]))
      return 0;
    const Node* const from = fusion::decoder_of(graph_, node, cast->in[0]);
    if (!from) return 0;
    NNEX_ASSIGN(const ValueId wide, wide_decoder(*from));
    graph_.set_input(id, 1, wide);
    return 1;
  }

  /// What makes a product's right side of codes makes it of float32, with scales that are. What is read of it is not
  /// rounded to halves then.
  Result<ValueId> wide_decoder(const Node& decoder) {
    const auto [at, fresh] = widened_.try_emplace(decoder.out[0].n);
    if (!fresh) return at->second;
    std::vector<ValueId> in = decoder.in;
    for (ValueId& v : in) {
      if (!is_half(v)) continue;
      NNEX_ASSIGN(Tensor wide, convert(*graph_[v].constant.tensor(), DType::f32));
      v = graph_.add_constant(std::move(wide), graph_[v].name);
    }
    Type type = graph_[decoder.out[0]].type;
    type.dtype = DType::f32;
    const NodeId copy = graph_.insert_node(graph_[decoder.out[0]].producer, *decoder.op, std::move(in), 1,
                                           decoder.attrs, {}, decoder.where);
    if (const auto* a = attrs_if<DequantizeAttrs>(decoder); a && a->result) {
      DequantizeAttrs attrs = *a;
      attrs.result = DType::f32;
      graph_.set_attrs(copy, attrs);
    }
    graph_.set_type(graph_[copy].out[0], std::move(type));
    return at->second = graph_[copy].out[0];
  }

  Result<ValueId> widened(const Node& node, size_t input) {
    const ValueId v = node.in[input];
    if (const Node* from = input == 1 ? decoder(node) : nullptr) return wide_decoder(*from);
    const bool narrow = stays_narrow(node, input);
    const auto [at, fresh] = (narrow ? cast_weights_ : widened_).try_emplace(v.n);
    if (!fresh) return at->second;
    if (const Tensor* t = graph_[v].constant.tensor(); t && !narrow) {
      NNEX_ASSIGN(Tensor wide, convert(*t, DType::f32));
      return at->second = graph_.add_constant(std::move(wide), graph_[v].name);
    }
    return at->second = cast(v, DType::f32, node.where);
  }

  Status widen(NodeId id) {
    for (size_t i = 0; i < graph_[id].in.size(); ++i) {
      const ValueId v = graph_[id].in[i];
      if (!is_half(v) || stays_wide(v)) continue;
      NNEX_ASSIGN(const ValueId wide, widened(graph_[id], i));
      graph_.set_input(id, i, wide);
    }
    return {};
  }

  /// Results become float32; whoever else reads one reads it rounded.
  void narrow_results(NodeId id) {
    for (ValueId v : std::vector<ValueId>(graph_[id].out)) {
      if (!is_half(v)) continue;
      const DType half = graph_[v].type.dtype;
      Type wide = graph_[v].type;
      wide.dtype = DType::f32;
      graph_.set_type(v, std::move(wide));
      ValueId narrow;
      for (const Use& use : std::vector<Use>(graph_[v].uses)) {
        const auto part = use.node.valid() ? part_of_.find(use.node.n) : part_of_.end();
        if (part != part_of_.end() && pays(part->second)) continue;
        if (!narrow.valid()) {
          narrow = cast(v, half, graph_[id].where);
          graph_.set_name(narrow, graph_[v].name);  // the author's value is the rounded one
          graph_.set_name(v, {});
        }
        if (use.node.valid()) {
          graph_.set_input(use.node, use.index, narrow);
        } else {
          std::vector<ValueId> results = graph_[use.block].results;
          results[use.index] = narrow;
          graph_.set_results(use.block, std::move(results));
        }
      }
    }
  }

  ir::Graph& graph_;
  std::map<uint32_t, uint32_t> part_of_;  ///< Of nodes that could compute in float32, by their ids.
  std::unordered_map<uint32_t, Part> parts_;
  std::unordered_map<uint32_t, ValueId> widened_, cast_weights_;
};

/// quantize_linear(x: f16, s: f16[], z)   ->   quantize_linear(div(x, s), 1, z, precision = 'f32')
/// The quotient is of halves, and rounded as such: kernels divide, and quantise without dividing.
Result<int> divide_first(ir::Graph& graph, NodeId id) {
  const auto* a = attrs_if<QuantizeAttrs>(graph[id]);
  if (!a || a->precision) return 0;
  const ValueId x = graph[id].in[0], scale = graph[id].in[1];
  const Type &of_x = graph[x].type, &of_scale = graph[scale].type;
  const bool is_one =
      of_scale.dims && of_x.dims && of_scale.dims->size() <= of_x.dims->size() &&
      std::all_of(of_scale.dims->begin(), of_scale.dims->end(), [](const Dim& d) { return d == Dim(1); });
  if (!is_half(of_x.dtype) || of_scale.dtype != of_x.dtype || !is_one) return 0;
  const Shape shape(std::vector<int64_t>(of_scale.dims->size(), 1));
  NNEX_ASSIGN(Tensor one, convert(Tensor::of(shape, std::vector<float>{1}), of_x.dtype));
  QuantizeAttrs attrs = *a;
  attrs.precision = DType::f32;
  const ValueId quotient = Builder(graph, id)("div", {x, scale});
  graph.set_type(quotient, of_x);
  graph.set_input(id, 0, quotient);
  graph.set_input(id, 1, graph.add_constant(std::move(one)));
  graph.set_attrs(id, attrs);
  return 1;
}

}  // namespace

/// conv(x: f16, w: f16) -> y: f16; relu(y) -> z: f16   ->   cast(x) -> x: f32; conv(x, w: f32) -> y: f32; relu(y) ->
///     z: f32; cast(z) -> f16
/// matmul(x: f16, dequantize_linear(codes, s: f16)) -> matmul(cast(x), dequantize_linear(codes, s: f32)), cast back
/// The roundings between nodes are saved, as all later passes save some; what nodes that only move elements get from
/// outside, and what anybody else reads, stays as it is. Needs inferred types.
Result<int> widen_halves(ir::Graph& graph) {
  NNEX_ASSIGN(int count, Widener(graph).run());
  for (NodeId id : graph.order_with_blocks()) {
    NNEX_ASSIGN(const int divided, divide_first(graph, id));
    count += divided;
  }
  return count;
}

}  // namespace nnex::passes
