// Fusion: products with what follows them, chains of element-wise nodes.

#include <algorithm>
#include <set>

#include "kernels/elementwise/chain.h"
#include "kernels/elementwise/pointwise.h"
#include "ops/traits.h"
#include "ops/window.h"
#include "passes/passes.h"
#include "passes/region.h"

namespace nnex::passes {
namespace {

std::vector<kernels::Operand> operands(const ir::Graph& graph, const Node& node) {
  std::vector<kernels::Operand> in;
  for (ValueId v : node.in) {
    kernels::Operand& o = in.emplace_back();
    if (!v.valid()) continue;
    o.dtype = graph[v].type.dtype, o.constant = graph[v].constant.tensor();
  }
  return in;
}

bool is_unary(const ir::Graph& graph, NodeId id) {
  const Node& node = graph[id];
  return node.op->elementwise && !node.in.empty() && !kernels::binary_of(*node.op, node.attrs.get()) &&
         node.out.size() == 1 && is_f32(graph, node.out[0]) && is_f32(graph, node.in[0]) &&
         kernels::unary_of(*node.op, node.attrs.get(), operands(graph, node));
}

bool is_binary(const ir::Graph& graph, NodeId id) {
  const Node& node = graph[id];
  return node.op->elementwise && kernels::binary_of(*node.op, node.attrs.get()) && is_f32(graph, node.out[0]) &&
         is_f32(graph, node.in[0]) && is_f32(graph, node.in[1]);
}

/// One number a column of y: a vector along y's last axis.
bool is_row(const ir::Graph& graph, ValueId v, ValueId y) {
  const MaybeDims &d = graph[v].type.dims, &to = graph[y].type.dims;
  if (!d || !to || d->empty() || to->empty() || d->size() > to->size() || !(d->back() == to->back())) return false;
  return std::all_of(d->begin(), d->end() - 1, [](const Dim& n) { return n == Dim(1); });
}

bool is_product(const ir::Graph& graph, const Node& node) {
  if (!nnex::is_product(*node.op) || !is_f32(graph, node.out[0])) return false;
  const Tensor* w = graph.constant_in(node, 1);
  if (!w) return false;
  return node.op->name == "conv" ? graph.attrs<ConvAttrs>(node).border == ConvBorder::constant : w->shape().rank() == 2;
}

/// product, + a row, + a residual, activation: as far as the graph goes on in this order.
std::vector<NodeId> product_region(const ir::Graph& graph, NodeId id) {
  std::vector<NodeId> region = {id};
  const Node& product = graph[id];
  const bool conv = product.op->name == "conv";
  const bool residual_fits = !conv || graph.attrs<ConvAttrs>(product).channels_last;
  bool bias = product.in.size() > 2 && product.in[2].valid(), residual = false;
  ValueId y = product.out[0];
  while (true) {
    const NodeId next = only_reader(graph, y);
    if (!next.valid()) return region;
    const Node& node = graph[next];
    if (node.op->name == "add" && is_binary(graph, next) && same_extents(graph, node.out[0], y)) {
      const ValueId other = node.in[0] == y ? node.in[1] : node.in[0];
      if (other == y) return region;
      if (!bias && !residual && !conv && is_row(graph, other, y))
        bias = true;
      else if (!residual && residual_fits && same_extents(graph, other, y))
        residual = true;
      else
        return region;
      region.push_back(next);
      y = node.out[0];
      continue;
    }
    if (is_unary(graph, next)) region.push_back(next);
    return region;
  }
}

/// Nodes with two operands of the chain: a chain keeps at most one value more than it has of them.
int joins(const ir::Graph& graph, const std::set<NodeId>& chain) {
  int n = 0;
  for (NodeId id : chain) {
    const Node& node = graph[id];
    n += kernels::binary_of(*node.op, node.attrs.get()) && chain.count(graph[node.in[0]].producer) &&
         chain.count(graph[node.in[1]].producer);
  }
  return n;
}

size_t outer_values(const ir::Graph& graph, const std::set<NodeId>& chain) {
  std::set<ValueId> outer;
  for (NodeId id : chain)
    for (ValueId v : graph[id].in)
      if (v.valid() && !chain.count(graph[v].producer)) outer.insert(v);
  return outer.size();
}

/// Grows a chain backwards from its last node: nodes that only the chain reads and whose results have the same extents.
std::set<NodeId> chain_region(const ir::Graph& graph, NodeId last) {
  std::set<NodeId> in_chain = {last};
  const auto fits = [&](ValueId v) {
    const NodeId producer = graph[v].producer;
    if (!producer.valid() || in_chain.count(producer) || !(graph[producer].parent == graph[last].parent)) return false;
    if (!is_unary(graph, producer) && !is_binary(graph, producer)) return false;
    if (!same_extents(graph, v, graph[last].out[0])) return false;
    return std::all_of(graph[v].uses.begin(), graph[v].uses.end(),
                       [&](const Use& u) { return u.node.valid() && in_chain.count(u.node); });
  };
  bool grew = true;
  while (grew) {
    grew = false;
    for (NodeId n : std::vector<NodeId>(in_chain.begin(), in_chain.end()))
      for (ValueId v : graph[n].in) {
        if (!v.valid() || !fits(v)) continue;
        std::set<NodeId> more = in_chain;
        more.insert(graph[v].producer);
        if (more.size() > kernels::Chain::kMaxSteps || outer_values(graph, more) > kernels::Chain::kMaxInputs ||
            joins(graph, more) >= kernels::Chain::kTiles)
          continue;
        in_chain = std::move(more);
        grew = true;
      }
  }
  return in_chain;
}

}  // namespace

/// conv | linear | matmul (constant filter)  +  row  +  residual  +  activation   ->   fused { ... }
/// Sums round as before; only the order of memory traffic changes.
Result<int> fuse_products(ir::Graph& graph) {
  int fused = 0;
  for (NodeId id : graph.order_with_blocks()) {
    if (graph[id].erased || !is_product(graph, graph[id])) continue;
    const std::vector<NodeId> region = product_region(graph, id);
    if (region.size() < 2) continue;
    make_region(graph, region);
    ++fused;
  }
  return fused;
}

/// Element-wise nodes that feed one another   ->   fused { ... }
Result<int> fuse_chains(ir::Graph& graph) {
  int fused = 0;
  const std::vector<NodeId> nodes = graph.order_with_blocks();
  std::unordered_map<uint32_t, size_t> position;
  for (size_t i = 0; i < nodes.size(); ++i) position[nodes[i].n] = i;
  std::set<NodeId> done;
  for (size_t i = nodes.size(); i-- > 0;) {
    const NodeId id = nodes[i];
    if (graph[id].erased || done.count(id) || (!is_unary(graph, id) && !is_binary(graph, id))) continue;
    const NodeId owner = graph[graph[id].parent].owner;
    if (owner.valid() && graph[owner].op->name == "fused") continue;
    const std::set<NodeId> chain = chain_region(graph, id);
    done.insert(chain.begin(), chain.end());
    if (chain.size() < 2) continue;
    std::vector<NodeId> region(chain.begin(), chain.end());
    std::sort(region.begin(), region.end(), [&](NodeId a, NodeId b) { return position[a.n] < position[b.n]; });
    make_region(graph, region);
    ++fused;
  }
  return fused;
}

}  // namespace nnex::passes
