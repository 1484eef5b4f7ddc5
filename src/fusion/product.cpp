#include <algorithm>

#include "fusion/functions.h"
#include "fusion/fusion.h"
#include "graph/queries.h"
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

}  // namespace

/// product(x, w, bias?) + row + residual, activation. A convolution has no row, and a residual where channels are last.
std::optional<Found> find_product(const ir::Graph& graph, NodeId id) {
  const Node& product = graph[id];
  const Tensor* w = is_product(*product.op) && is_f32(graph, product.out[0]) ? graph.constant_in(product, 1) : nullptr;
  if (!w) return std::nullopt;
  const bool is_conv = product.op->attrs.type == &detail::type_tag<ConvAttrs>;
  const ConvAttrs* conv = is_conv ? &graph.attrs<ConvAttrs>(product) : nullptr;
  if (conv ? conv->border != ConvBorder::constant : w->shape().rank() != 2) return std::nullopt;
  std::set<NodeId> nodes = {id};
  NodeId last = id;
  ValueId bias = product.in.size() > 2 ? product.in[2] : ValueId{}, residual;
  kernels::Unary activation;
  for (NodeId next = id; activation.kind == kernels::UnaryKind::identity;) {
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
      else if (!residual.valid() && (!conv || conv->channels_last) && same_extents(graph, other, y))
        residual = other;
      else
        break;
    }
    nodes.insert(next);
    last = next;
  }
  if (nodes.size() < 2) return std::nullopt;
  Region region(graph, last, nodes);
  kernels::FusedProduct form = {region.operation(product), {}};
  form.end.x = form.product.in[0], form.end.constant = form.product.in[1];
  form.end.bias = region.input(bias), form.end.residual = region.input(residual);
  form.end.activation = activation;
  return Found{std::move(region), {std::move(form)}};
}

}  // namespace nnex::fusion
