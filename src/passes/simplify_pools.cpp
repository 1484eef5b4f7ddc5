#include <algorithm>

#include "graph/queries.h"
#include "ops/built.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "passes/simplify.h"

namespace nnex::passes::simplification {
namespace {

/// Elements of a window that is a whole plane of x and nothing beyond it; 0 where it is none.
int64_t plane(const PoolAttrs& a, const Dims& x) {
  const bool padded =
      std::any_of(a.padding.begin(), a.padding.end(), [](const auto& p) { return p.first || p.second; });
  const bool dilated = std::any_of(a.dilation.begin(), a.dilation.end(), [](int64_t d) { return d != 1; });
  if (padded || dilated || a.auto_pad != AutoPad::off || a.channels_last || x.size() < 3 || a.size.size() != x.size())
    return 0;
  int64_t count = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    if (i < 2 ? a.size[i] != 1 || (i < a.stride.size() && a.stride[i] != 1) : !(x[i] == Dim(a.size[i]))) return 0;
    count *= a.size[i];
  }
  return count;
}

}  // namespace

/// box(x, size = [1, 1, all...])   ->   mean_reduce(x, [2, ...]), lp_pool of power 2   ->   reduce_l2, where windows
/// are large: pools add one by one, whose roundings grow with the window, reductions in many parts.
bool pool(ir::Graph& graph, NodeId id) {
  constexpr int64_t kLarge = 1024;
  const Node& node = graph[id];
  const bool box = node.op->name == "box";
  if ((!box && node.op->name != "lp_pool") || !is_f32(graph, node.in[0])) return false;
  const auto& a = graph.attrs<PoolAttrs>(node);
  const Dims& x = *graph[node.in[0]].type.dims;
  if (plane(a, x) < kLarge || made_by(graph, node.in[0], "dequantize_linear")) return false;
  if (!box && (a.p != 2 || a.divisor != Divisor::one)) return false;
  const std::string_view row = !box ? "reduce_l2" : a.divisor == Divisor::one ? "sum_reduce" : "mean_reduce";
  if (!is_built(row)) return false;
  Builder b(graph, id);
  Ints axes;
  for (size_t i = 2; i < x.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  return become(graph, id, b(row, {node.in[0], b.ints(axes)}, ReduceAttrs{}));
}

}  // namespace nnex::passes::simplification
