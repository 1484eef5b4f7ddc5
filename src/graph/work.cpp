#include "graph/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ops/control.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/pool.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

const Dims* dims_at(const std::vector<ValueId>& ids, size_t i, FunctionRef<const Type&(ValueId)> type_of) {
  if (i >= ids.size() || !ids[i].valid()) return nullptr;
  const MaybeDims& known = type_of(ids[i]).dims;
  return known ? &*known : nullptr;
}

/// Elements; 1 for what is unknown.
double elements(const Dims* dims) {
  double n = 1;
  for (size_t i = 0; dims && i < dims->size(); ++i) n *= static_cast<double>((*dims)[i].number().value_or(1));
  return n;
}

/// Extents of the inputs and of output 0 of one node; a rank that is unknown is no axes at all.
struct Extents {
  const ir::Graph& graph;
  const Node& node;
  FunctionRef<const Type&(ValueId)> type_of;

  const Dims& in(size_t i) const { return at(node.in, i); }
  const Dims& out() const { return at(node.out, 0); }

 private:
  const Dims& at(const std::vector<ValueId>& ids, size_t i) const {
    static const Dims none;
    const Dims* d = dims_at(ids, i, type_of);
    return d ? *d : none;
  }
};

/// The product of the extents from an axis on.
Dim product_from(const Dims& dims, size_t axis) {
  return axis < dims.size() ? product(Dims(dims.begin() + static_cast<ptrdiff_t>(axis), dims.end())) : Dim(1);
}

/// The product of all extents but that of one axis.
Dim product_without(const Dims& dims, size_t axis) {
  Dim n = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    if (i != axis) n = n * dims[i];
  return n;
}

/// Every element of y sums over a filter [out, in / groups, taps...].
Dim conv_work(const Extents& e) {
  const Dims &y = e.out(), &w = e.in(static_cast<size_t>(e.node.op->input("filter")));
  return y.empty() || w.empty() ? Dim(0) : product(y) * product_from(w, 1);
}

/// Every element of x goes into one sum for each element of its filter [in, out / groups, taps...].
Dim deconv_work(const Extents& e) {
  const Dims &x = e.in(0), &w = e.in(1);
  return x.empty() || w.empty() ? Dim(0) : product(x) * product_from(w, 1);
}

/// A filter for each channel, and one of a single tap between all of them, at every place of y (conv) or x (deconv).
Dim separable_work(const Extents& e) {
  const bool conv = e.node.op->attrs.type == kConvAttrs.type;
  const Dims &places = conv ? e.out() : e.in(0), &plane = e.in(1), &point = e.in(2);
  if (places.size() < 2 || plane.empty() || point.empty()) return 0;
  return product_without(places, 1) * product(plane) + product(places) * product_from(point, 1);
}

/// Every element of y sums over the last axis of x, or the one before where x is transposed.
Dim product_work(const Extents& e) {
  const Dims &x = e.in(0), &y = e.out();
  if (x.empty() || e.out().empty()) return 0;
  bool transposed = false;
  if (e.node.op->attrs.type == &detail::type_tag<MatmulAttrs>)
    transposed = e.graph.attrs<MatmulAttrs>(e.node).transpose_a;
  if (e.node.op->attrs.type == &detail::type_tag<LinearAttrs>)
    transposed = e.graph.attrs<LinearAttrs>(e.node).transpose_a;
  return product(y) * x[x.size() - (transposed && x.size() > 1 ? 2 : 1)];
}

/// x [steps, batch, in] by w [directions, gates, in], the state by r [directions, gates, hidden]; a cell without steps
/// and directions.
Dim recurrent_work(const Extents& e) {
  const Dims &x = e.in(0), &w = e.in(1), &r = e.in(2);
  if (x.empty() || w.empty() || r.empty()) return 0;
  return product_without(x, x.size() - 1) * (product(w) + product(r));
}

/// q by every key, and the weights of every key by its value. Axis 1 from the end of keys counts them.
Dim attention_work(const Extents& e) {
  const Dims &q = e.in(0), &k = e.in(1), &past = e.in(4), &y = e.out();
  if (q.empty() || k.size() < 3 || y.empty()) return 0;
  const Dim keys = k[k.size() - 2] + (past.size() == 4 ? past[2] : Dim(0));
  return (product(q) + product(y)) * keys;
}

/// One product for every combination of the indices; an index of 1 in one operand may be more in another.
Dim einsum_work(const Extents& e) {
  const std::string& equation = e.graph.attrs<EinsumAttrs>(e.node).equation;
  std::map<int, Dim> extent;  // by letter; axes of the ellipsis by their place before the end of it, below 0
  const auto meet = [&](int index, const Dim& d) {
    auto [it, fresh] = extent.emplace(index, d);
    if (!fresh && it->second == Dim(1)) it->second = d;
  };
  size_t operand = 0, axis = 0;
  for (size_t i = 0; i < std::min(equation.find("->"), equation.size()); ++i) {
    const Dims& d = e.in(operand);
    const std::string_view term = std::string_view(equation).substr(i, equation.find_first_of(",-", i) - i);
    if (equation[i] == ',') {
      ++operand, axis = 0;
    } else if (equation[i] == '.') {
      const auto letters = std::count_if(term.begin(), term.end(), [](char c) { return c != '.' && c != ' '; });
      const size_t end = d.size() - std::min(d.size(), static_cast<size_t>(letters));
      for (; axis < end; ++axis) meet(static_cast<int>(axis) - static_cast<int>(end), d[axis]);
      i += 2;
    } else if (equation[i] != ' ') {
      if (axis >= d.size()) return 0;
      meet(equation[i], d[axis++]);
    }
  }
  Dim n = operand > 0 ? 1 : 0;  // of one operand nothing is multiplied
  for (const auto& [index, d] : extent) n = n * d;
  return n;
}

/// How often a node runs its block.
Dim rounds(const ir::Graph& graph, NodeId id) {
  const Node& node = graph[id];
  const auto unknown = [&] { return Dim::symbol(fmt::format("steps({})", graph.place_of(id))); };
  if (node.op->name == "loop") {
    const Tensor* count = graph.constant_in(node, 0);
    return count && count->count() == 1 ? Dim(std::max<int64_t>(int_at(*count, 0), 0)) : unknown();
  }
  if (node.op->name == "scan") {
    const auto& a = graph.attrs<ScanAttrs>(node);
    const size_t first = node.in.size() - std::min(node.in.size(), static_cast<size_t>(a.inputs));
    const auto type_of = [&](ValueId v) -> const Type& { return graph[v].type; };
    const Dims& scanned = Extents{graph, node, type_of}.in(first);
    const int64_t axis = a.input_axes.empty() ? 0 : a.input_axes[0], rank = static_cast<int64_t>(scanned.size());
    return axis >= -rank && axis < rank ? scanned[static_cast<size_t>(axis < 0 ? axis + rank : axis)] : unknown();
  }
  return node.op->name == "sequence_map" ? unknown() : Dim(1);
}

// Blocks nest no deeper than readers allow.
Dim block_work(const ir::Graph& graph, BlockId block) {
  Dim sum = 0;
  for (NodeId id : graph.order(block)) {
    const Node& node = graph[id];
    sum = sum + multiply_adds(graph, node);
    Dim inner = 0;  // of branches the one with more, of other nodes the only one
    for (BlockId b : node.blocks) inner = max(inner, block_work(graph, b));
    if (!(inner == Dim(0))) sum = sum + rounds(graph, id) * inner;
  }
  return sum;
}

}  // namespace

Dim multiply_adds(const ir::Graph& graph, const Node& node) {
  return multiply_adds(graph, node, [&](ValueId v) -> const Type& { return graph[v].type; });
}

Dim multiply_adds(const ir::Graph& graph, const Node& node, FunctionRef<const Type&(ValueId)> type_of) {
  const Extents e = {graph, node, type_of};
  switch (node.op->work) {
    case Work::none:
      return 0;
    case Work::conv:
      return conv_work(e);
    case Work::deconv:
      return deconv_work(e);
    case Work::separable:
      return separable_work(e);
    case Work::product:
      return product_work(e);
    case Work::recurrent:
      return recurrent_work(e);
    case Work::attention:
      return attention_work(e);
    case Work::einsum:
      return einsum_work(e);
  }
  return 0;
}

Dim multiply_adds(const ir::Graph& graph) { return block_work(graph, kMain); }

double steps_bound(const Node& node, FunctionRef<const Type&(ValueId)> type_of) {
  const double y = elements(dims_at(node.out, 0, type_of));
  if (node.op->attrs.type == &detail::type_tag<PoolAttrs>) {
    double window = 1;
    for (int64_t size : static_cast<const PoolAttrs*>(node.attrs.get())->size) window *= static_cast<double>(size);
    return y * window;
  }
  switch (node.op->work) {
    case Work::einsum: {
      double all = 1;
      for (size_t i = 0; i < node.in.size(); ++i) all *= elements(dims_at(node.in, i, type_of));
      return all;
    }
    case Work::conv:
    case Work::deconv:
    case Work::separable:
    case Work::product:
      return y * elements(dims_at(node.in, 1, type_of));
    default:
      return 0;
  }
}

}  // namespace nnex
