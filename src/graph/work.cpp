#include "graph/work.h"

#include "ops/pool.h"

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

}  // namespace

Dim multiply_adds(const Graph& graph, const Node& node) {
  const auto type_of = [&](ValueId v) -> const Type& { return graph[v].type; };
  const Dims *y = dims_at(node.out, 0, type_of), *x = dims_at(node.in, 0, type_of), *w = dims_at(node.in, 1, type_of);
  if (!y || !x || !w || x->empty() || w->empty()) return 0;
  const std::string_view op = node.op->name;
  if (op == "conv" || op == "conv_integer") return product(*y) * product(Dims(w->begin() + 1, w->end()));
  if (op == "deconv") return product(*x) * product(Dims(w->begin() + 1, w->end()));
  if (op == "matmul" || op == "linear" || op == "matmul_integer") return product(*y) * x->back();
  return 0;
}

double steps_bound(const Node& node, FunctionRef<const Type&(ValueId)> type_of) {
  const double y = elements(dims_at(node.out, 0, type_of));
  if (node.op->attrs.type == &detail::type_tag<PoolAttrs>) {
    double window = 1;
    for (int64_t size : static_cast<const PoolAttrs*>(node.attrs.get())->size) window *= static_cast<double>(size);
    return y * window;
  }
  const std::string_view op = node.op->name;
  if (op == "einsum") {
    double all = 1;
    for (size_t i = 0; i < node.in.size(); ++i) all *= elements(dims_at(node.in, i, type_of));
    return all;
  }
  if (op.find("conv") != std::string_view::npos || op.find("matmul") != std::string_view::npos || op == "linear")
    return y * elements(dims_at(node.in, 1, type_of));
  return 0;
}

}  // namespace nnex
