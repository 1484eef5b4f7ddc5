#include <algorithm>

#include "fusion/functions.h"
#include "fusion/fusion.h"
#include "graph/queries.h"
#include "kernels/product/codes.h"
#include "ops/matmul.h"
#include "ops/quantize.h"
#include "ops/traits.h"
#include "ops/window.h"

namespace nnex::fusion {
namespace {

/// One number a column of y: a vector along y's last axis.
bool is_row(const ir::Graph& graph, ValueId v, ValueId y) {
  const MaybeDims &d = graph[v].type.dims, &to = graph[y].type.dims;
  if (!d || !to || d->empty() || to->empty() || d->size() > to->size() || !(d->back() == to->back())) return false;
  return std::all_of(d->begin(), d->end() - 1, [](const Dim& n) { return n == Dim(1); });
}

/// Of several along the first axis.
Shape one_matrix(const Shape& all, bool several) { return several && all.rank() == 3 ? Shape{all[1], all[2]} : all; }

/// What the kernels of a product know of its right side.
struct RightSide {
  bool transposed = false;
  bool gathered = false;  ///< One of several matrices.
};

/// Nothing where kernels read no codes: that is no product, or its left side no matrix.
std::optional<RightSide> right_side(const ir::Graph& graph, const Node& product) {
  const auto* linear = attrs_if<LinearAttrs>(product);
  const auto* matmul = attrs_if<MatmulAttrs>(product);
  const auto* gathered = attrs_if<GatherMatmulAttrs>(product);
  const Type& x = graph[product.in[0]].type;
  if ((!linear && !matmul && !gathered) || !x.dims) return std::nullopt;
  const size_t rank = x.dims->size();
  if (rank == 0 || (rank != 2 && (linear || (matmul && matmul->transpose_a)))) return std::nullopt;
  return RightSide{linear   ? linear->transpose_b
                   : matmul ? matmul->transpose_b
                            : gathered->transpose_b,
                   gathered != nullptr};
}

}  // namespace

const Node* decoder_of(const ir::Graph& graph, const Node& product, ValueId decoded) {
  const auto right = right_side(graph, product);
  const Node* from = right ? graph.producer(decoded) : nullptr;
  const auto* linear_codes = from ? attrs_if<DequantizeAttrs>(*from) : nullptr;
  const auto* codebook = from ? attrs_if<CodebookAttrs>(*from) : nullptr;
  if (!linear_codes && !codebook) return nullptr;
  for (size_t i = 0; i < from->in.size(); ++i)
    if (from->in[i].valid() && !graph.constant_in(*from, i)) return nullptr;
  const Tensor &codes = *graph.constant_in(*from, 0), &scale = *graph.constant_in(*from, 1);
  const Tensor* zero = linear_codes && from->in.size() > 2 ? graph.constant_in(*from, 2) : nullptr;
  if (right->gathered) {
    const bool each = linear_codes && kernels::CodeShape::of_each(codes.dtype(), codes.shape(), scale.shape(),
                                                                  zero ? &zero->shape() : nullptr, linear_codes->axis,
                                                                  linear_codes->block_size, right->transposed);
    return each ? from : nullptr;
  }
  const auto shape =
      codebook ? kernels::CodeShape::of(codes.dtype(), codes.shape(), scale.shape(), nullptr, codebook->axis,
                                        codebook->block_size, right->transposed)
               : kernels::CodeShape::of(codes.dtype(), codes.shape(), scale.shape(), zero ? &zero->shape() : nullptr,
                                        linear_codes->axis, linear_codes->block_size, right->transposed);
  return shape ? from : nullptr;
}

namespace {

/// The decoder of a product, or the cast of constant halves that makes its right side, where a kernel reads what is
/// stored; else null.
const Node* codes_of(const ir::Graph& graph, const Node& product) {
  const auto right = right_side(graph, product);
  if (!right || !is_f32(graph, product.in[0]) || !is_f32(graph, product.out[0])) return nullptr;
  if (const Node* cast = made_by(graph, product.in[1], "cast")) {
    const Tensor* halves = graph.constant_in(*cast, 0);
    return halves && is_f32(graph, cast->out[0]) &&
                   kernels::CodeShape::of_halves(halves->dtype(), one_matrix(halves->shape(), right->gathered),
                                                 right->transposed)
               ? cast
               : nullptr;
  }
  const Node* from = decoder_of(graph, product, product.in[1]);
  return from && is_f32(graph, from->out[0]) ? from : nullptr;
}

/// The node that makes input 1 of the product, for it alone: a copy where others read it too.
NodeId own_right(ir::Graph& graph, NodeId product) {
  const ValueId v = graph[product].in[1];
  if (only_reader(graph, v) == product) return graph[v].producer;
  const Node& node = *graph.producer(v);
  const NodeId copy = graph.insert_node(product, *node.op, node.in, 1, node.attrs, {}, node.where);
  graph.set_type(graph[copy].out[0], graph[v].type);
  graph.set_input(product, 1, graph[copy].out[0]);
  return copy;
}

/// Whether the epilogue of linear has no room for a residual: what it adds itself is no row.
bool adds_no_row(const ir::Graph& graph, const Node& product) {
  const auto* linear = attrs_if<LinearAttrs>(product);
  return linear && product.in.size() > 2 && product.in[2].valid() &&
         (linear->beta != 1 || !is_row(graph, product.in[2], product.out[0]));
}

}  // namespace

bool only_for_products(const ir::Graph& graph, NodeId dequantize) {
  const std::vector<Use>& uses = graph[graph[dequantize].out[0]].uses;
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    return use.node.valid() && use.index == 1 && codes_of(graph, graph[use.node]) == &graph[dequantize];
  });
}

/// product(x, w, bias?) + row + residual, activation. A convolution has no row, and a residual where channels are last.
/// Of gather_matmul only its codes.
std::optional<Found> find_product(ir::Graph& graph, NodeId id) {
  const bool gathered = attrs_if<GatherMatmulAttrs>(graph[id]) != nullptr;
  if ((!is_product(*graph[id].op) && !gathered) || !is_f32(graph, graph[id].out[0])) return std::nullopt;
  const Tensor* w = graph.constant_in(graph[id], 1);
  const bool of_codes = !w && codes_of(graph, graph[id]);
  if (!w && !of_codes) return std::nullopt;
  std::set<NodeId> nodes = {id};
  if (of_codes) nodes.insert(own_right(graph, id));
  const Node& product = graph[id];
  const auto* conv = attrs_if<ConvAttrs>(product);
  if (w && (conv ? conv->border != ConvBorder::constant : w->shape().rank() != 2)) return std::nullopt;
  const bool no_residual = adds_no_row(graph, product);
  NodeId last = id;
  ValueId bias = !gathered && product.in.size() > 2 ? product.in[2] : ValueId{}, residual;
  kernels::Unary activation;
  for (NodeId next = id; !gathered && activation.kind == kernels::UnaryKind::identity;) {
    const ValueId y = graph[last].out[0];
    next = only_reader(graph, y);
    const auto f = next.valid() ? function_of(graph, next) : std::nullopt;
    if (!f) break;
    const Node& node = graph[next];
    if (f->b < 0) {
      activation = f->unary;
    } else {
      const ValueId other = node.in[0] == y ? node.in[1] : node.in[0];
      if (f->binary != kernels::BinaryKind::add || other == y || !same_extents(graph, node.out[0], y)) break;
      if (!bias.valid() && !residual.valid() && !conv && is_row(graph, other, y))
        bias = other;
      else if (!residual.valid() && !no_residual && (!conv || conv->channels_last) && same_extents(graph, other, y))
        residual = other;
      else
        break;
    }
    nodes.insert(next);
    last = next;
  }
  if (nodes.size() < 2) return std::nullopt;
  Region region(graph, last, nodes);
  kernels::FusedProduct form = {region.operation(product), {}, {}};
  form.end.x = form.product.in[0], form.end.constant = form.product.in[1];
  if (of_codes) {
    const Node& from = *graph.producer(product.in[1]);
    const std::vector<int> in = region.operation(from).in;
    form.w.codes = in[0];
    if (const auto* a = attrs_if<DequantizeAttrs>(from))
      form.w = {in[0], in[1], in.size() > 2 ? in[2] : -1, -1, a->axis, a->block_size};
    if (const auto* a = attrs_if<CodebookAttrs>(from)) form.w = {in[0], in[1], -1, in[2], a->axis, a->block_size};
  }
  form.end.bias = region.input(bias), form.end.residual = region.input(residual);
  form.end.activation = activation;
  return Found{std::move(region), {std::move(form)}};
}

}  // namespace nnex::fusion
