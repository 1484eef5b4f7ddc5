#include "graph/infer.h"
#include "graph/work.h"
#include "ops/call.h"
#include "passes/passes.h"

namespace nnex {
namespace {

constexpr int64_t kBudget = int64_t{64} << 20;   ///< Bytes a folded result may have, unless its inputs have as many.
constexpr int64_t kGrowth = int64_t{256} << 20;  ///< Bytes that all results of one pass may have beyond their inputs.
constexpr double kSteps = 1 << 28;               ///< Of one node: below a second.

/// The node's outputs, when it is pure and everything it reads is constant. What they have beyond the inputs is taken
/// from `growth`.
Result<std::vector<Value>> folded(const Graph& graph, const Node& node, int64_t& growth) {
  std::vector<Value> held(node.in.size()), made(node.out.size());
  std::vector<const Value*> in;
  std::vector<Value*> out;
  int64_t input_bytes = 0, output_bytes = 0;
  for (size_t i = 0; i < node.in.size(); ++i) {
    in.push_back(node.in[i].valid() ? &held[i] : nullptr);
    if (!node.in[i].valid()) continue;
    const Tensor* t = graph[node.in[i]].constant.tensor();
    NNEX_ASSIGN(Tensor aligned, t->aligned_copy());
    input_bytes += aligned.bytes();
    held[i] = Value(std::move(aligned));
  }
  for (size_t o = 0; o < node.out.size(); ++o) {
    out.push_back(node.out[o].valid() ? &made[o] : nullptr);
    if (!node.out[o].valid()) continue;
    const Type& t = graph[node.out[o]].type;
    auto shape = concrete(t);
    auto bytes = shape ? bytes_for(t.dtype, shape->count()) : std::nullopt;
    if (!bytes || *bytes > std::max(kBudget, input_bytes)) return Error(Code::limit, "too large to fold");
    output_bytes += *bytes;
    if (output_bytes - input_bytes > growth) return Error(Code::limit, "too much to fold");
    NNEX_ASSIGN(Tensor ready, Tensor::make(t.dtype, *shape));
    made[o] = Value(std::move(ready));
  }
  Call call(*node.op, node.attrs.get(), in, out);
  NNEX_TRY(run_reference(call));
  growth -= std::max<int64_t>(output_bytes - input_bytes, 0);
  return made;
}

/// A cast of many constant bytes to int32: a filter that kernels want as it is.
bool widens_many(const Graph& graph, const Node& node) {
  constexpr int64_t kMany = 1024;
  const Tensor* t = node.op->name == "cast" ? graph[node.in[0]].constant.tensor() : nullptr;
  return t && t->dtype() == DType::i8 && t->count() >= kMany && graph[node.out[0]].type.dtype == DType::i32;
}

Result<int> fold(Graph& graph, bool keep_bytes) {
  int count = 0;
  int64_t growth = kGrowth;
  for (NodeId id : graph.order_with_blocks()) {
    const Node& node = graph[id];
    if (node.erased || !node.op->pure || !node.blocks.empty() || !node.op->reference || node.in.empty()) continue;
    if (keep_bytes && (node.op->name == "dequantize_linear" || widens_many(graph, node))) continue;
    bool constant = true;
    for (ValueId v : node.in) constant &= !v.valid() || graph[v].constant.tensor() != nullptr;
    if (!constant || steps_bound(node, [&](ValueId v) -> const Type& { return graph[v].type; }) > kSteps) continue;
    auto values = folded(graph, node, growth);
    if (!values.ok()) continue;
    for (size_t o = 0; o < graph[id].out.size(); ++o)
      if (ValueId v = graph[id].out[o]; v.valid()) graph.make_constant(v, std::move((*values)[o]));
    graph.erase(id);
    ++count;
  }
  return count;
}

}  // namespace

/// Computes nodes whose inputs are all constant, once, with the reference kernels; a node that fails stays and fails at
/// its run. Needs inferred types. Returns how many nodes went.
Result<int> fold_constants(Graph& graph) { return fold(graph, false); }

Result<int> fold_but_bytes(Graph& graph) { return fold(graph, true); }

}  // namespace nnex
