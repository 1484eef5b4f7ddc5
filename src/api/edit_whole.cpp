// Edits of a whole network that change no operation of it: calls inlined, weights stored narrow, texts taken away.

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "api/formats.h"
#include "api/graph_impl.h"
#include "api/random_runs.h"
#include "api/tensor_names.h"
#include "base/failure.h"
#include "base/faults.h"
#include "base/guarded.h"
#include "base/try.h"
#include "graph/infer.h"
#include "graph/queries.h"
#include "nnex/edit.h"
#include "ops/cast.h"
#include "passes/passes.h"
#include "standards/nnef/write.h"
#include "standards/onnx/import_function.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

/// Whether the type holds what the constant is: no number becomes infinite, and as a whole it loses no more than a few
/// times what rounding takes. Numbers below the type's range become 0: that counts where the others are no larger.
bool fits(const Tensor& wide, const Tensor& narrow) {
  const double unit = narrow.dtype() == DType::f16 ? 0x1p-11 : 0x1p-8;  // of rounding, relative
  double all = 0, lost = 0;
  for (int64_t i = 0; i < wide.count(); ++i) {
    const double x = real_at(wide, i), y = real_at(narrow, i);
    if (std::isfinite(x) != std::isfinite(y)) return false;
    if (!std::isfinite(x)) continue;
    all += x * x, lost += (x - y) * (x - y);
  }
  return std::sqrt(lost) <= 4 * unit * std::sqrt(all);
}

/// Replaces the constant by its narrow form behind a cast. Whether it could be.
Result<bool> narrow(ir::Graph& graph, ValueId v, DType to) {
  NNEX_ASSIGN(Tensor content, convert(*graph[v].constant.tensor(), to));
  if (!fits(*graph[v].constant.tensor(), content)) return false;
  const std::string name = graph[v].name;
  const Type type = graph[v].type;
  graph.set_name(v, {});
  const ValueId stored = graph.add_constant(std::move(content), name);
  const NodeId first = graph[kMain].first;
  Builder b = first.valid() ? Builder(graph, first, 0) : Builder(graph, kMain);
  CastAttrs a;
  a.to = DType::f32;
  const ValueId y = b("cast", {stored}, a);
  graph.set_type(y, type);
  graph.replace_uses(v, y);
  return true;
}

/// The greatest finite number of a value, without its sign.
double greatest(const Value& v) {
  double max = 0;
  const Tensor* t = v.tensor();
  if (!t || is_object(t->dtype())) return max;
  for (int64_t i = 0; i < t->count(); ++i)
    if (const double x = std::fabs(real_at(*t, i)); std::isfinite(x)) max = std::max(max, x);
  return max;
}

/// The greatest differences of outputs of both graphs.
Status tell_distance(const ir::Graph& before, const ir::Graph& after, const RunOptions& run,
                     const std::vector<Value>& inputs, NarrowReport& out) {
  NNEX_ASSIGN(const RandomRun expected, proof_run(before, run, inputs));
  NNEX_ASSIGN(const std::vector<Value> found, plain_run(after, expected.inputs, run));
  for (size_t i = 0; i < found.size(); ++i) {
    const double distance = difference(expected.outputs[i], found[i]).max_absolute;
    out.max_absolute = std::max(out.max_absolute, distance);
    if (distance > 0)
      out.max_relative = std::max(out.max_relative, distance / std::max(greatest(expected.outputs[i]), 1e-300));
  }
  return {};
}

/// Takes the names of tensors away, but of inputs and outputs. What NNEF knows of a tensor by its name, its label and
/// its line of the quantisation file, needs one: those are numbered.
void strip_names(ir::Graph& graph) {
  const std::set<std::string> needed = names_in_nnef(graph);
  std::vector<ValueId> inside;
  std::set<std::string> taken;
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    if (graph[ValueId{n}].param_of.valid() || is_result(graph, ValueId{n}))
      taken.insert(graph[ValueId{n}].name);
    else
      inside.push_back(ValueId{n});
  }
  std::map<std::string, std::string> names;
  size_t number = 0;
  for (const ValueId v : inside) {
    const std::string old = graph[v].name;
    std::string name;
    if (!graph[v].uses.empty() && needed.count(old) && !names.count(old)) {
      do name = fmt::format("t{}", ++number);
      while (taken.count(name));
      names.emplace(old, name);
    }
    graph.set_name(v, std::move(name));
  }
  rename_provenance(graph, names);
}

/// Takes away functions that no node calls, nor a function that is called. What custom operators call is not known.
void drop_uncalled(ir::Graph& graph) {
  std::vector<std::string_view> messages;
  for (const auto& [key, function] : graph.functions)
    if (const auto* f = onnx_format::onnx_function(function.get())) messages.push_back(f->message());
  std::vector<std::string> open;
  for (NodeId id : graph.order_with_blocks()) {
    const Node& n = graph[id];
    if (n.op == &custom_op()) return;
    if (n.op == &call_op())
      open.push_back(fmt::format("{}:{}:{}", n.custom->domain, n.custom->name, n.custom->overload));
  }
  const onnx_format::FunctionCalls calls = onnx_format::function_calls(messages);
  std::set<std::string> called;
  while (!open.empty()) {
    const std::string key = std::move(open.back());
    open.pop_back();
    if (!called.insert(key).second) continue;
    if (const auto it = calls.find(key); it != calls.end())
      open.insert(open.end(), it->second.begin(), it->second.end());
  }
  std::erase_if(graph.functions, [&](const auto& f) { return called.count(f.first) == 0; });
}

}  // namespace

Result<int64_t> inline_calls(Graph& graph) {
  return guarded([&]() -> Result<int64_t> {
    ir::Graph work = graph.impl().graph;
    int64_t calls = 0;
    for (NodeId id : work.order_with_blocks()) calls += work[id].op == &call_op();
    NNEX_TRY(passes::inline_functions(work));
    work.functions.clear();
    graph.impl().graph = std::move(work);
    return calls;
  });
}

Result<NarrowReport> narrow_weights(Graph& graph, DType to, const RunOptions& run, const std::vector<Value>& inputs) {
  return guarded([&]() -> Result<NarrowReport> {
    constexpr int64_t kFew = 64;  // elements: a cast more is not worth the bytes
    if (to != DType::f16 && to != DType::bf16)
      return failure(Code::invalid_argument, "weights as {}; needed f16 or bf16", name(to));
    const ir::Graph& before = graph.impl().graph;
    ir::Graph work = before;
    NNEX_TRY(passes::inline_functions(work));
    NarrowReport out;
    out.bytes_before = constant_bytes(work);
    const auto values = static_cast<uint32_t>(work.value_count());
    for (uint32_t n = 0; n < values; ++n) {
      const ValueDef& v = work[ValueId{n}];
      const Tensor* t = v.uses.empty() ? nullptr : v.constant.tensor();
      if (!t || t->dtype() != DType::f32) continue;
      bool done = false;
      if (t->count() >= kFew) {
        NNEX_ASSIGN(done, narrow(work, ValueId{n}, to));
      }
      ++(done ? out.constants : out.left);
    }
    NNEX_TRY(passes::drop_unused(work));
    out.bytes_after = constant_bytes(work);
    Faults faults;
    infer_types(work, faults);
    if (!faults.none()) return std::move(faults).first();
    NNEX_TRY(tell_distance(before, work, run, inputs, out));
    graph.impl().graph = std::move(work);
    return out;
  });
}

void strip(Graph& graph, bool names) {
  ir::Graph& g = graph.impl().graph;
  Metadata kept;
  kept.ir_version = g.meta.ir_version, kept.opsets = g.meta.opsets, kept.graph_name = g.meta.graph_name;
  g.meta = std::move(kept);
  if (built(Format::nnef) && g.provenance.nnef)
    g.provenance.nnef->document = nnef_format::custom_fragments(g.provenance.nnef->document);
  graph.impl().texts = false;
  if (built(Format::onnx)) drop_uncalled(g);
  if (!names) return;
  strip_names(g);
  for (NodeId id : g.order_with_blocks()) g.set_where(id, 0);
}

}  // namespace nnex
