#include <algorithm>
#include <unordered_set>

#include "base/faults.h"
#include "base/loading.h"
#include "fusion/fusion.h"
#include "graph/custom.h"
#include "graph/infer.h"
#include "graph/work.h"
#include "kernels/kernel.h"
#include "kernels/simd/loops.h"
#include "ops/call.h"
#include "passes/casts.h"
#include "passes/passes.h"
#include "tensor/memory_account.h"
#include "tensor/text_bytes.h"

namespace nnex::passes {
namespace {

constexpr int64_t kBudget = int64_t{64} << 20;   ///< Bytes a folded result may have, unless its inputs have as many.
constexpr int64_t kGrowth = int64_t{256} << 20;  ///< Bytes that the results of one pass may have beyond what goes.
constexpr double kSteps = 1 << 28;               ///< Of one node by its reference: below a second.
constexpr double kKernelSteps = 1LL << 33;       ///< Of all nodes of one pass by kernels: a second.
constexpr int64_t kSmall = 4 << 10;              ///< Bytes that nobody minds in a file.

/// Bytes of what the node reads, each value once: all of them, and those that nobody else reads.
struct InputBytes {
  int64_t all = 0, own = 0;
};
InputBytes input_bytes(const ir::Graph& graph, NodeId id) {
  InputBytes sum;
  const std::vector<ValueId>& in = graph[id].in;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in[i].valid() ||
        std::find(in.begin(), in.begin() + static_cast<ptrdiff_t>(i), in[i]) != in.begin() + static_cast<ptrdiff_t>(i))
      continue;
    const ValueDef& value = graph[in[i]];
    const int64_t bytes = value.constant.tensor()->bytes() + text_bytes(*value.constant.tensor());
    sum.all += bytes;
    if (std::all_of(value.uses.begin(), value.uses.end(), [&](const Use& use) { return use.node == id; }))
      sum.own += bytes;
  }
  return sum;
}

/// The most bytes of an output; nothing where they are not known.
std::optional<int64_t> most_bytes(const ir::Graph& graph, const Node& node, const Type& type) {
  const auto shape = concrete(type);
  const auto bytes = shape ? bytes_for(type.dtype, shape->count()) : std::nullopt;
  if (!bytes || type.dtype != DType::str) return bytes;
  std::vector<const Tensor*> inputs;
  for (ValueId v : node.in) inputs.push_back(v.valid() ? graph[v].constant.tensor() : nullptr);
  int64_t texts = 0, all = 0;
  if (__builtin_mul_overflow(shape->count(), longest_text(inputs), &texts) ||
      __builtin_add_overflow(*bytes, texts, &all))
    return std::nullopt;
  return all;
}

/// Runs a node by the kernel that a run would take, with numbers that are the same on every machine. `in` and `out`:
/// what the call has. Error: unsupported where there is no kernel.
Status run_kernel(const Node& node, std::span<const Value> in, std::span<const Value> out, Call& call) {
  const auto operands = [](std::span<const Value> values, bool known) {
    std::vector<kernels::Operand> made;
    for (const Value& value : values) {
      kernels::Operand& o = made.emplace_back();
      if (!value.tensor()) continue;
      o.dtype = value.tensor()->dtype(), o.shape = value.tensor()->shape(), o.id = static_cast<uint32_t>(made.size());
      if (known) o.constant = o.content = value.tensor();
    }
    return made;
  };
  namespace simd = kernels::simd;
  const std::vector<kernels::Operand> read = operands(in, true), written = operands(out, false);
  kernels::Packs packs;
  Team alone;
  NNEX_ASSIGN(const kernels::Chosen chosen,
              kernels::choose_kernel({*node.op, node.attrs.get(), read, written,
                                      simd::loops(simd::best_isa(), simd::Numbers::exact), packs, alone}));
  if (!chosen.kernel) return Error(Code::unsupported, "no kernel");
  SharedBlocks blocks;
  const BlockScope scope(blocks);
  NNEX_ASSIGN(Tensor workspace, Tensor::make(DType::u8, Shape{chosen.kernel->workspace()}));
  call.team = &alone, call.workspace = workspace.mutable_data();
  return chosen.kernel->run(call);
}

/// The node's outputs, when it is pure and everything it reads is constant: of at most `budget` bytes, or as many as
/// the inputs have. What they have beyond inputs that nobody else reads is taken from `growth`. `by_kernel`: not by the
/// reference, which would take long.
Result<std::vector<Value>> folded(const ir::Graph& graph, NodeId id, int64_t budget, int64_t& growth, bool by_kernel) {
  const Node& node = graph[id];
  std::vector<Value> held(node.in.size()), made(node.out.size());
  std::vector<const Value*> in;
  std::vector<Value*> out;
  const InputBytes inputs = input_bytes(graph, id);
  int64_t output_bytes = 0;
  for (size_t o = 0; o < node.out.size(); ++o) {
    out.push_back(node.out[o].valid() ? &made[o] : nullptr);
    if (!node.out[o].valid()) continue;
    const Type& t = graph[node.out[o]].type;
    const auto bytes = most_bytes(graph, node, t);
    if (!bytes || *bytes > std::max(budget, inputs.all)) return Error(Code::limit, "too large to fold");
    output_bytes += *bytes;
    if (output_bytes - inputs.own > growth) return Error(Code::limit, "too much to fold");
    NNEX_ASSIGN(Tensor ready, Tensor::make(t.dtype, *concrete(t)));
    made[o] = Value(std::move(ready));
  }
  for (size_t i = 0; i < node.in.size(); ++i) {  // last: copies of what is not aligned may be large
    in.push_back(node.in[i].valid() ? &held[i] : nullptr);
    if (!node.in[i].valid()) continue;
    NNEX_ASSIGN(Tensor aligned, graph[node.in[i]].constant.tensor()->aligned_copy());
    held[i] = Value(std::move(aligned));
  }
  Call call(*node.op, node.attrs.get(), in, out);
  if (is_pure_custom(node)) {
    std::vector<Type> types;
    for (ValueId v : node.out) types.push_back(v.valid() ? graph[v].type : Type{});
    NNEX_TRY(run_custom(*node.custom, call, types));
  } else if (by_kernel) {
    const auto stop = [] { return !Loading::check().ok(); };
    const Interrupt interrupt(stop);
    NNEX_TRY(run_kernel(node, held, made, call));
    NNEX_TRY(call.interrupted());
  } else {
    NNEX_TRY(run_reference(call));
  }
  growth -= output_bytes - inputs.own;
  return made;
}

/// A cast of many constant bytes to int32: a filter that kernels want as it is.
bool widens_many(const ir::Graph& graph, const Node& node) {
  constexpr int64_t kMany = 1024;
  const Tensor* t = node.op->name == "cast" ? graph[node.in[0]].constant.tensor() : nullptr;
  return t && t->dtype() == DType::i8 && t->count() >= kMany && graph[node.out[0]].type.dtype == DType::i32;
}

/// A cast of constant halves to float32.
bool widens_halves(const ir::Graph& graph, const Node& node) {
  const Tensor* t = node.op->name == "cast" ? graph[node.in[0]].constant.tensor() : nullptr;
  return t && is_half(t->dtype()) && graph[node.out[0]].type.dtype == DType::f32;
}

bool is_decoder(const Node& node) {
  return node.op->name == "dequantize_linear" || node.op->name == "dequantize_codebook";
}

/// The steps of a node that takes its reference long.
double kernel_steps(const ir::Graph& graph, const Node& node, double bound) {
  const auto exact = multiply_adds(graph, node).number();
  return exact && *exact > 0 ? static_cast<double>(*exact) : bound;
}

enum class Codes : uint8_t { fold, keep, keep_codes, keep_of_products, keep_stored, keep_halves };

/// What is nothing but a constant under other extents, and nobody else reads that, takes its name.
void hand_on_name(ir::Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (!node.op->view || node.out.size() != 1 || !node.out[0].valid() || !graph.read_once(node.in[0]) ||
      !graph[node.out[0]].name.empty())
    return;
  const std::string name = graph[node.in[0]].name;
  graph.set_name(node.in[0], {});
  graph.set_name(node.out[0], name);
}

Result<int> fold(ir::Graph& graph, Codes codes, uint32_t first = 0) {
  int count = 0;
  const int64_t most = std::min(kGrowth, graph.fold_limit);
  int64_t growth = most;
  double steps_left = kKernelSteps;
  std::unordered_set<uint32_t> own;  // what this pass made
  for (NodeId id : graph.order_with_blocks()) {
    const Node& node = graph[id];
    const bool runs = is_pure_custom(node) || (node.op->pure && node.op->reference);
    if (id.n < first || node.erased || !runs || !node.blocks.empty() || node.in.empty()) continue;
    const bool decodes = is_decoder(node);
    if (codes == Codes::keep_codes && decodes) continue;
    if (codes == Codes::keep && (decodes || widens_many(graph, node))) continue;
    const bool halves = widens_halves(graph, node);
    if (codes == Codes::keep_stored && (decodes || halves)) continue;
    const bool kept_halves = codes == Codes::keep || codes == Codes::keep_of_products || codes == Codes::keep_halves;
    const bool kept = halves ? kept_halves : decodes && codes == Codes::keep_of_products;
    if (kept && fusion::only_for_products(graph, id)) continue;
    bool constant = true;
    for (ValueId v : node.in) constant &= !v.valid() || (graph[v].constant.tensor() && !graph.late(v));
    if (!constant) continue;
    const double bound = steps_bound(node, [&](ValueId v) -> const Type& { return graph[v].type; });
    const bool by_kernel = bound > kSteps;
    const double steps = by_kernel ? kernel_steps(graph, node, bound) : 0;
    if (steps > steps_left) continue;
    NNEX_TRY(Loading::check());
    auto values = folded(graph, id, codes == Codes::keep_stored ? kSmall : kBudget, growth, by_kernel);
    if (!values.ok()) continue;
    steps_left -= steps;
    hand_on_name(graph, id);
    for (size_t o = 0; o < graph[id].out.size(); ++o) {
      const ValueId v = graph[id].out[o];
      if (!v.valid()) continue;
      graph.make_constant(v, std::move((*values)[o]));
      own.insert(v.n);
    }
    const std::vector<ValueId> read = graph[id].in;
    graph.erase(id);
    for (ValueId v : read)  // steps of a chain do not stay
      if (v.valid() && graph[v].uses.empty() && own.contains(v.n)) graph.make_constant(v, Value(Tensor()));
    growth = std::min(growth, most);
    ++count;
  }
  if (graph.fold_limit != ir::Graph::kFoldsAny) graph.fold_limit -= most - growth;
  return count;
}

}  // namespace

/// Computes nodes whose inputs are all constant, once, with the reference kernels, large products and windows with fast
/// ones; a node that fails stays and fails at its run. Needs inferred types. Returns how many nodes went.
Result<int> fold_constants(ir::Graph& graph) { return fold(graph, Codes::fold); }

Result<int> fold_but_bytes(ir::Graph& graph) { return fold(graph, Codes::keep); }

Result<int> fold_but_stored_codes(ir::Graph& graph) { return fold(graph, Codes::keep_codes); }

Result<int> fold_but_codes(ir::Graph& graph) { return fold(graph, Codes::keep_of_products); }

Result<int> fold_but_halves(ir::Graph& graph) { return fold(graph, Codes::keep_halves); }

Result<int> fold_for_files(ir::Graph& graph) { return fold(graph, Codes::keep_stored); }

Result<int> fold_from(ir::Graph& graph, uint32_t first) { return fold(graph, Codes::fold, first); }

/// Small integers that inference knows become constants, though what they are computed from is not: extents, above all.
///     s = shape(x)  # x: f32[1,3,N]          ->   n = i64[2](1, 3)
///     n = slice(s, begin = [0], end = [2])
/// Returns how many values became constants. What they alone read is left to drop_unused.
Result<int> fold_known(ir::Graph& graph) {
  Inference inference(graph);
  Faults faults;
  inference.block(kMain, faults);
  if (!faults.none()) return std::move(faults).first();
  int count = 0;
  for (NodeId id : graph.order()) {
    const Node& node = graph[id];
    if (!node.op->pure || !node.blocks.empty()) continue;
    if (is_decoder(node) && graph[node.in[0]].is_constant()) continue;  // codes, left on purpose
    const auto known = [&](ValueId v) {
      const Tensor* t = v.valid() ? inference.content(v) : nullptr;
      return !v.valid() || (t && t->dtype() == graph[v].type.dtype);
    };
    if (!std::all_of(node.out.begin(), node.out.end(), known)) continue;
    for (ValueId v : std::vector<ValueId>(node.out)) {
      if (!v.valid()) continue;
      graph.make_constant(v, Tensor(*inference.content(v)));
      ++count;
    }
    graph.erase(id);
  }
  return count;
}

}  // namespace nnex::passes
